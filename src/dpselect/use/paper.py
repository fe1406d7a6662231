"""The researcher's door: both algorithms of Lei et al., in the paper's symbols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dpselect.assume.budget import Budget, Neighbors, Price
from dpselect.assume.candidates import Candidates, Model, Subsets
from dpselect.assume.penalty import Penalty
from dpselect.assume.recipe import Choice, Mechanism
from dpselect.assume.study import plain_study
from dpselect.gather.sources.arrays import named_matrix
from dpselect.release.account import LedgerPlace, account_of
from dpselect.release.selection import Selection
from dpselect.use.select import choose_model


def pcls(
    X: Any,
    y: Any,
    *,
    epsilon: Price,
    r: float,
    R: float,
    phi: Penalty,
    mechanism: Mechanism = "permute-and-flip",
    neighbors: Neighbors = "replace-one",
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
    names: Sequence[str] | None = None,
    ledger: LedgerPlace | None = None,
) -> Selection:
    """Algorithm 1, penalized constrained least squares: a model with pure epsilon-differential privacy.

    Parameters
    ----------
    X : array or frame
        The columns; entries outside [-1, 1] are moved to the nearest limit.
    y : array
        The response; entries outside [-r, r] are moved to the nearest limit.
    epsilon : number or str
        The privacy cost of this call.
    r : float
        The limit on |y|, stated without looking at the data.
    R : float
        The limit on the sum of the absolute coefficients, stated likewise.
    phi : number, "aic", "bic" or list
        What a column costs.
    mechanism : {"permute-and-flip", "exponential", "laplace"}, optional
        How the model is drawn.
    neighbors : {"replace-one", "add-remove-one"}, optional
        Which tables are neighbors.
    candidates : Subsets or list of models, optional
        The models to consider; by default all non-empty sets of columns.
    names : list of str, optional
        The names of the columns.
    ledger : Ledger or path, optional
        The ledger to charge.

    Returns
    -------
    Selection
        The selected columns and the guarantee.

    Examples
    --------
    >>> dpselect.pcls(X, y, epsilon=1, r=4, R=3, phi=100)  # doctest: +SKIP
    """
    choice = Choice("pcls", mechanism, candidates, phi)
    return _choose(X, y, choice, Budget(epsilon), names=names, ledger=ledger, r=r, R=R, neighbors=neighbors)


def pcpl(
    X: Any,
    y: Any,
    *,
    epsilon: Price,
    delta: Price,
    r: float,
    R: float,
    phi: Penalty,
    mechanism: Mechanism = "permute-and-flip",
    neighbors: Neighbors = "replace-one",
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
    names: Sequence[str] | None = None,
    ledger: LedgerPlace | None = None,
    as_printed: bool = False,
) -> Selection:
    """Algorithm 2, penalized constrained profile likelihood: a model with (epsilon, delta)-differential privacy.

    Half of epsilon buys the limit on the score's sensitivity, half pays for the selection.

    Parameters
    ----------
    X : array or frame
        The columns; entries outside [-1, 1] are moved to the nearest limit.
    y : array
        The response; entries outside [-r, r] are moved to the nearest limit.
    epsilon : number or str
        The privacy cost of this call.
    delta : number or str
        The chance that the promise fails.
    r : float
        The limit on |y|, stated without looking at the data.
    R : float
        The limit on the sum of the absolute coefficients, stated likewise.
    phi : number, "aic", "bic" or list
        What a column costs.
    mechanism : {"permute-and-flip", "exponential", "laplace"}, optional
        How the model is drawn.
    neighbors : {"replace-one", "add-remove-one"}, optional
        Which tables are neighbors.
    candidates : Subsets or list of models, optional
        The models to consider; by default all non-empty sets of columns.
    names : list of str, optional
        The names of the columns.
    ledger : Ledger or path, optional
        The ledger to charge.
    as_printed : bool, optional
        Use the paper's looser form of the limit on the score's sensitivity.

    Returns
    -------
    Selection
        The selected columns and the guarantee.

    Examples
    --------
    >>> dpselect.pcpl(X, y, epsilon=1, delta=1e-6, r=4, R=3, phi="bic")  # doctest: +SKIP
    """
    choice = Choice("pcpl", mechanism, candidates, phi, as_printed)
    return _choose(X, y, choice, Budget(epsilon, delta), names=names, ledger=ledger, r=r, R=R, neighbors=neighbors)


def _choose(
    X: Any,
    y: Any,
    choice: Choice,
    price: Budget,
    *,
    names: Sequence[str] | None,
    ledger: LedgerPlace | None,
    **stated: Any,
) -> Selection:
    """Choose a model of a matrix's columns; `stated` are r, R and who is a neighbor."""
    matrix, listed = named_matrix(X, names)
    return choose_model((matrix, y), plain_study(listed, **stated), choice, price, account_of(ledger))
