"""`dpselect paper`: the experiments of Lei et al., with what comes out here beside what they say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from dpselect.rehearse.simulate.tables import SEED
from dpselect.report.paper.pages import NAMES, PaperRun, run_figure
from dpselect.use.shell.files import require_apart
from dpselect.use.shell.options import JSON, QUIET
from dpselect.use.shell.terminal import answer_json, heading, sharing, show_table


@click.command(
    "paper",
    epilog="""\b
Example:
  dpselect paper fig1
  dpselect paper all -o paper
  dpselect paper fig4 --data housing.csv.gz""",
)
@click.argument("figure", type=click.Choice([*NAMES, "all"]))
@click.option("-o", "--output", default="paper", show_default=True, help="The folder for figures and tables.")
@click.option(
    "--data", metavar="FILE", default=None, help="The housing file of figure 4, or a prostate file for figure 3."
)
@click.option("--jobs", type=click.IntRange(min=1), default=None, help="Processes; as many as cores unless stated.")
@click.option("--seed", type=int, default=SEED, show_default=True, help="Same seed, same results, whatever --jobs.")
@JSON
@QUIET
def command(
    figure: str, output: str, data: str | None, jobs: int | None, seed: int, as_json: bool, quiet: bool
) -> None:
    """Run the experiments of section 5 of the paper; each FIGURE gives a picture, its points and a table of statements.

    Figures 3 and 4 show real rows without noise, as the paper does: with your own data they are for the custodian's eyes.
    """
    names = NAMES if figure == "all" else (figure,)
    if data is not None and figure not in ("fig3", "fig4"):
        raise click.UsageError("--data belongs to fig3 or fig4; name one of them.")
    if data is not None:
        for ending in (".png", ".svg", ".csv", "_statements.csv", "_statements.json"):
            require_apart([Path(output) / f"{figure}{ending}"], [(data, "where the rows are")])
    runs = []
    for name in names:
        with sharing(f"{name}", quiet or as_json) as progress:
            runs.append(
                run_figure(name, output, data=data, jobs=jobs or os.cpu_count() or 1, seed=seed, progress=progress)
            )
        if not (quiet or as_json):
            _show(runs[-1])
    if as_json:
        answer_json([_values(run) for run in runs])
    elif quiet:
        click.echo(output)
    else:
        click.echo(f"Figures and tables are in {Path(output)}.")


def _show(run: PaperRun) -> None:
    click.echo(heading(f"{run.name}: {', '.join(path.name for path in run.paths)}"))
    show_table(["", "the paper says", "here"], [[each.verdict, each.said, each.here] for each in run.statements])
    click.echo()


def _values(run: PaperRun) -> dict[str, Any]:
    return {
        "figure": run.name,
        "files": [str(path) for path in run.paths],
        "statements": [each.to_dict() for each in run.statements],
    }
