"""`dpselect plan`: what to expect, from public facts alone."""

from __future__ import annotations

from pathlib import Path

import click

from dpselect.assume.models.budget import exact_delta, exact_epsilon
from dpselect.errors import AssumptionError
from dpselect.rehearse.planning.plan import Plan, plan_study
from dpselect.report.paper.figures import save_figure
from dpselect.report.paper.plan_figure import plan_figure
from dpselect.use.shell.files import require_writable
from dpselect.use.shell.options import EPSILON, JSON, QUIET, STUDY
from dpselect.use.shell.study import read_study
from dpselect.use.shell.terminal import answer_json, heading, pairs, sharing, show_table


@click.command(
    "plan",
    epilog="""\b
Example:
  dpselect plan study.toml --rows 5000 --epsilon 1
  dpselect plan study.toml --rows 5000 --epsilon 1 --effects 10,5,0 --deviation 8 -o plan""",
)
@STUDY
@click.option("--rows", type=click.IntRange(min=2), required=True, metavar="N", help="About how many rows there are.")
@EPSILON
@click.option("--delta", default="1e-6", show_default=True, metavar="D", help="For methods that need one.")
@click.option("--effects", metavar="A,B,...", help="Supposed effects of the variables, each scaled to [-1, 1].")
@click.option("--deviation", type=float, metavar="S", help="Supposed standard deviation of what is left unexplained.")
@click.option(
    "--wanted", type=click.FloatRange(0, 1), default=0.8, show_default=True, help="The chance of success to aim at."
)
@click.option("-o", "--output", metavar="NAME", help="Also draw the curves: NAME.png and NAME.svg.")
@JSON
@QUIET
def command(
    study: str,
    rows: int,
    epsilon: str,
    delta: str,
    effects: str | None,
    deviation: float | None,
    wanted: float,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say the chance of choosing the right model for STUDY with N rows, and which settings are best. No row is read.

    It rests on supposed effects and noise; the standard ones are typical, yours are better.
    """
    assumptions = read_study(study)
    target = Path(output).with_suffix("") if output is not None else None
    if target is not None:
        require_writable(target.with_suffix(".png"), target.with_suffix(".svg"))
    with sharing("Planning", quiet or as_json) as progress:
        found = plan_study(
            assumptions,
            rows=rows,
            epsilon=float(exact_epsilon(epsilon)),
            effects=_numbers(effects),
            deviation=deviation,
            delta=float(exact_delta(delta, positive=True)),
            wanted=wanted,
            progress=progress,
        )
    if target is not None:
        save_figure(plan_figure(found), target.parent, target.name)
    if as_json:
        answer_json(found.to_dict())
    elif quiet:
        click.echo(found.verdict)
    else:
        _show(found)


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise AssumptionError(
            f"--effects is {text!r}; give numbers with commas between them, such as 10,5,0."
        ) from None


def _show(found: Plan) -> None:
    click.echo(heading(found.verdict))
    click.echo(
        pairs(
            [
                ("supposed", found.supposed),
                ("recommended", str(found.recommended).strip()),
                ("defaults", str(found.defaults).strip()),
            ]
        )
    )
    click.echo()
    show_table(
        ["epsilon", "chance", "rows", "chance"],
        [
            [f"{epsilon:.3g}", f"{one:.2f}", f"{rows:,}", f"{other:.2f}"]
            for (epsilon, one), (rows, other) in zip(found.by_epsilon, found.by_rows, strict=False)
        ],
        numbers=(0, 1, 2, 3),
    )
