"""Both halves of the paper's motive: choose a model, then estimate it, each privately, from one budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dpselect.assume.models.budget import Budget, Price
from dpselect.assume.models.candidates import Candidates
from dpselect.assume.models.choice import Choice, Mechanism, Method
from dpselect.assume.models.penalty import Penalty
from dpselect.assume.models.subsets import Model, Subsets
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import BudgetExceeded
from dpselect.gather.logistic_sums import require_rows
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import gather_table
from dpselect.release.account import Account, LedgerPlace, account_of
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.coefficients.drawn import Drawn
from dpselect.release.coefficients.intervals import IntervalKind, Intervals
from dpselect.release.estimate import plan_estimate, release_estimate
from dpselect.release.odds.odds_ratios import OddsRatios
from dpselect.release.odds.release import Scale, plan_odds, release_odds
from dpselect.release.selection import Selection
from dpselect.release.tune import Tuned
from dpselect.release.tuned_selection import TunedSelection
from dpselect.use.analysis import Analysis
from dpselect.use.analysis_plan import AnalysisPlan, plan_analysis
from dpselect.use.gathering import Telling, gather_for
from dpselect.use.select import choose_from
from dpselect.use.select_tuned import tune_and_choose


def analyze(
    source: Any,
    assumptions: Assumptions,
    *,
    epsilon: Price,
    delta: Price = 0,
    split: tuple[Price, Price] | None = None,
    method: Method = "votes",
    mechanism: Mechanism = "permute-and-flip",
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
    penalty: Penalty | None = None,
    level: float = 0.95,
    intervals: IntervalKind = "plain",
    scale: Scale = "response",
    tune: bool = False,
    ledger: LedgerPlace | None = None,
    data: str = "",
    analyst: str = "",
) -> Analysis:
    """Choose a model and estimate it, from one budget.

    Example: `analyze(frame, assumptions, epsilon=2, delta=1e-6)`. `split` are the shares of epsilon for the choice and for the
    estimate; without it public facts decide. Only method "pcpl" needs delta for the choice, and takes half of it. For a `Binary`
    response scale="odds" gives odds ratios, which need a delta. `tune` buys bounds for the response first, for a small share of
    the choice's epsilon, as `select_tuned` does (method "pcls"); the estimate goes by the stated ones.

    The rows are read once, for odds ratios once more in each round, with `tune` three times. The ledger must have room for the
    whole before the first row is read, so that a choice is not paid for and left without coefficients.
    """
    plan = plan_analysis(
        assumptions,
        budget=Budget(epsilon, delta),
        split=split,
        choice=Choice(method, mechanism, candidates, penalty),
        intervals=Intervals(level, intervals),
        scale=scale,
        tune=tune,
    )
    return run_analysis(source, plan, account_of(ledger, data, analyst))


Paid = Tuned | TunedSelection | Selection | Drawn
"""What may be paid for before the estimate is."""


def run_analysis(
    source: Any,
    plan: AnalysisPlan,
    account: Account,
    progress: Telling | None = None,
    keep: Callable[[Paid], None] = lambda paid: None,
) -> Analysis:
    """Ask the ledger, read the rows once, choose, estimate.

    `keep` is given the choice as soon as it is drawn (before it the bounds, where they are bought; after it the noisy moments):
    it is paid for, whatever becomes of the rest.
    """
    if plan.scale == "odds":
        require_rows(source)
    account.check(*plan.charges)
    chosen, moments = _chosen(source, plan, account, progress, keep)
    keep(chosen)
    tuned = chosen if isinstance(chosen, TunedSelection) else None
    selection = chosen.selection if isinstance(chosen, TunedSelection) else chosen
    try:
        coefficients = _estimated(source, moments, plan, selection.columns, account, keep)
    except BudgetExceeded as refused:  # somebody else has spent in between
        refused.add_note(f"The choice was drawn and is paid for: {chosen}.")
        raise
    return Analysis(selection=selection, coefficients=coefficients, budget=plan.budget, tuned=tuned)


def _chosen(
    source: Any, plan: AnalysisPlan, account: Account, progress: Telling | None, keep: Callable[[Paid], None]
) -> tuple[Selection | TunedSelection, Moments | None]:
    """The choice, and the moments for the estimate if they were gathered on the way."""
    if plan.tune:
        price = plan.for_choice.epsilon
        return tune_and_choose(source, plan.assumptions, plan.choice, price, account, keep=keep), None
    wanted = plan.scale == "response"
    table = gather_for(source, plan.assumptions, plan.choice, plan.for_choice, moments=wanted, progress=progress)
    return choose_from(table, account), table.moments


def _estimated(
    source: Any,
    moments: Moments | None,
    plan: AnalysisPlan,
    columns: tuple[int, ...],
    account: Account,
    keep: Callable[[Drawn], None],
) -> Coefficients | OddsRatios:
    """The second half, under the stated bounds."""
    asked: dict[str, Any] = {
        "epsilon": plan.for_estimate.epsilon,
        "delta": plan.for_estimate.delta,
        "intervals": plan.intervals,
        "selected": True,
    }
    if plan.scale == "odds":
        return release_odds(source, plan_odds(plan.assumptions, columns, **asked), account)
    found = gather_table(source, plan.assumptions) if moments is None else moments
    return release_estimate(found, plan_estimate(plan.assumptions, columns, **asked), account, keep)
