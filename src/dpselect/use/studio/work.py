"""All that the studio asks of the rest of dpselect, in one place. No number is computed here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from dpselect.assume.models.budget import EXACT, Budget, exact_delta, exact_epsilon, plain
from dpselect.assume.models.choice import Choice
from dpselect.assume.models.recipe import make_recipe
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import AssumptionError, DataError, DpselectError, LedgerError
from dpselect.gather.table import table_cells
from dpselect.rehearse.check.fit import measure_fit, near_twins
from dpselect.rehearse.planning.outlook import outlook_study, percent
from dpselect.release.account import Account
from dpselect.release.ledger.records import Charge
from dpselect.release.select import selection_charge
from dpselect.release.selection import Selection
from dpselect.report.custodian.curves import curve_chart
from dpselect.report.custodian.page import custodian_page
from dpselect.report.public.document import Document, today
from dpselect.report.public.page import report_page
from dpselect.report.public.titles import check_title
from dpselect.report.public.words import guarantee_sentence
from dpselect.report.verify.answers import Check
from dpselect.report.verify.verify import DISGUISED, check_report, is_disguised
from dpselect.use.analysis_plan import plan_analysis, rows_to_suppose
from dpselect.use.analyze import Paid, run_analysis
from dpselect.use.interval_plan import expected_intervals
from dpselect.use.rehearsal import Rehearsal
from dpselect.use.select import choose_model
from dpselect.use.shell.files import require_writable, write_aside
from dpselect.use.shell.ledgers import analyst
from dpselect.use.shell.sources import guessed_form, named_columns, source_of
from dpselect.use.shell.terminal import together
from dpselect.use.studio.papers import Order, Source, ledger_of, report_files, reports
from dpselect.use.studio.study import stated

Tell = Callable[[str], None]
AGAIN = 2.0
"""Seconds until a report that could not be written is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """Public. What a plan says; no row was read for it."""

    rows: int
    epsilon: str
    r_squared: str
    verdict: str
    facts: tuple[tuple[str, str], ...]
    charts: tuple[tuple[str, str, str], ...]
    table: tuple[tuple[str, ...], ...]


def open_source(address: str, form: dict[str, str]) -> Source:
    """Look at a table's head: the names and types of its columns, and how a text file is written; nothing else."""
    whole = guessed_form(address, form)
    columns = tuple(named_columns(source_of(address, whole)))
    return Source(address=address, form=tuple(whole.items()), columns=columns)


def plan_facts(assumptions: Assumptions, rows: int, epsilon: str, r_squared: str) -> PlanFacts:
    """What to expect, from public facts alone."""
    share = float(r_squared)
    if not 0 < share < 1:
        raise AssumptionError(f"The expected R² is {r_squared}; it must be between 0 and 1, such as 0.3.")
    price = float(exact_epsilon(epsilon))
    found = outlook_study(assumptions, rows=rows, epsilon=price, r2=share)
    charts = []
    for name, points, now in (("epsilon", found.by_epsilon, price), ("rows", found.by_rows, float(rows))):
        settings, kept = [float(x) for x, _ in points], [[each] for _, each in points]
        draw = partial(curve_chart, name, settings, kept, now, what="Share of the R² that is kept")
        wide, narrow = (draw(narrow=small) for small in (False, True))
        charts.append((name, wide, narrow))
    effects = tuple((f"Smallest effect found: {name}", words) for name, words in together(found.units))
    expected = expected_intervals(assumptions, rows=rows, epsilon=price, delta=1e-6, r2=share)
    lengths = () if expected is None else expected.words(assumptions)
    intervals = tuple((f"Length of its 95% interval: {name}", words) for name, words in together(lengths))
    return PlanFacts(
        rows=rows,
        epsilon=epsilon,
        r_squared=r_squared,
        verdict=found.verdict,
        facts=(("Supposed, in the mean", "; ".join(found.middle)), *effects, *intervals),
        charts=tuple(charts),
        table=tuple(
            (f"{e:.3g}", percent(one), f"{n:,}", percent(other))
            for (e, one), (n, other) in zip(found.by_epsilon, found.by_rows, strict=False)
        ),
    )


def check_page(assumptions: Assumptions, source: Source, epsilon: str, delta: str) -> str:
    """The custodian's page: what the rows are like, and what a release at this price would choose. Not for release."""
    rows, run = source.rows(), "select" if assumptions.unbounded else "analyze"
    rehearsal = None
    if epsilon:
        price = Budget(exact_epsilon(epsilon), exact_delta(delta if run == "analyze" else 0))
        rehearsal = Rehearsal(assumptions, Choice(), price, run=run)
    rows.require_rows()
    rows.check(assumptions)
    fit = measure_fit(table_cells(rows.source, assumptions), assumptions)
    if fit.rows == 0:
        raise DataError(f"{source.label!r} has no rows: give a table with at least one.")
    seen = None
    if assumptions.missing != "error" or not any(each.missing for each in fit.variables):
        moments = None if assumptions.unbounded else rows.moments(assumptions, quiet=True)
        fit = replace(fit, twins=() if moments is None else near_twins(moments, assumptions))
        if rehearsal is not None:
            seen = rehearsal.preview(rehearsal.rehearse(rows.source, rows=fit.rows, moments=moments))
    return custodian_page(assumptions, fit, seen)


def place_order(study: Path, source: Source, asked: dict[str, str]) -> Order:
    """A release that could be afforded as things stand; nothing is charged."""
    ledger = ledger_of(study)
    if ledger is None:
        raise LedgerError("There is no budget yet: open it first, on the page Budget.")
    both = asked.get("what") != "choice"
    order = Order(
        study=study,
        source=source,
        assumptions=stated(study),
        budget=Budget(exact_epsilon(asked.get("epsilon", "")), exact_delta(asked.get("delta", "") if both else 0)),
        coefficients=both,
        title=check_title(asked.get("title", "")),
        number=1 + max(reports(study), default=0),
    )
    ledger.check(*_charges(order))
    return order


def _charges(order: Order) -> tuple[Charge, ...]:
    """What the ledger will be asked for; whatever can be refused without the rows is refused here."""
    choice, price = Choice(), order.budget
    if order.coefficients:
        return plan_analysis(order.assumptions, budget=price, choice=choice).charges
    rows = rows_to_suppose(order.assumptions, choice)
    recipe = make_recipe(order.assumptions, choice, rows=rows, epsilon=price.epsilon, delta=price.delta)
    return (selection_charge(recipe),)


def consequences(order: Order) -> tuple[str, str]:
    """What a release promises to a person, and what it leaves in the ledger at least."""
    ledger = ledger_of(order.study)
    left = ledger.left().epsilon if ledger else Decimal(0)
    words = guarantee_sentence(order.guarantee, order.assumptions.max_rows_per_person)
    return words, plain(max(EXACT.subtract(left, order.budget.epsilon), Decimal(0)))


def release(order: Order, tell: Tell) -> None:
    """Check, charge, draw, write to the disk; only then can a page show it."""
    page, values = report_files(order.study, order.number)
    if page.exists() or values.exists():
        raise DpselectError(f"{page.name} exists already; ask for the price again.")
    require_writable(page, values)
    rows, account = order.source.rows(), Account(ledger_of(order.study), order.source.label, analyst())
    rows.check(order.assumptions)
    account.check(*_charges(order))
    tell("The study, the price and the place for the report were checked. Now the rows are read.")
    document = _draw(order, rows.table(order.assumptions), account, lambda alone: _write(values, alone.to_json(), tell))
    tell("The rows were read, then the ledger was charged, then the noise was drawn.")
    _write(values, document.to_json(), tell)
    _write(page, report_page(document), tell)
    tell("The report was written to the disk.")


def _draw(order: Order, table: Any, account: Account, rescue: Callable[[Document], None]) -> Document:
    """The release itself, by the functions of the other doors; a choice whose estimate fails is paid for, and rescued."""
    paper = partial(Document, title=order.title, made=today())
    if not order.coefficients:
        return paper(selection=choose_model(table, order.assumptions, Choice(), order.budget, account))
    chosen: list[Paid] = []
    try:
        plan = plan_analysis(order.assumptions, budget=order.budget, choice=Choice())
        made = run_analysis(table, plan, account, keep=chosen.append)
    except BaseException:
        if chosen and isinstance(chosen[0], Selection):
            rescue(paper(selection=chosen[0]))
        raise
    return paper(selection=made.selection, coefficients=made.coefficients)


def _write(path: Path, text: str, tell: Tell) -> None:
    """Write what was paid for, as long as it takes: it exists nowhere else, and cannot be drawn again."""
    told = False
    while True:
        try:
            write_aside(path, text)
            return
        except DpselectError as problem:
            if not told:
                tell(
                    f"{problem} The release is paid for, so this is tried again until it works: leave the studio open."
                )
            told = True
            time.sleep(AGAIN)


def verify_text(text: str, study: Path) -> list[Check]:
    """Check a report as a stranger would, and against the study's ledger if there is one."""
    if is_disguised(text):
        raise DataError(DISGUISED)
    return check_report(text, ledger_of(study))
