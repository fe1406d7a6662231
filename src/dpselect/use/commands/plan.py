"""`dpselect plan`: what to expect, from public facts alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dpselect.assume.models.budget import exact_delta, exact_epsilon
from dpselect.errors import AssumptionError
from dpselect.rehearse.planning.outlook import Outlook, outlook_study
from dpselect.rehearse.planning.plan import Plan, plan_study
from dpselect.report.paper.figures import save_figure
from dpselect.report.paper.plan_figure import outlook_figure, plan_figure
from dpselect.use.interval_plan import ExpectedIntervals, expected_intervals
from dpselect.use.shell.files import require_apart, require_kind, require_writable
from dpselect.use.shell.options import EPSILON, JSON, METHOD, QUIET, STUDY
from dpselect.use.shell.outlook import show_outlook
from dpselect.use.shell.terminal import answer_json, heading, pairs, sharing, show_table
from dpselect.use.statement.study import read_study


@click.command(
    "plan",
    epilog="""\b
Example:
  dpselect plan study.toml --rows 5000 --epsilon 1
  dpselect plan study.toml --rows 5000 --epsilon 1 --r2 0.2 -o plan
  dpselect plan study.toml --rows 5000 --epsilon 1 --method pcls --effects 10,5,0 --deviation 8""",
)
@STUDY
@click.option("--rows", type=click.IntRange(min=2), required=True, metavar="N", help="About how many rows there are.")
@EPSILON
@METHOD
@click.option(
    "--r2", type=float, metavar="R2", help="Votes: the share of the response that is supposed to be explained."
)
@click.option("--choice-only", is_flag=True, help="Votes: as `select` spends it, all of epsilon on the choice.")
@click.option(
    "--delta", metavar="D", help="Of the run that is planned: 0 unless stated for votes, 1e-6 for pcls and pcpl."
)
@click.option(
    "--effects", metavar="A,B,...", help="pcls, pcpl: supposed effects of the variables, each scaled to [-1, 1]."
)
@click.option("--deviation", type=float, metavar="S", help="pcls, pcpl: supposed standard deviation of the noise.")
@click.option(
    "--wanted", type=click.FloatRange(0, 1), default=0.8, show_default=True, help="pcls, pcpl: the chance to aim at."
)
@click.option("-o", "--output", metavar="NAME", help="Also draw the curves: NAME.png and NAME.svg.")
@JSON
@QUIET
def command(output: str | None, as_json: bool, quiet: bool, **given: Any) -> None:
    """Say what a choice for STUDY with N rows would find and what not, in several supposed worlds. No row is read.

    For votes: the share of R² that is kept, the smallest effect that is found, how long the intervals of the coefficients are, and
    what more rows or another epsilon would buy. For pcls and pcpl: the chance of the right model, and the best settings.
    """
    target = Path(output).with_suffix("") if output is not None else None
    if target is not None:
        pictures = target.with_suffix(".png"), target.with_suffix(".svg")
        require_writable(*pictures)
        require_apart(pictures, [(given["study"], "the study")])
        for picture, mark in zip(pictures, (b"\x89PNG", b"<svg"), strict=True):
            require_kind(picture, mark, "a picture")
    with sharing("Planning", quiet or as_json) as progress:
        found = _found(progress, **given)
        lengths = _lengths(found, **given)
    if target is not None:
        curves = None if lengths is None else (lengths.shown, lengths.by_epsilon, lengths.by_rows)
        figure = outlook_figure(found, curves) if isinstance(found, Outlook) else plan_figure(found)
        save_figure(figure, target.parent, target.name)
    if as_json:
        intervals = {"intervals": None if lengths is None else lengths.to_dict()} if isinstance(found, Outlook) else {}
        answer_json(found.to_dict() | intervals)
    elif quiet:
        click.echo(found.verdict)
    elif isinstance(found, Outlook):
        show_outlook(found, lengths, given["study"], read_study(given["study"]))
    else:
        _show(found)


def _found(
    progress: Callable[[float], None],
    *,
    study: str,
    rows: int,
    epsilon: str,
    method: str,
    r2: float | None,
    choice_only: bool,
    delta: str | None,
    effects: str | None,
    deviation: float | None,
    wanted: float,
) -> Plan | Outlook:
    assumptions, price = read_study(study), float(exact_epsilon(epsilon))
    if method == "votes" and effects is None and deviation is None:
        return outlook_study(assumptions, rows=rows, epsilon=price, r2=r2, choice_only=choice_only, progress=progress)
    if method == "votes" or r2 is not None or choice_only:
        raise AssumptionError(
            "--r2 and --choice-only are for votes, --effects and --deviation for pcls and pcpl: name the method, and leave the "
            "others out."
        )
    assumptions.require_bounds(f"The method {method!r}")
    return plan_study(
        assumptions,
        rows=rows,
        epsilon=price,
        effects=_numbers(effects),
        deviation=deviation,
        delta=float(exact_delta(delta or "1e-6", positive=True)),
        wanted=wanted,
        progress=progress,
    )


def _lengths(found: Plan | Outlook, **given: Any) -> ExpectedIntervals | None:
    """The intervals that `analyze` would give; none where it would not run, or is not what is planned."""
    if not isinstance(found, Outlook) or given["choice_only"]:
        return None
    slack = float(exact_delta(given["delta"] or "0"))
    return expected_intervals(
        read_study(given["study"]), rows=given["rows"], epsilon=found.epsilon, delta=slack, r2=given["r2"]
    )


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
