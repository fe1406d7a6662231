"""`dpselect check`: the custodian's look before spending."""

from __future__ import annotations

from typing import Any

import click

from dpselect.assume.models.recipe import Recipe, make_recipe
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.table import table_cells
from dpselect.minimize.minimize import minimize
from dpselect.penalize.margins import Margins
from dpselect.penalize.penalize import penalize
from dpselect.rehearse.check.fit import Fit, measure_fit
from dpselect.rehearse.check.preview import Preview, curve_steps, model_names, preview, preview_votes
from dpselect.report.custodian.page import custodian_page
from dpselect.report.custodian.remarks import WATERMARK, advice, fit_rows
from dpselect.use.analysis_plan import rows_to_suppose
from dpselect.use.gathering import gather_for
from dpselect.use.shell.files import require_writable, write_text
from dpselect.use.shell.options import CSV, DATA, DELTA, JSON, MODEL, QUIET, STUDY
from dpselect.use.shell.settings import Settings
from dpselect.use.shell.sources import Rows
from dpselect.use.shell.study import read_study
from dpselect.use.shell.terminal import answer_json, counting, heading, show_table, tell, waiting


@click.command(
    "check",
    epilog="""\b
Example:
  dpselect check study.toml people.csv                               # does the data fit?
  dpselect check study.toml people.csv --epsilon 1 -o custodian.html # and what would be chosen?""",
)
@STUDY
@DATA
@click.option("--epsilon", metavar="E", default=None, help="Also rehearse a selection at this price.")
@DELTA
@MODEL
@CSV
@click.option(
    "-o", "--output", metavar="FILE", help="Write the custodian's page, an HTML file that must not be released."
)
@JSON
@QUIET
def command(study: str, data: str, output: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """Custodian's eyes only: does DATA fit STUDY, and what would be chosen? Nothing is drawn and nothing is charged.

    What this prints was computed from the rows without noise. It must not be published, and bounds must not be
    changed because of it, unless for reasons that have nothing to do with these rows.
    """
    assumptions = read_study(study)
    rows = Rows.from_options(data, options)
    settings = Settings(**options) if options["epsilon"] is not None else None
    if settings is not None:
        _recipe(assumptions, settings, rows_to_suppose(assumptions, settings.choice))
    if output is not None:
        require_writable(output)
    rows.require_rows()
    rows.check(assumptions)
    with waiting(f"Reading {rows.label}", quiet):
        fit = measure_fit(table_cells(rows.source, assumptions), assumptions)
    if fit.rows == 0:
        raise DataError(f"{rows.label!r} has no rows: give a table with at least one.")
    seen = None
    if settings is not None:
        seen = _rehearse(rows, assumptions, settings, quiet)
    if output is not None:
        write_text(output, custodian_page(assumptions, fit, seen), mode=0o600)
    _show(assumptions, fit, seen, as_json, quiet)
    if output is not None and not (as_json or quiet):
        tell(f"The custodian's page is {output}. Keep it where you keep the rows.")


def _rehearse(rows: Rows, assumptions: Assumptions, settings: Settings, quiet: bool) -> Preview:
    with rows.reading(assumptions, quiet) as progress:
        table = gather_for(rows.table(assumptions), assumptions, settings.choice, settings.budget, progress=progress)
    if table.moments is None:
        margins = penalize(minimize(table.sums, table.recipe), table.recipe)
        assert isinstance(margins, Margins)
        return preview_votes(margins, table.recipe)
    with counting("Rehearsing", curve_steps(table.recipe), quiet) as step:
        return preview(table.moments, table.recipe, step=step)


def _recipe(assumptions: Assumptions, settings: Settings, rows: int | None) -> Recipe:
    price = settings.budget
    return make_recipe(assumptions, settings.choice, rows=rows, epsilon=price.epsilon, delta=price.delta)


def _show(assumptions: Assumptions, fit: Fit, seen: Preview | None, as_json: bool, quiet: bool) -> None:
    sentences = advice(fit, assumptions.missing)
    if as_json:
        answer_json(_values(fit, seen, sentences))
        return
    if quiet:
        click.echo("does not fit" if sentences else "fits")
        return
    click.echo(heading(f"[{WATERMARK}]  {fit.rows:,} rows"))
    show_table(["variable", "below its bounds", "above", "missing or unknown"], fit_rows(fit), numbers=(1, 2, 3))
    click.echo("\n".join(sentences) or "The data fits the assumptions.")
    if seen is not None:
        click.echo()
        click.echo(heading(f"[{WATERMARK}]  what would be chosen ({seen.recipe.guarantee})"))
        rows = [[f"{chance:.1%}", model] for chance, model in zip(seen.chances, model_names(seen.models), strict=True)]
        show_table(["chance", "model"], rows, numbers=(0,))


def _values(fit: Fit, seen: Preview | None, sentences: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "warning": WATERMARK,
        "rows": fit.rows,
        "variables": [
            {"name": each.name, "below": each.below, "above": each.above, "missing": each.missing}
            for each in fit.variables
        ],
        "advice": sentences,
    }
    if seen is not None:
        values["models"] = [
            {"variables": list(model), "chance": chance}
            for model, chance in zip(seen.models, seen.chances, strict=True)
        ]
        values["curves"] = {
            curve.name: {"settings": list(curve.settings), "chances": [list(row) for row in curve.chances]}
            for curve in seen.curves
        }
    return values
