"""Private. Votes of any estimator that has coefficients: fitted in each block by itself, it says which sign each column has.

The lemma asks nothing of what happens inside a block (`assume/lemmas/margins.py`), so any program may stand there, as long as
what it says is a function of the block's own rows: they are sorted first, so that not even their order is told, and a block
in which it fails, warns or answers something else than one number a column abstains.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.gather.sums.assign import Assigner, fresh_assigner
from dpselect.minimize.votes import Votes

FitBlock = Callable[[NDArray[np.float64], NDArray[Any]], Any]
"""Fits the rows of a block, and returns what has `coef_`."""


def estimator_votes(
    fit: FitBlock,
    X: NDArray[np.float64],
    y: NDArray[Any],
    *,
    blocks: int,
    partitions: int,
    columns: tuple[str, ...],
    intercept: bool,
    assumptions: str,
    assigner: Assigner | None = None,
) -> Votes:
    """The votes of every block; rows go to blocks by a chance of their own, drawn afresh for this call."""
    width = X.shape[1]
    above, below = np.zeros((2, width), np.int64)
    dealt = (assigner or fresh_assigner(blocks, partitions, None)).draw({}, len(X))
    codes = np.unique(y, return_inverse=True)[1]
    for places in dealt:
        order = np.lexsort((codes, *X.T[::-1], places))
        starts = np.searchsorted(places[order], np.arange(blocks + 1))
        for start, stop in pairwise(starts):
            signs = _signs(fit, X[order[start:stop]], y[order[start:stop]], width)
            above += signs > 0
            below += signs < 0
    silent = np.zeros(int(intercept), np.int64)
    counted = [np.concatenate([silent, each]) for each in (above, below)]
    return Votes(counted[0], counted[1], partitions, blocks, columns, assumptions)


def _signs(fit: FitBlock, X: NDArray[np.float64], y: NDArray[Any], width: int) -> NDArray[np.float64]:
    """The signs of the coefficients; all zero where there are none. Nothing is raised or told because of rows."""
    nothing = np.zeros(width)
    if len(X) < 2:
        return nothing
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = np.asarray(fit(X, y).coef_, dtype=np.float64).reshape(-1)
    except Exception:
        return nothing
    constant = (X == X[0]).all(axis=0)
    return np.where(constant, 0.0, np.sign(found)) if found.shape == (width,) and np.isfinite(found).all() else nothing
