"""Private. Votes of any estimator that has coefficients: fitted in each block by itself, it says which sign each column has.

The lemma asks nothing of what happens inside a block (`assume/lemmas/sensitivity.py`), so any program may stand there, as long as
what it says is a function of the block's own rows: they are sorted first, so that not even their order is told, each block has
chances of its own, and a block in which it fails or answers something else than one number a column abstains. What it prints,
logs or warns of goes nowhere; threads that would do so at the same time wait for each other.

A vote is a whole one, plus or minus 64 64ths. Nothing is known of how such a coefficient is distributed, so unlike the votes of
least squares (`votes_numpy`) these are not corrected for skewness: where a column and the response are both skewed, the sign of
an idle column may lean to one side in every block.
"""

from __future__ import annotations

import io
import logging
import os
import random
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.gather.dealing import Assigner, RowAssigner
from dpselect.minimize.votes.votes import Votes

FitBlock = Callable[[NDArray[np.float64], NDArray[Any]], Any]
"""Fits the rows of a block, and returns what has `coef_`."""

_TURN = threading.RLock()
"""What silences a program and what seeds its generators belongs to all of its threads, so they take turns."""


def _renew_turn() -> None:
    """In a process that was forked: the thread whose turn it was does not live there, and would never end it."""
    global _TURN  # noqa: PLW0603
    _TURN = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_turn)


def estimator_votes(
    fit: FitBlock,
    X: NDArray[np.float64],
    y: NDArray[Any],
    *,
    blocks: int,
    partitions: int,
    columns: tuple[str, ...],
    intercept: bool,
    study: str,
    assigner: Assigner | None = None,
) -> Votes:
    """The votes of every block; rows go to blocks by a chance of their own, drawn afresh for this call.

    `y` is of doubles or of text. Both zeros are one, and text is as wide as a block's longest, so that rows which are equal look
    equal, whichever others there are.
    """
    width, X = X.shape[1], X + 0.0
    y = y + 0.0 if y.dtype.kind == "f" else y
    leads = np.zeros(width, np.int64)
    dealt = (assigner or RowAssigner(blocks, partitions)).draw({}, len(X))
    codes = np.unique(y, return_inverse=True)[1]
    for places in dealt:
        order = np.lexsort((codes, *X.T[::-1], places))
        starts = np.searchsorted(places[order], np.arange(blocks + 1))
        for start, stop in pairwise(starts):
            own = order[start:stop]
            leads += WHOLE_VOTE * _signs(fit, X[own], np.array(y[own].tolist()), width).astype(np.int64)
    silent = np.zeros(int(intercept), np.int64)
    return Votes(np.concatenate([silent, leads]), partitions, blocks, columns, study)


def fit_unheard(fit: FitBlock, X: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
    """The coefficients that a block finds, in silence and with a chance of its own; what the estimator raises is raised."""
    with _TURN, _unheard(), _own_chance():
        return np.asarray(fit(X, y).coef_, dtype=np.float64).reshape(-1)


def _signs(fit: FitBlock, X: NDArray[np.float64], y: NDArray[Any], width: int) -> NDArray[np.float64]:
    """The signs of the coefficients; all zero where there are none. Nothing is raised or told because of rows."""
    nothing = np.zeros(width)
    if len(X) < 2:
        return nothing
    try:
        found = fit_unheard(fit, X, y)
    except Exception:
        return nothing
    constant = (X == X[0]).all(axis=0)
    return np.where(constant, 0.0, np.sign(found)) if found.shape == (width,) and np.isfinite(found).all() else nothing


@contextmanager
def _unheard() -> Iterator[None]:
    """What an estimator prints, logs or warns of may tell of rows."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


@contextmanager
def _own_chance() -> Iterator[None]:
    """Fresh seeds for the generators that a program shares: how much one block draws must not reach the next.

    Whoever had seeded them finds them as they were. No noise of ours comes from them.
    """
    before = random.getstate(), np.random.get_state()  # noqa: TID251
    random.seed(os.urandom(32))
    np.random.seed(np.frombuffer(os.urandom(32), dtype=np.uint32))  # noqa: TID251
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: TID251
