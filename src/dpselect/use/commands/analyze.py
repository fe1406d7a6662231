"""`dpselect analyze`: choose, estimate, report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpselect.assume.study import Study
from dpselect.errors import StudyError
from dpselect.gather.rows import has_rows_again
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.families import FAMILIES
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.terminal import analysis_lines
from dpselect.use.order import order_analysis
from dpselect.use.sealed import Released
from dpselect.use.shell.files import report_files, require_apart, require_writable, write_report
from dpselect.use.shell.options import (
    CSV,
    EPSILON,
    JSON,
    LEDGER,
    MODEL,
    MOMENTS,
    PLACES,
    QUIET,
    YES,
    LedgerOptions,
    Settings,
    parse_split,
    study_and_data,
)
from dpselect.use.shell.sources import Rows
from dpselect.use.shell.terminal import answer_json, show_answer, tell, visible
from dpselect.use.spend import resume, spend

RESUMED = "An earlier run paid for this and was stopped: it is handed over now, and nothing was charged. Run again for another."


@click.command(
    "analyze",
    epilog="""\b
Example:
  dpselect analyze people.csv --study study.toml --epsilon 2 --delta 1e-6 -o report.html
  dpselect verify report.html --ledger people.budget.db""",
)
@PLACES
@EPSILON
@click.option(
    "--delta", default="0", show_default=True, metavar="D", help="1e-6 is usual; with 0 all noise is Laplace."
)
@MODEL
@click.option(
    "--split",
    metavar="A:B",
    help="Shares of epsilon for the choice and for the coefficients, such as 35:65; see below.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option(
    "--family",
    type=click.Choice(list(FAMILIES)),
    default=None,
    help="gaussian: differences in the response's units; binomial: odds ratios; poisson: rate ratios. By default the response "
    "decides.",
)
@click.option("--title", default="", help="The report's headline.")
@LEDGER
@CSV
@MOMENTS
@click.option(
    "-o", "--output", default="report.html", show_default=True, help="The page; report.json is written beside it."
)
@click.option(
    "--board", metavar="FILE", default=None, help="Also write one page for an ethics board, made to be printed; public."
)
@JSON
@QUIET
@YES
def command(
    places: tuple[str, ...],
    study: str | None,
    split: str | None,
    level: float,
    family: Any,
    title: str,
    output: str,
    board: str | None,
    as_json: bool,
    quiet: bool,
    yes: bool,
    **options: Any,
) -> None:
    """Choose a model from the rows in DATA, estimate its coefficients, and write the public report.

    --epsilon is the total privacy cost. By default 15-35% pays for a choice by votes, 60% for any other choice, and the rest
    for the coefficients, unless --split says otherwise. The page and the JSON file beside it may be published.
    """
    study_file, data = study_and_data(places, study)
    stated = Study.read(study_file)
    ledger, rows = LedgerOptions.from_options(data, options), Rows.from_options(data, options)
    settings = Settings(**options)
    page = Path(output)
    if page.suffix not in (".html", ".htm"):
        raise StudyError(f"The report {output!r} must end in .html; the JSON file beside it is named after it.")
    files = report_files(page, board)
    require_writable(*files)
    require_apart(files, [(study_file, "the study"), *ledger.files, *rows.files])
    choice, budget, table = settings.choice, settings.budget, rows.table(stated)
    order = order_analysis(
        stated,
        choice,
        budget,
        source=rows.source,
        split=parse_split(split),
        level=level,
        family=family,
        rows_again=has_rows_again(table),
        title=title,
    )
    account, request = ledger.account(budget, rows.label), order.request(rows.address, ledger.place)

    arrived: list[AnalysisRecord] = []

    def deliver(released: Released) -> None:
        write_report(released.analysis, page, board)
        arrived.append(released.analysis)

    def show(analysis: AnalysisRecord) -> None:
        show_answer(lambda: show_report(analysis, page, as_json, quiet), f"It is in {page}.")

    if isinstance(account.ledger, Ledger) and resume(account.ledger, table, deliver, request=request):
        show(arrived[-1])
        tell(RESUMED)
        return
    spend(
        order,
        table,
        account,
        request=request,
        look=lambda: rows.count(order),
        confirm=lambda: ledger.confirm(account, budget, yes),
        deliver=deliver,
        reading=lambda: rows.reading(stated, quiet),
    )
    show(arrived[-1])


def show_report(analysis: AnalysisRecord, page: Path, as_json: bool, quiet: bool) -> None:
    """The answer of a command: what was selected, how large each effect is, and what that cost."""
    if as_json:
        answer_json(analysis.to_dict())
        return
    if quiet:
        click.echo(analysis.selection.formula)
        return
    click.echo("\n".join(map(visible, analysis_lines(analysis))))
    click.echo(f"Wrote {page}, {page.with_suffix('.json')} (both public).")
