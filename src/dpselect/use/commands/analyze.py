"""`dpselect analyze`: choose, estimate, report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dpselect.errors import AssumptionError
from dpselect.gather.logistic_sums import require_rows
from dpselect.release.account import Account
from dpselect.release.coefficients.intervals import INTERVALS, Intervals
from dpselect.release.odds.release import SCALES
from dpselect.release.tune import Tuned
from dpselect.release.tuned_selection import TunedSelection
from dpselect.report.board.board import board_page
from dpselect.report.public.document import Document, today
from dpselect.report.public.estimate_facts import estimate_facts
from dpselect.report.public.page import report_page
from dpselect.report.public.text import analysis_lines, coefficient_columns, coefficient_rows, estimate_remarks
from dpselect.use.analysis_plan import AnalysisPlan, plan_analysis
from dpselect.use.analyze import Paid, run_analysis
from dpselect.use.shell.delivery import deliver, names
from dpselect.use.shell.files import require_writable
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
    require_writable(page, page.with_suffix(".json"), *([] if board is None else [board]))
    rows.check(assumptions)
    if scale == "odds":
        require_rows(rows.table(assumptions))
    till.confirm(plan.budget, yes, *plan.charges)
    files = page.with_suffix(".json"), page
    with held(lambda: f"Stopped; what was paid for is in {names(files)}.") as hold:
        account = HeldAccount(till.open(), rows.label, analyst(), hold)
        document = _run(rows, plan, account, title, quiet, files[0])
        sheet = [] if board is None else [(Path(board), lambda: board_page(document))]
        deliver(
            [(files[0], document.to_json), (files[1], lambda: report_page(document)), *sheet],
            lambda: _show(document, till, as_json, quiet, page),
            document.to_json,
            spare=files[0],
        )


def parse_split(text: str | None) -> tuple[str, str] | None:
    """Two shares from a text such as 35:65."""
    if text is None:
        return None
    first, mark, second = text.partition(":")
    if not mark:
        raise AssumptionError(f"split is {text!r}; it must be two shares with a colon between them, such as 35:65.")
    return first, second


def _run(rows: Rows, plan: AnalysisPlan, account: Account, title: str, quiet: bool, file: Path) -> Document:
    """Choose and estimate. A choice that is paid for is delivered alone if the estimate fails after it."""
    paid: list[Paid] = []
    try:
        with rows.reading(plan.assumptions, quiet) as progress:
            result = run_analysis(rows.table(plan.assumptions), plan, account, progress, keep=paid.append)
    except BaseException:
        if paid:
            _keep(paid[-1], title, file)
        raise
    return result.document(title)


def _keep(paid: Paid, title: str, file: Path) -> None:
    """Deliver what is paid for by itself, and say so."""
    if isinstance(paid, Tuned):
        text = json.dumps(paid.to_dict(), indent=2, ensure_ascii=False) + "\n"
        deliver([(file, lambda: text)], lambda: None, lambda: text, spare=file)
        tell(f"The bounds were bought and are paid for: {paid}, in {file}; no model was chosen.")
        return
    tuned = paid if isinstance(paid, TunedSelection) else None
    selection = paid.selection if isinstance(paid, TunedSelection) else paid
    alone = Document(title=title, made=today(), selection=selection, tuned=tuned)
    deliver([(file, alone.to_json)], lambda: None, alone.to_json, spare=file)
    tell(f"The model was chosen and is paid for: {selection.formula}, in {file}; its coefficients are not.")


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
