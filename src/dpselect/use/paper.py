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

    Example: `pcls(X, y, epsilon=1, r=4, R=3, phi=100)`. Entries of X outside [-1, 1] and of y outside [-r, r] are clipped; r, R
    and phi must be stated without looking at the data. The candidates are all non-empty sets of columns unless given.
    """
    matrix, listed = named_matrix(X, names)
    study = plain_study(listed, r=r, R=R, neighbors=neighbors)
    choice = Choice("pcls", mechanism, candidates, phi)
    return choose_model((matrix, y), study, choice, Budget(epsilon), account_of(ledger))


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

    Example: `pcpl(X, y, epsilon=1, delta=1e-6, r=4, R=3, phi="bic")`. Half of epsilon buys the bound on the score's
    sensitivity, half pays for the choice; `as_printed` uses the paper's looser form of that bound.
    """
    matrix, listed = named_matrix(X, names)
    study = plain_study(listed, r=r, R=R, neighbors=neighbors)
    choice = Choice("pcpl", mechanism, candidates, phi, as_printed)
    return choose_model((matrix, y), study, choice, Budget(epsilon, delta), account_of(ledger))
