"""Private. Block sums to leads: the votes of each family of blocks on each column beside every set of k terms that it is not in.

One lane a block, so that none can see another.

A block's sums are centred by its own means and scaled to one as for whole-model votes (`votes_numpy`): G for columns and response.
For a set S the columns of its terms (and those that every model has) are swept out of G, one after another:

    A <- A - a a' / (a_c + own)     a the column of A that is swept out, a_c its entry on the diagonal; not where a_c <= 1e-9
    own = stated ridge (1 - q)^16,  q^2 the mean of the fourth powers of the live columns' correlations with the response

What is left of a column j outside S and of the response y gives, with s columns of S that are not constant in a block of r rows,

    z_j = A_jy / sqrt(A_jj A_yy / (r - 1 - s)),     kappa_j = gamma_j gamma_y 1.4 (1 - s/r)^1.5 r sqrt(r - 1)/(r - 2)
    c_j = 1.5 min(1, |kappa_j|),   vote_j = (clip(z_j/c_j, -1, 1) - mu_j) / (1 + |mu_j|), the sign of A_jy where c_j < .02

in whole 64ths, mu_j the mean of clip(z/c_j) for an idle column, all as in `votes_numpy`; 0 where nothing is left of j
or y. No vote is more than 1 in size, for |clip - mu| <= 1 + |mu|. Without an intercept nothing is centred, and r stands for r - 1.

c, mu and what divides them depend on a block, a column and s alone: they are tables, made once for all sets, of the s that occur.
The sweeps go depth first through the sets in order, so that a set costs one sweep. The compiled twin, _edges.c, does the same
double operations in the same order from the same tables: the votes are the same to the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import Candidates, columns_of
from dpselect.assume.edge_rule import EdgeRule, all_sets, common_columns, voted_terms
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.errors import DataError
from dpselect.gather.blocks import BlockSums, lanes_of
from dpselect.gather.rows import MAX_THREADS, cores
from dpselect.minimize.votes.lanes import (
    LEAST_FREEDOM,
    UNSEEN,
    Backend,
    Floats,
    ScaledBlocks,
    at_least,
    between,
    by_threads,
    flat_sums,
    mean_of_idle,
    scaled_blocks,
    softness,
    total,
    whole_votes,
)

try:
    from dpselect.minimize.votes import _edges
except ImportError:  # no compiler was there; the NumPy twin serves
    _edges = None  # type: ignore[assignment]

LEAST_COLUMN_SHARE = 1e-9
"""Share of a column's square below which nothing is left of it."""
STEEPEST = 1e300
"""Makes a sign of any number."""
LANE_NUMBERS = 2**18
"""Numbers of prepared blocks that a thread holds at a time: about what its cache has room for."""
THREAD_VOTES = 2**18
"""Votes that are worth a thread."""


@dataclass(frozen=True, slots=True, repr=False)
class Prepared:
    """Private. Blocks ready to be swept, one a lane: G, own ridges, and tables (swept columns, columns, lanes) for their votes.

    The first line of a table is for `fewest` columns that are swept out.
    """

    gram: Floats
    ridges: Floats
    fewest: int
    steep: Floats
    mean: Floats
    weight: Floats

    def __repr__(self) -> str:
        return "Prepared(values=<private>)"


def prepare(high: Floats, low: Floats, width: int, least: float, ridge: float, sweeps: tuple[int, int]) -> Prepared:
    """Blocks from their sums (sums, lanes) as `lanes.scaled_blocks` takes them; `least` is 0 where nothing is to be centred.

    Sets have from `sweeps[0]` to `sweeps[1]` columns, and as many are swept out, less those that are constant in the block.
    """
    with np.errstate(all="ignore"):  # whatever the program has set: no exception may depend on a row
        scaled = scaled_blocks(high, low, width, least)
        live = scaled.live
        constant = np.count_nonzero(~live[:, live[-1]], axis=0).max(initial=0)  # of blocks that have a vote
        fewest = max(sweeps[0] - int(constant), 0)
        swept = np.arange(fewest, sweeps[1] + 1.0)[:, None]
        tables = _tables(scaled, swept, 1.0 if least > 0 else 0.0)
        return Prepared(scaled.gram, _ridges(scaled.gram, live, ridge), fewest, *tables)


def _ridges(gram: Floats, live: NDArray[np.bool_], stated: float) -> Floats:
    """The ridge of every lane: the stated one, the less of it the more the columns go along with the response.

    What a ridge leaves of a strong column's effect goes to the columns that follow it, in every block alike. So a block in which
    much is explained has next to none. Fourth powers, so that one strong column among idle ones is seen: with the mean of squares
    columns that follow it were selected in tables of 1,000 and 2,000 rows (`benchmarks.null`).
    """
    cross = gram[:-1, -1]
    count = total(np.where(live[:-1], 1.0, 0.0))
    squares = cross * cross
    left = at_least(1.0 - np.sqrt(total(squares * squares) / at_least(count, 1.0)), 0.0)
    fourth = left * left * (left * left)
    eighth = fourth * fourth
    ridges: Floats = stated * (eighth * eighth)
    return ridges


def _tables(blocks: ScaledBlocks, swept: Floats, means: float) -> tuple[Floats, Floats, Floats]:
    """How steep a vote is in z, its mean for an idle column, and what it is multiplied by; for `swept` columns swept out."""
    rows, skew, base = blocks.rows, blocks.skew, blocks.rows - means
    left, several = at_least(1.0 - swept / rows, 0.0), base - 1.0
    product = left * np.sqrt(left) * rows * np.sqrt(base) / np.where(several > 0, several, 1.0)
    kappa = skew[:-1] * (np.where(several > 0, UNSEEN * product, 0.0) * skew[-1])[:, None, :]
    c, soft = softness(kappa)
    freedom = np.sqrt(at_least(base - swept, LEAST_FREEDOM))[:, None, :]
    steep = np.where(soft, freedom / np.where(soft, c, 1.0), STEEPEST)
    mean = np.where(soft, mean_of_idle(kappa, np.where(soft, c, 1.0)), 0.0)
    return steep, mean, WHOLE_VOTE / (1.0 + np.abs(mean))


def set_votes(
    blocks: Prepared, terms: Sequence[Sequence[int]], forced: Sequence[int], size: int
) -> Iterator[NDArray[np.int64]]:
    """The votes (columns, lanes) in 64ths beside every set of `size` terms, in the order of the sets; 0 for its own columns."""
    with np.errstate(all="ignore"):
        live = np.einsum("jjl->jl", blocks.gram) > 0
        gram, swept = blocks.gram, np.zeros(blocks.gram.shape[2], dtype=np.int64)
        for column in forced:
            gram, swept = _swept(gram, column, blocks.ridges), swept + live[column]
        yield from _visit(blocks, gram, swept, live, terms, 0, size)


def _visit(
    blocks: Prepared,
    gram: Floats,
    swept: NDArray[np.int64],
    live: NDArray[np.bool_],
    terms: Sequence[Sequence[int]],
    first: int,
    missing: int,
) -> Iterator[NDArray[np.int64]]:
    if missing == 0:
        yield _votes(blocks, gram, swept)
        return
    for term in range(first, len(terms) - missing + 1):
        here, count = gram, swept
        for column in terms[term]:
            here, count = _swept(here, column, blocks.ridges), count + live[column]
        yield from _visit(blocks, here, count, live, terms, term + 1, missing - 1)


def _swept(gram: Floats, column: int, ridges: Floats) -> Floats:
    """One column swept out; of the result only the upper triangle counts."""
    row = np.concatenate([gram[:column, column], gram[column, column:]])
    some = row[column] > LEAST_COLUMN_SHARE
    inverse = np.where(some, 1.0 / np.where(some, row[column] + ridges, 1.0), 0.0)
    left: Floats = gram - (row * inverse)[:, None] * row[None, :]
    left[column, :] = left[:, column] = 0.0
    return left


def _votes(blocks: Prepared, gram: Floats, swept: NDArray[np.int64]) -> NDArray[np.int64]:
    own, left, rest = np.einsum("jjl->jl", gram)[:-1], gram[:-1, -1], gram[-1, -1]
    counts = (own > LEAST_COLUMN_SHARE) & (rest > LEAST_COLUMN_SHARE)
    lines, lanes = np.maximum(swept - blocks.fewest, 0), np.arange(len(swept))
    steep, mean, weight = (table[lines, :, lanes].T for table in (blocks.steep, blocks.mean, blocks.weight))
    z = left / np.sqrt(np.where(counts, own * rest, 1.0)) * steep
    return whole_votes((between(z, 1.0) - mean) * weight, counts).astype(np.int64)


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

    A vote is a function of the sums of its own block, which are one of the set of its rows, and of public numbers; the head of
    this file says which. Nothing is raised, warned or logged because of a sum.

    Tested: tests/minimize/votes/test_edges.py
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
    flat, least = flat_sums(sums)
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
        blocks = prepare(*lanes_of(some, sums.width), sums.width, least if offset else 0.0, ridge, sweeps)
        return block_leads(blocks, own, forced, size, sweeps[1], compiled)

    leads = np.zeros((comb(len(terms), size), len(sums.columns)), np.int64)
    for found in by_threads(leads_of, ranges, threads):
        leads[:, offset:] += found
    return leads


def is_compiled() -> bool:
    """Whether the compiled twin is there."""
    return _edges is not None


def block_leads(
    blocks: Prepared, terms: list[list[int]], forced: list[int], size: int, sweeps: int, compiled: bool
) -> NDArray[np.int64]:
    """The votes of some blocks beside every set of `size` terms and what is `forced`, added up: (sets, columns)."""
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
