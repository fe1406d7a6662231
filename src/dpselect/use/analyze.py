"""Both halves of the paper's motive: choose a model, then estimate it, each privately, from one budget."""

from __future__ import annotations

from typing import Any

from dpselect.assume.budget import Budget, Price
from dpselect.assume.penalty import Penalty
from dpselect.assume.queries import FamilyName
from dpselect.assume.recipe import Choice, Mechanism, Method
from dpselect.assume.study import Study
from dpselect.gather.rows import has_rows_again
from dpselect.release.account import LedgerPlace, account_of
from dpselect.use.analysis import Analysis
from dpselect.use.order import Competing, order_analysis
from dpselect.use.spend import spend


def analyze(
    source: Any,
    study: Study,
    *,
    epsilon: Price,
    delta: Price = 0,
    split: tuple[Price, Price] | None = None,
    method: Method = "votes",
    mechanism: Mechanism = "permute-and-flip",
    candidates: Competing = None,
    penalty: Penalty | None = None,
    level: float = 0.95,
    family: FamilyName | None = None,
    ledger: LedgerPlace | None = None,
    data: str = "",
    analyst: str = "",
) -> Analysis:
    """Choose a model and estimate it, from one budget.

    Example: `analyze(frame, study, epsilon=2, delta=1e-6)`. `split` are the shares of epsilon for the choice and for the
    estimate; without it public facts decide. Only method "pcpl" needs delta for the choice, and takes half of it. `family` is
    "gaussian", "binomial" (odds ratios of a `Binary` response) or "poisson" (rate ratios of a `Count`); without it the response
    decides. With a delta coefficients come from a few rounds of noisy sums, which need no bounds (see `estimate`).

    The rows are read twice, to count them and to add them up; long tables once more in each round. Choice and estimate are
    charged together, or not at all.
    """
    choice = Choice(method, mechanism, candidates, penalty)
    account = account_of(ledger, data, analyst)
    order = order_analysis(
        study,
        choice,
        Budget(epsilon, delta),
        source=source,
        split=split,
        level=level,
        family=family,
        rows_again=has_rows_again(source),
    )
    return spend(order, source, account).analysis
