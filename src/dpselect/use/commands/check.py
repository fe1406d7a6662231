"""`dpselect check`: the custodian's look before spending."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import table_cells
from dpselect.rehearse.check.fit import TableFit, measure_fit, near_twins
from dpselect.rehearse.check.preview import Preview
from dpselect.report.custodian.page import custodian_page
from dpselect.report.custodian.remarks import (
    FITS,
    WATERMARK,
    advice,
    chosen_rows,
    fit_rows,
    model_rows,
    price_sentence,
    share_sentence,
)
from dpselect.use.commands.analyze import parse_split
from dpselect.use.rehearsal import RUNS, Rehearsal
from dpselect.use.shell.files import require_apart, require_kind, require_writable, write_text
from dpselect.use.shell.ledgers import Till, beside
from dpselect.use.shell.options import CSV, DATA, DELTA, JSON, MODEL, QUIET, STUDY
from dpselect.use.shell.settings import Settings
from dpselect.use.shell.sources import Rows
from dpselect.use.shell.terminal import answer_json, counting, heading, show_table, tell, waiting
from dpselect.use.statement.study import read_study


@click.command(
    "check",
    epilog="""\b
Example:
  dpselect check study.toml people.csv                               # does the data fit?
  dpselect check study.toml people.csv --epsilon 1 -o custodian.html # and what would analyze choose?
  dpselect check study.toml people.csv --epsilon 1 --model age+income""",
)
@STUDY
@DATA
@click.option("--epsilon", metavar="E", default=None, help="Also rehearse a run at this whole price.")
@DELTA
@click.option("--run", type=click.Choice(RUNS), default="analyze", show_default=True, help="Which run to rehearse.")
@click.option(
    "--split", metavar="A:B", help="As in analyze: shares of epsilon for the choice and for the coefficients."
)
@click.option(
    "--model", "models", metavar="A+B", multiple=True, help="Also say the chance of this model; may be repeated."
)
@MODEL
@CSV
@click.option(
    "-o", "--output", metavar="FILE", help="Write the custodian's page, an HTML file that must not be released."
)
@JSON
@QUIET
def command(
    study: str,
    data: str,
    run: str,
    split: str | None,
    models: tuple[str, ...],
    output: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Custodian's eyes only: does DATA fit STUDY, and what would be chosen? Nothing is drawn and nothing is charged.

    With --epsilon it rehearses exactly what `analyze` with the same options would choose, or `select` with --run select.
    What this prints was computed from the rows without noise. It must not be published, and bounds must not be
    changed because of it, unless for reasons that have nothing to do with these rows.
    """
    assumptions = read_study(study)
    rows = Rows.from_options(data, options)
    rehearsal = None
    if options["epsilon"] is not None:
        settings = Settings(**options)
        rehearsal = Rehearsal(assumptions, settings.choice, settings.budget, parse_split(split), run, models)
    if output is not None:
        require_writable(output)
        require_apart([output], [(study, "the study"), *Till(str(beside(study))).files, *rows.files])
        require_kind(output, f"<title>{WATERMARK}".encode(), "a custodian's page")
    rows.require_rows()
    rows.check(assumptions)
    with waiting(f"Reading {rows.label}", quiet):
        fit = measure_fit(table_cells(rows.source, assumptions), assumptions)
    if fit.rows == 0:
        raise DataError(f"{rows.label!r} has no rows: give a table with at least one.")
    seen = None
    if not any(each.missing for each in fit.variables) or assumptions.missing != "error":
        moments = None if assumptions.unbounded else rows.moments(assumptions, quiet)
        fit = replace(fit, twins=() if moments is None else near_twins(moments, assumptions))
        seen = None if rehearsal is None else _rehearse(rehearsal, rows, fit.rows, moments, quiet)
    if output is not None:
        write_text(output, custodian_page(assumptions, fit, seen), mode=0o600)
    _show(assumptions, fit, seen, as_json, quiet)
    if output is not None and not (as_json or quiet):
        tell(f"The custodian's page is {output}. Keep it where you keep the rows.")


def _rehearse(rehearsal: Rehearsal, rows: Rows, count: int, moments: Moments | None, quiet: bool) -> Preview:
    rehearsed = rehearsal.rehearse(rows.source, rows=count, moments=moments)
    with counting("Rehearsing", 1 + len(rehearsed.factors), quiet) as step:
        return rehearsal.preview(rehearsed, step)


def _show(assumptions: Assumptions, fit: TableFit, seen: Preview | None, as_json: bool, quiet: bool) -> None:
    sentences = advice(fit, assumptions.missing)
    if as_json:
        answer_json(_values(fit, seen, sentences))
        return
    if quiet:
        click.echo("does not fit" if sentences else "fits")
        return
    click.echo(heading(f"[{WATERMARK}]  {fit.rows:,} rows"))
    show_table(["variable", "below its bounds", "above", "missing or unknown"], fit_rows(fit), numbers=(1, 2, 3))
    click.echo("\n".join(sentences) or FITS)
    if seen is not None:
        click.echo()
        click.echo(heading(f"[{WATERMARK}]  what would be chosen"))
        click.echo(price_sentence(seen))
        show_table(["chance", "variable"], chosen_rows(seen), numbers=(0,))
        show_table(["chance", "model"], model_rows(seen), numbers=(0,))
        click.echo("\n".join(line for line in (seen.how, share_sentence(seen)) if line))


def _values(fit: TableFit, seen: Preview | None, sentences: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "warning": WATERMARK,
        "rows": fit.rows,
        "variables": [
            {"name": each.name, "below": each.below, "above": each.above, "missing": each.missing}
            for each in fit.variables
        ],
        "advice": sentences,
    }
    return values if seen is None else values | _rehearsed_values(seen)


def _rehearsed_values(seen: Preview) -> dict[str, Any]:
    def one(model: tuple[str, ...], chance: float) -> dict[str, Any]:
        return {"variables": list(model), "chance": chance}

    return {
        "epsilon": {"whole": str(seen.epsilon), "choice": str(seen.recipe.guarantee.epsilon)},
        "models": [one(*pair) for pair in zip(seen.models, seen.chances, strict=True)],
        "asked": [one(*pair) for pair in seen.asked],
        "inclusion": dict(zip(seen.terms, seen.inclusion, strict=True)),
        "share_of_r2": seen.share,
        "best_by_bic": None if seen.best is None else {"variables": list(seen.best[0]), "r2": seen.best[1]},
        "curves": {
            curve.name: {
                "settings": list(curve.settings),
                "chances": [list(row) for row in curve.chances],
                "inclusion": [list(row) for row in curve.inclusion],
                "shares_of_r2": list(curve.shares),
            }
            for curve in seen.curves
        },
    }
