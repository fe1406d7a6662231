"""Choose a model."""

from __future__ import annotations

from typing import Any

from dpselect.assume.budget import Budget, Price
from dpselect.assume.penalty import Penalty
from dpselect.assume.recipe import Choice, Mechanism, Method
from dpselect.assume.study import Study
from dpselect.release.account import Account, LedgerPlace, account_of
from dpselect.release.selection import Selection
from dpselect.use.order import Competing, order_selection
from dpselect.use.spend import spend


def select(
    source: Any,
    study: Study,
    *,
    epsilon: Price,
    delta: Price = 0,
    method: Method = "votes",
    mechanism: Mechanism = "permute-and-flip",
    candidates: Competing = None,
    penalty: Penalty | None = None,
    ledger: LedgerPlace | None = None,
    data: str = "",
    analyst: str = "",
) -> Selection:
    """Choose a model with a differential-privacy guarantee.

    Example: `select(frame, study, epsilon=1.0)`. `source` is anything that `gather` reads; `epsilon` (and `delta` for
    method "pcpl") is the whole price. "votes" needs no bounds and works for binary responses and many columns; "pcls" and
    "pcpl" are the paper's methods, need every bound, and take moments too. `penalty` is the cost of a column: a number in
    squared units of the response (for "pcpl" in units of -2 log-likelihood), "aic", "bic", one number a column, or None for
    a public default that balances sampling noise and privacy noise; votes have a price of their own.
    """
    choice = Choice(method, mechanism, candidates, penalty)
    return choose_model(source, study, choice, Budget(epsilon, delta), account_of(ledger, data, analyst))


def choose_model(source: Any, study: Study, choice: Choice, price: Budget, account: Account) -> Selection:
    """The same, of what is made once at the door."""
    order = order_selection(study, choice, price, source=source)
    selection = spend(order, source, account).selection
    assert selection is not None
    return selection
