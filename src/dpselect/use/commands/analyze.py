"""`dpselect analyze`: choose, estimate, report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dpselect.errors import AssumptionError
from dpselect.gather.logistic_sums import require_rows
from dpselect.release.account import Account
from dpselect.release.coefficients.intervals import INTERVALS, Intervals
from dpselect.release.odds.release import SCALES
from dpselect.report.board.board import board_page
from dpselect.report.public.document import Document
from dpselect.report.public.estimate_facts import estimate_facts
from dpselect.report.public.page import report_page
from dpselect.report.public.text import analysis_lines, coefficient_columns, coefficient_rows, estimate_remarks
from dpselect.report.public.titles import check_title
from dpselect.use.analysis_plan import AnalysisPlan, plan_analysis
from dpselect.use.analyze import run_analysis
from dpselect.use.shell.delivery import File, deliver, names
from dpselect.use.shell.files import require_apart, require_writable
from dpselect.use.shell.ledgers import HeldAccount, Till, analyst
from dpselect.use.shell.options import (
    CSV,
    EPSILON,
    JSON,
    LEDGER,
    MODEL,
    MOMENTS,
    OPTIONAL_DATA,
    QUIET,
    STUDY,
    TOTALS,
    TUNE,
    YES,
)
from dpselect.use.shell.paid import Draft
from dpselect.use.shell.settings import Settings
from dpselect.use.shell.signals import held
from dpselect.use.shell.sources import Rows
from dpselect.use.shell.terminal import answer_json, heading, pairs, show_table, tell
from dpselect.use.statement.study import read_study


@click.command(
    "analyze",
    epilog="""\b
Example:
  dpselect analyze study.toml people.csv --epsilon 2 --delta 1e-6 -o report.html
  dpselect verify report.html --ledger study.budget.db""",
)
@STUDY
@OPTIONAL_DATA
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
@click.option("--intervals", type=click.Choice(INTERVALS), default="plain", show_default=True, help="What they count.")
@click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="response",
    show_default=True,
    help="odds: odds ratios of a Binary response, which need a delta; else differences in the response's units.",
)
@click.option("--title", default="", help="The report's headline.")
@LEDGER
@TOTALS
@CSV
@MOMENTS
@TUNE
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
    study: str,
    data: str | None,
    split: str | None,
    level: float,
    intervals: Any,
    scale: Any,
    tune: bool,
    title: str,
    output: str,
    board: str | None,
    as_json: bool,
    quiet: bool,
    yes: bool,
    **options: Any,
) -> None:
    """Choose a model for STUDY from the rows in DATA, estimate its coefficients, and write the public report.

    Epsilon is the whole price. A choice by votes gets 15 to 35 hundredths of it, by columns and rows stated in the study, any other
    choice three fifths, and the coefficients the rest, unless --split says otherwise. The page and the JSON file beside it may be
    published.
    """
    check_title(title)
    assumptions = read_study(study)
    till, rows = Till.from_options(study, options), Rows.from_options(data, options)
    settings = Settings(**options)
    plan = plan_analysis(
        assumptions,
        budget=settings.budget,
        split=parse_split(split),
        choice=settings.choice,
        intervals=Intervals(level, intervals),
        scale=scale,
        tune=tune,
    )
    page = Path(output)
    if page.suffix not in (".html", ".htm"):
        raise AssumptionError(f"The report {output!r} must end in .html; the JSON file beside it is named after it.")
    draft = Draft(page, title, [plan.asked, rows.address, till.place])
    places = [page, draft.report, *([] if board is None else [Path(board)])]
    require_writable(*places)
    require_apart([*places, draft.file], [(study, "the study"), *till.files, *rows.files])

    def show(document: Document) -> None:
        _show(document, till, as_json, quiet, page)

    with draft.taken():
        if draft.read():
            _finish(draft, board, show)
            return
        rows.check(assumptions)
        if scale == "odds":
            require_rows(rows.table(assumptions))
        till.confirm(plan.budget, yes, *plan.charges)
        with held(lambda: f"Stopped; what was paid for is in {names((draft.report, page))}.") as hold:
            account = HeldAccount(till.open(), rows.label, analyst(), hold, draft.note)
            document = _run(rows, plan, account, draft, title, quiet)
            _hand_over(document, draft, board, lambda: show(document))


def parse_split(text: str | None) -> tuple[str, str] | None:
    """Two shares from a text such as 35:65."""
    if text is None:
        return None
    first, mark, second = text.partition(":")
    if not mark:
        raise AssumptionError(f"split is {text!r}; it must be two shares with a colon between them, such as 35:65.")
    return first, second


def _run(rows: Rows, plan: AnalysisPlan, account: Account, draft: Draft, title: str, quiet: bool) -> Document:
    """Choose and estimate. What is paid for is delivered alone if the rest fails after it."""
    try:
        with rows.reading(plan.assumptions, quiet) as progress:
            result = run_analysis(rows.table(plan.assumptions), plan, account, progress, keep=draft.keep)
    except BaseException:
        if not _leave(draft) and draft.file.exists():
            tell(f"What was paid for is kept in {draft.file}: the same command finishes the report from it.")
        raise
    return result.document(title)


def _finish(draft: Draft, board: str | None, show: Callable[[Document], None]) -> None:
    """Hand over what an earlier run had drawn when it was killed."""
    document = draft.document()
    if document is not None:
        _hand_over(document, draft, board, lambda: show(document))
    else:
        _leave(draft)
    tell(
        "An earlier run had paid for this and was stopped: it is finished now, and nothing was charged. For another, run again."
    )


def _leave(draft: Draft) -> bool:
    """Deliver by itself what is paid for and is not all, and say so."""
    alone = draft.alone()
    if alone is None:
        return False
    deliver(
        [(draft.report, lambda: alone[0])], lambda: None, lambda: alone[0], spare=draft.report, written=draft.forget
    )
    tell(alone[1])
    return True


def _hand_over(document: Document, draft: Draft, board: str | None, show: Callable[[], None]) -> None:
    """Write the files, then show the answer."""
    files: list[File] = [(draft.report, document.to_json), (draft.page, lambda: report_page(document))]
    if board is not None:
        files.append((Path(board), lambda: board_page(document)))

    deliver(files, show, document.to_json, spare=draft.report, written=draft.forget)


def _show(document: Document, till: Till, as_json: bool, quiet: bool, page: Path) -> None:
    selection, coefficients = document.selection, document.coefficients
    assert coefficients is not None
    if as_json:
        answer_json(document.to_dict())
        return
    if quiet:
        click.echo(selection.formula)
        return
    click.echo(heading(selection.formula))
    bounds = None if document.tuned is None else document.tuned.bounds
    lines = analysis_lines(selection, coefficients, document.guarantee, bounds)
    click.echo(pairs([*lines, ("ledger", till.shown)]))
    click.echo()
    facts = estimate_facts(coefficients)
    show_table(coefficient_columns(facts), coefficient_rows(facts), numbers=(1, 2, 3))
    for remark in estimate_remarks(facts):
        click.echo(remark)
    click.echo(f"\nThe report is {page}, and {page.with_suffix('.json')} for machines. Both may be published.")
