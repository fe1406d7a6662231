"""Choose a model: the whole path in one screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpselect.assume.models.budget import Budget, Price
from dpselect.assume.models.candidates import Candidates
from dpselect.assume.models.choice import Choice, Mechanism, Method
from dpselect.assume.models.penalty import Penalty
from dpselect.assume.models.subsets import Model, Subsets
from dpselect.assume.study.assumptions import Assumptions
from dpselect.minimize.minimize import minimize
from dpselect.penalize.penalize import penalize
from dpselect.release.account import Account
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.select import release_selection
from dpselect.release.selection import Selection
from dpselect.use.gathering import Gathered, gather_for


def select(
    source: Any,
    assumptions: Assumptions,
    *,
    epsilon: Price,
    delta: Price = 0,
    method: Method = "votes",
    mechanism: Mechanism = "permute-and-flip",
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
    penalty: Penalty | None = None,
    ledger: Ledger | None = None,
    data: str = "",
    analyst: str = "",
) -> Selection:
    """Choose a model with a differential-privacy guarantee.

    Example: `select(frame, assumptions, epsilon=1.0)`. `source` is anything that `gather` reads; `epsilon` (and `delta` for
    method "pcpl") is the whole price. "votes" needs no bounds and works for binary responses and many columns; "pcls" and
    "pcpl" are the paper's methods, need every bound, and take moments too. `penalty` is the cost of a column: a number in
    squared units of the response (for "pcpl" in units of -2 log-likelihood), "aic", "bic", one number a column, or None for
    a public default that balances sampling noise and privacy noise; votes have a price of their own.
    """
    choice = Choice(method, mechanism, candidates, penalty)
    return choose_model(source, assumptions, choice, Budget(epsilon, delta), Account(ledger, data, analyst))


def choose_model(source: Any, assumptions: Assumptions, choice: Choice, price: Budget, account: Account) -> Selection:
    """Every stage once, in the order of the folders."""
    table = gather_for(source, assumptions, choice, price)
    return choose_from(table, account)


def choose_from(table: Gathered, account: Account) -> Selection:
    """From what was gathered to a release, whatever the method."""
    losses = minimize(table.sums, table.recipe)
    scores = penalize(losses, table.recipe)
    return release_selection(scores, table.recipe, account)
