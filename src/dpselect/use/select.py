"""`dpselect.select`: which variables explain a response, and in which direction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpselect.assume.budget import Budget, Price
from dpselect.assume.penalty import Penalty
from dpselect.assume.recipe import Choice, Mechanism, Method
from dpselect.assume.study import Missing, Study
from dpselect.assume.variables import Category
from dpselect.release.account import Account, LedgerPlace, account_of
from dpselect.release.selection import Selection
from dpselect.use.order import Competing, order_selection
from dpselect.use.proposal import study_for
from dpselect.use.spend import spend


def select(
    source: Any,
    study: Study | str | None = None,
    *,
    epsilon: Price,
    delta: Price = 0,
    response: str | None = None,
    predictors: Iterable[str] | None = None,
    categories: Mapping[str, Sequence[Category]] | None = None,
    missing: Missing | None = None,
    method: Method = "votes",
    mechanism: Mechanism = "permute-and-flip",
    candidates: Competing = None,
    penalty: Penalty | None = None,
    ledger: LedgerPlace | None = None,
    data: str = "",
    analyst: str = "",
) -> Selection:
    """Select the variables that explain a response, and their directions, with a differential-privacy guarantee.

    Parameters
    ----------
    source : table, path or address
        Anything that `gather` reads: a data frame, an Arrow table, a path, a database's address.
    study : Study or str, optional
        What is stated before the rows are read; or a formula, "income ~ ." or "income ~ age + school".
    epsilon : number or str
        The privacy cost of this call: 1 is strong, 3 moderate.
    delta : number or str, optional
        Only method "pcpl" needs one.
    response : str, optional
        In place of a study: the variable to explain.
    predictors : list of str, optional
        The variables to consider; by default all usable columns of a table that states its types.
    categories : dict, optional
        All categories of each text column to consider: ``{"region": ["north", "south"]}``. Two for a binary response.
    missing : {"error", "midpoint", "zero-row"}, optional
        In place of a study: what is done about missing cells. By default the run stops; "zero-row" leaves such rows out.
    method : {"votes", "pcls", "pcpl"}, optional
        Block votes need no ranges; the paper's two methods need all of them.
    mechanism : {"permute-and-flip", "exponential", "laplace"}, optional
        How the selection is drawn.
    candidates : Subsets or list of models, optional
        The models to consider; by default all.
    penalty : number, "aic", "bic" or list, optional
        What a column costs under "pcls" and "pcpl". A public formula decides by default.
    ledger : Ledger or path, optional
        The ledger to charge.
    data, analyst : str, optional
        What the ledger entry says about the data and about who ran this.

    Returns
    -------
    Selection
        The selected variables, their directions and the guarantee.

    Examples
    --------
    >>> selection = dpselect.select(frame, "income ~ .", epsilon=1)  # doctest: +SKIP
    >>> selection.directions  # doctest: +SKIP
    {'age': 'up', 'commute': 'down'}
    """
    stated = study_for(source, study, response=response, predictors=predictors, categories=categories, missing=missing)
    choice = Choice(method, mechanism, candidates, penalty)
    return choose_model(source, stated, choice, Budget(epsilon, delta), account_of(ledger, data, analyst))


def choose_model(source: Any, study: Study, choice: Choice, price: Budget, account: Account) -> Selection:
    """Select a model, once study, choice, cost and account are made."""
    order = order_selection(study, choice, price, source=source)
    selection = spend(order, source, account).selection
    assert selection is not None
    return selection
