"""Private. Block sums to votes: each block is fitted by itself, and says of each column which way it goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.gather.blocks import BlockSums, lanes_of
from dpselect.gather.rows import MAX_THREADS, cores
from dpselect.minimize.votes.lanes import Backend, by_threads, flat_sums
from dpselect.minimize.votes.votes_numpy import Fitting, lane_votes

try:
    from dpselect.minimize.votes import _votes
except ImportError:  # no compiler was there; the NumPy twin serves
    _votes = None  # type: ignore[assignment]

TOGETHER = 2**21
"""Numbers of the sums that NumPy holds as lanes at a time."""
NUMBERS_PER_THREAD = 2**21
"""Numbers of the sums that are worth a thread."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Votes:
    """Private. The lead of every column: the sum of its votes over all blocks and partitions, in 64ths of a vote.

    One entry a column of the study, in its order; an intercept that is always in has no votes and leads by 0. `columns`,
    `blocks`, `partitions` and `study` (the study's hash) are public.
    """

    leads: NDArray[np.int64]
    partitions: int
    blocks: int
    columns: tuple[str, ...]
    study: str

    def __repr__(self) -> str:
        return f"Votes(columns={len(self.columns)}, values=<private>)"


def count_votes(sums: BlockSums, *, ridge: float, backend: Backend | None = None, threads: int | None = None) -> Votes:
    """The votes of all blocks, added up."""
    votes = block_votes(sums, ridge=ridge, backend=backend, threads=threads)
    return Votes(votes.sum(axis=(0, 1), dtype=np.int64), sums.partitions, sums.blocks, sums.columns, sums.study)


def block_votes(
    sums: BlockSums, *, ridge: float, backend: Backend | None = None, threads: int | None = None
) -> NDArray[np.int8]:
    """Every block's votes (partitions, blocks, columns) in 64ths: from -64 to 64, and 0 where it abstains.

    A vote is a function of the sums of its own block, which are one of the set of its rows, and of public numbers; `votes_numpy`
    says which. A block that cannot be fitted abstains. Nothing is raised, warned or logged because of a sum.

    Tested: tests/minimize/votes/test_votes.py
    """
    flat, least = flat_sums(sums)
    has_intercept = sums.intercept != "none"
    fitted = np.zeros((len(flat), len(sums.columns)), dtype=np.int8)
    silent = sums.intercept == "always"
    votes = np.zeros((len(flat), len(sums.columns) - silent), dtype=np.int8) if silent else fitted
    how = Fitting(has_intercept, has_intercept and not silent, least if has_intercept else 0.0, float(ridge))
    compiled = _votes is not None if backend is None else backend == "c"
    _vote_all(flat, votes, sums.width, how, compiled, threads)
    if silent:
        fitted[:, 1:] = votes
    return fitted.reshape(sums.partitions, sums.blocks, -1)


def _vote_all(
    flat: NDArray[Any],
    votes: NDArray[np.int8],
    width: int,
    how: Fitting,
    compiled: bool,
    threads: int | None,
) -> None:
    """Ranges of blocks, one after another or a thread each: which block is in which range changes nothing."""
    if compiled and _votes is None:
        raise RuntimeError("The compiled votes were not built here.")
    numbers = flat[0].size
    if threads is None:
        threads = min(cores(), MAX_THREADS, 1 + flat.size // NUMBERS_PER_THREAD)
    most = -(-len(flat) // threads) if compiled else max(1, TOGETHER // (numbers * 4))
    ranges = [slice(start, start + most) for start in range(0, len(flat), most)]

    def vote(some: slice) -> None:
        if compiled:
            _votes.votes_of(flat[some], votes[some], width, *how)
        else:
            votes[some] = lane_votes(*lanes_of(flat[some], width), width, how)

    for _ in by_threads(vote, ranges, threads):
        pass
