"""`dpselect demo`: the whole path on real data, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpselect.assume.models.choice import Choice
from dpselect.assume.models.recipe import make_recipe
from dpselect.assume.study.study_file import write_assumptions
from dpselect.assume.study.variables import Numeric
from dpselect.errors import DpselectError
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import gather_table, table_cells
from dpselect.rehearse.check.fit import Fit, measure_fit
from dpselect.rehearse.check.preview import Preview, curve_steps, model_names, preview
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.selection import Selection
from dpselect.report.custodian.page import custodian_page
from dpselect.report.custodian.remarks import WATERMARK, advice, fit_rows
from dpselect.report.public.document import Document, today
from dpselect.report.public.page import report_page
from dpselect.report.public.text import charge_line, coefficient_columns, coefficient_rows, selection_lines
from dpselect.use.estimate import estimate
from dpselect.use.select import select
from dpselect.use.shell.demo_data import ASSUMPTIONS, LABEL, SOURCE, load_rows
from dpselect.use.shell.files import write_text
from dpselect.use.shell.ledgers import analyst
from dpselect.use.shell.terminal import counting, heading, pairs, show_table

EPSILON, DELTA = "4", "1e-6"

TITLE = "What explains the progress of diabetes?"


@click.command("demo", epilog="\b\nExample:\n  dpselect demo\n  dpselect demo -o somewhere")
@click.option("-o", "--output", default="demo", show_default=True, help="The folder to write to.")
def command(output: str) -> None:
    """Run the whole path on real data: assume, check, rehearse, select twice, estimate, report.

    Writes a study file, a ledger, the public report and the custodian's page to a folder, and says what to look at.
    """
    folder = Path(output)
    _make(folder)
    rows = load_rows()
    _assume(folder)
    fit = _check(rows)
    moments = gather_table(rows, ASSUMPTIONS)
    seen = _rehearse(moments)
    write_text(folder / "custodian.html", custodian_page(ASSUMPTIONS, fit, seen), mode=0o600)
    ledger = _ledger(folder)
    selection = _select(moments, ledger)
    _report(folder, selection, _estimate(moments, selection, ledger))
    _close(folder, ledger)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DpselectError(f"The folder {str(folder)!r} cannot be made: {problem.strerror}; give another.") from None


def _assume(folder: Path) -> None:
    path = folder / "study.toml"
    write_assumptions(ASSUMPTIONS, path)
    _step("1. Assume", f"{SOURCE}. Bounds stated before looking, kept in {path}:")
    bounds = [f"{v.name} {v.lower:g} to {v.upper:g}" for v in ASSUMPTIONS.predictors if isinstance(v, Numeric)]
    click.echo(
        f"   {ASSUMPTIONS.response.name} {ASSUMPTIONS.response.lower:g} to {ASSUMPTIONS.response.upper:g}, by "
        + ", ".join(bounds)
    )


def _check(rows: Any) -> Fit:
    _step("2. Check", f"Do the rows fit? [{WATERMARK}]")
    fit = measure_fit(table_cells(rows, ASSUMPTIONS), ASSUMPTIONS)
    clipped = [row for row in fit_rows(fit) if row[1:] != ["0", "0", "0"]]
    show_table(["variable", "below its bounds", "above", "missing or unknown"], clipped, numbers=(1, 2, 3))
    click.echo("   " + " ".join(advice(fit, ASSUMPTIONS.missing) or ["The others lie within their bounds."]))
    return fit


def _rehearse(moments: Moments) -> Preview:
    _step("3. Rehearse", f"What would be chosen at epsilon {EPSILON}? Exact, and nothing is spent. [{WATERMARK}]")
    recipe = make_recipe(ASSUMPTIONS, Choice("pcls"), rows=moments.n, epsilon=EPSILON)
    with counting("   rehearsing", curve_steps(recipe)) as step:
        seen = preview(moments, recipe, step=step)
    named = zip(seen.chances, model_names(seen.models), strict=True)
    show_table(["chance", "model"], [[f"{chance:.1%}", model] for chance, model in named], numbers=(0,))
    return seen


def _ledger(folder: Path) -> Ledger:
    path = folder / "study.budget.db"
    for old in folder.glob(f"{path.name}*"):
        old.unlink()  # the rows of the demo are public; a real ledger is never removed
    return Ledger(path, epsilon=20, delta="1e-5")


def _select(moments: Moments, ledger: Ledger) -> Selection:
    _step("4. Select", "Charged to the ledger first, then drawn.")
    common: dict[str, Any] = {"ledger": ledger, "data": LABEL, "analyst": analyst()}
    first = select(moments, ASSUMPTIONS, epsilon=EPSILON, method="pcls", **common)
    second = select(moments, ASSUMPTIONS, epsilon=EPSILON, delta=DELTA, method="pcpl", **common)
    for selection in (first, second):
        click.echo(f"   {heading(selection.formula)}")
        click.echo(pairs(selection_lines(selection), indent=5))
    click.echo(
        "   The two spend differently: pcpl pays half of its price for a bound that needs many rows; with "
        f"{moments.n} of them its choice is close to a lottery. So few rows are also why this demo needs a large epsilon."
    )
    return first


def _estimate(moments: Moments, selection: Selection, ledger: Ledger) -> Coefficients:
    _step("5. Estimate", f"The coefficients of the pcls model, at epsilon {EPSILON} and delta {DELTA}.")
    common: dict[str, Any] = {"ledger": ledger, "data": LABEL, "analyst": analyst()}
    found = estimate(moments, selection, epsilon=EPSILON, delta=DELTA, **common)
    show_table(coefficient_columns(found), coefficient_rows(found), numbers=(1, 2, 3))
    if found.receipt is not None:
        click.echo(f"   charged {charge_line(found.receipt)}")
    return found


def _report(folder: Path, selection: Selection, coefficients: Coefficients) -> None:
    document = Document(title=TITLE, made=today(), selection=selection, coefficients=coefficients)
    write_text(folder / "report.json", document.to_json())
    write_text(folder / "report.html", report_page(document))


def _close(folder: Path, ledger: Ledger) -> None:
    _step("6. Report", f"{ledger.left()} is left in the ledger. Now look at")
    click.echo(
        pairs(
            [
                (str(folder / "report.html"), "the public page: the model, how much, the promise, the receipt"),
                (str(folder / "custodian.html"), "the custodian's page, which must not be released"),
                (f"dpselect verify {folder / 'report.json'}", "check the report as a stranger would"),
                (f"dpselect budget {folder / 'study.toml'}", "see what was spent"),
            ],
            indent=3,
        )
    )


def _step(name: str, what: str) -> None:
    click.echo(f"\n{heading(name)}  {what}")
