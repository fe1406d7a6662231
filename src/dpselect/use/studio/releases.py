"""Releases from the studio: plan one, say what it promises, make it, and hand over one that did not arrive."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import cast

from dpselect.assume.budget import EXACT, Budget, exact_delta, exact_epsilon, plain
from dpselect.assume.queries import FamilyName
from dpselect.assume.recipe import Choice
from dpselect.errors import BudgetExceeded, DpselectError, LedgerError
from dpselect.release.account import Account
from dpselect.report.phrases import promise
from dpselect.use.order import order_analysis, order_selection
from dpselect.use.shell.files import require_writable, write_report
from dpselect.use.shell.ledgers import analyst, not_enough
from dpselect.use.spend import Released, resume, spend
from dpselect.use.studio.forms import stated
from dpselect.use.studio.ledgers import ledger_of
from dpselect.use.studio.reports import ReportPlan, report_files, reports
from dpselect.use.studio.sources import Source

Tell = Callable[[str], None]


def plan_report(study_file: Path, source: Source, asked: dict[str, str]) -> ReportPlan:
    """A release that could be afforded as things stand; nothing is charged."""
    ledger = ledger_of(source)
    if ledger is None:
        raise LedgerError("There is no budget yet. Open it first, on the page Budget.")
    both, study, choice = asked.get("what") != "choice", stated(study_file), Choice()
    budget = Budget(exact_epsilon(asked.get("epsilon", "")), exact_delta(asked.get("delta", "") if both else 0))
    title = asked.get("title", "")
    family = cast(FamilyName | None, (both and asked.get("family")) or None)  # the order refuses what is none
    rows = source.rows().source
    if both:
        order = order_analysis(study, choice, budget, source=rows, title=title, family=family)
    else:
        order = order_selection(study, choice, budget, source=rows, title=title)
    try:
        ledger.check(*order.charges)
    except BudgetExceeded:
        raise BudgetExceeded(not_enough(Account(ledger), order.budget, command=False)) from None
    return ReportPlan(
        study_file=study_file,
        source=source,
        study=study,
        budget=budget,
        coefficients=both,
        title=title,
        number=1 + max(reports(study_file), default=0),
        family=family,
        order=order,
    )


def consequences(plan: ReportPlan) -> tuple[str, str]:
    """What a release promises to a person, and what it leaves in the ledger at least."""
    ledger = ledger_of(plan.source)
    rest = ledger.remaining().epsilon if ledger else Decimal(0)
    words = promise(plan.guarantee, plan.study.max_rows_per_person, person=plan.study.person is not None)
    return words, plain(max(EXACT.subtract(rest, plan.budget.epsilon), Decimal(0)))


def release(plan: ReportPlan, tell: Tell) -> None:
    """Spend, and write the report to the disk; only then can a page show it."""
    page, values = report_files(plan.study_file, plan.number)
    if page.exists() or values.exists():
        raise DpselectError(f"{page.name} exists already; ask for the cost again.")
    require_writable(page, values)
    order, rows = plan.order, plan.source.rows()
    assert order is not None
    account = Account(ledger_of(plan.source), plan.source.label, analyst())
    tell("The study, the privacy cost and the place for the report were checked. Now the rows are read.")

    def deliver(released: Released) -> None:
        tell("The release was drawn, and is in the ledger together with its charge.")
        write_report(released.analysis, page)

    request = order.request(rows.address, str(plan.source.ledger.absolute()))
    spend(
        order,
        rows.table(order.study),
        account,
        request=request,
        look=lambda: rows.count(order),
        deliver=deliver,
    )
    tell("The report was written to the disk.")


def hand_over_waiting(study_file: Path, source: Source, tell: Tell) -> None:
    """Write a report of each release that was paid for and did not arrive; nothing is charged."""
    ledger = ledger_of(source)

    def deliver(released: Released) -> None:
        write_report(released.analysis, report_files(study_file, 1 + max(reports(study_file), default=0))[0])

    count = 0 if ledger is None else resume(ledger, source.rows().source, deliver)
    tell("Nothing waits." if count == 0 else "What was paid for was written to the disk. Nothing was charged.")
