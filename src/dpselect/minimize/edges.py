"""Private. Block sums of every family to leads: each column beside every set of terms that it is not in."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import Candidates, columns_of
from dpselect.assume.edge_rule import EdgeRule, all_sets, common_columns, voted_terms
from dpselect.errors import DataError
from dpselect.gather.block_sums import BlockSums, WholeSums
from dpselect.gather.threads import MAX_THREADS, cores
from dpselect.minimize.edges_numpy import Prepared, prepare, set_votes
from dpselect.minimize.votes import EXACT_SQUARES, ROUNDED_SQUARES, Backend, _lanes

try:
    from dpselect.minimize import _edges
except ImportError:  # no compiler was there; the NumPy twin serves
    _edges = None  # type: ignore[assignment]

LANE_NUMBERS = 2**18
"""Numbers of prepared blocks that a thread holds at a time: about what its cache has room for."""
THREAD_VOTES = 2**18
"""Votes that are worth a thread."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class EdgeLeads:
    """Private. The lead of every column beside every set of at most `top` terms, in 64ths of a vote.

    `leads` is (sets, columns of the study) in the order of `sets`; these are masks of terms and public, as `terms` is, the columns
    of each term. A column of the set itself leads by 0, and so does one that every model has.
    """

    leads: NDArray[np.int64]
    sets: NDArray[np.int64]
    terms: tuple[tuple[int, ...], ...]
    blocks: tuple[int, ...]
    partitions: int

    def __repr__(self) -> str:
        return f"EdgeLeads(sets={len(self.sets)}, values=<private>)"


def count_edges(
    families: Sequence[BlockSums],
    rule: EdgeRule,
    candidates: Candidates,
    *,
    backend: Backend | None = None,
    threads: int | None = None,
) -> EdgeLeads:
    """The votes of all families, one for each size of set, added up.

    A vote is a function of the sums of its own block, which are one of the set of its rows, and of public numbers; `edges_numpy`
    says which. Nothing is raised, warned or logged because of a sum.

    Tested: tests/minimize/test_edges.py
    """
    if [(each.blocks, each.partitions) for each in families] != [(blocks, rule.partitions) for blocks in rule.blocks]:
        raise DataError("The blocks were added up by another rule.")
    terms, common = voted_terms(candidates), columns_of(common_columns(candidates))
    found = [
        _family_leads(sums, rule.ridges[size], terms, common, size, backend, threads)
        for size, sums in enumerate(families)
    ]
    sets = np.array(all_sets(len(terms), rule.top), np.int64)
    return EdgeLeads(np.concatenate(found), sets, terms, rule.blocks, rule.partitions)


def _family_leads(
    sums: BlockSums,
    ridge: float,
    terms: tuple[tuple[int, ...], ...],
    common: tuple[int, ...],
    size: int,
    backend: Backend | None,
    threads: int | None,
) -> NDArray[np.int64]:
    """The leads (sets, columns) of all sets of `size` terms, of one family."""
    if sums.intercept == "candidate":
        raise DataError("Edge votes need an intercept that is always in the model.")
    offset = int(sums.intercept == "always")  # the intercept's column, which (1, x, y) has for its one
    columns = len(sums.columns) - offset
    own = [[column - offset for column in term] for term in terms]
    forced = [column - offset for column in common if column >= offset]
    table = sums.sums.table if isinstance(sums.sums, WholeSums) else sums.sums.slices
    flat = table.reshape(sums.partitions * sums.blocks, *table.shape[2:])
    exact = EXACT_SQUARES if isinstance(sums.sums, WholeSums) else ROUNDED_SQUARES
    least = exact if offset else 0.0
    widths = sorted(map(len, own))
    sweeps = len(forced) + sum(widths[:size]), len(forced) + sum(widths[len(own) - size :])
    compiled = _edges is not None if backend is None else backend == "c"
    if compiled and _edges is None:
        raise RuntimeError("The compiled edge votes were not built here.")
    numbers = columns * columns + 3 * (sweeps[1] + 1) * columns + 4 * flat[0].size
    if threads is None:
        votes = len(flat) * comb(len(terms), size) * columns
        threads = min(cores(), MAX_THREADS, 1 + votes // THREAD_VOTES)
    most = min(-(-len(flat) // threads), max(4, LANE_NUMBERS // numbers))
    ranges = [flat[start : start + most] for start in range(0, len(flat), most)]

    def leads_of(some: NDArray[Any]) -> NDArray[np.int64]:
        blocks = prepare(*_lanes(some, sums.width), sums.width, least, ridge, sweeps)
        return _block_leads(blocks, own, forced, size, sweeps[1], compiled)

    leads = np.zeros((comb(len(terms), size), len(sums.columns)), np.int64)
    if threads == 1 or len(ranges) == 1:
        for some in ranges:
            leads[:, offset:] += leads_of(some)
        return leads
    with ThreadPoolExecutor(threads) as pool:
        for found in pool.map(leads_of, ranges):
            leads[:, offset:] += found
    return leads


def _block_leads(
    blocks: Prepared, terms: list[list[int]], forced: list[int], size: int, sweeps: int, compiled: bool
) -> NDArray[np.int64]:
    """The votes of some blocks, added up: (sets, columns)."""
    if not compiled:
        return np.array([votes.sum(axis=1) for votes in set_votes(blocks, terms, forced, size)])
    leads = np.zeros((comb(len(terms), size), len(blocks.gram) - 1), np.int64)
    members = np.array([column for term in terms for column in term], np.int32)
    starts = np.cumsum([0, *map(len, terms)]).astype(np.int32)
    arrays = (blocks.gram, blocks.ridges, blocks.steep, blocks.mean, blocks.weight)
    gram, ridges, steep, mean, weight = map(np.ascontiguousarray, arrays)
    numbers = size, sweeps, blocks.fewest
    _edges.add_leads(gram, ridges, steep, mean, weight, members, starts, np.array(forced, np.int32), leads, *numbers)
    return leads
