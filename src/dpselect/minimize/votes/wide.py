"""Private. Rows of wide tables, kept by block, to leads: a block votes on every column by itself, and no sums of products are made.

Pairs: a block of two rows votes with the sign of (x_i - x_k)(y_i - y_k), which is symmetric where x has nothing to do with y,
whatever their skewness: exchanging the two responses turns it, and is as likely. A block that has more rows, because rows were
dealt by chances of their own or persons have several, votes with the mean over neighbours in a ring; every one of these is as
symmetric.

Dual blocks: Z are the centred ranks of each column within the block, y those of its response, and K = ZZ'/(trace/rows) + .05, a
matrix of a few rows. The block votes with the sign of Z'w, w = K^-3 y. K^-1 would be ridge regression in the dual; the cube takes
off what many columns share, whose eigenvalue is many times that of the others. Turned ranks of y are as likely as ranks, unless
there are ties on one side: so the vote is symmetric where y has none, and where x has none and is independent of other columns.
Where both have ties on one side, as rare cells and rare responses do, the sign is biased, the more so the more columns there are,
and the block votes on the column as a ring of pairs instead.

What the proof needs (`assume.lemmas.sensitivity.wide_range`): a block's votes are a function of the set of its own rows, bit for
bit. Comparisons, ranks and signs are exact, and sums of products of ranks are in any order. What is left are divisions and roots
of a few numbers a block, done element by element in the order of the rows' digests, which is a function of the rows themselves.
So neither the other blocks of a batch, nor the machine's way of adding, nor the order of rows can enter.

Tested: tests/minimize/votes/test_wide.py, tests/claims/test_wide_range.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.assume.wide_rule import PAIR_ROWS, WideRule
from dpselect.errors import DataError
from dpselect.gather.dealing import NOWHERE
from dpselect.gather.wide_rows import WideRows
from dpselect.minimize.votes.votes import Votes

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Places = NDArray[np.intp]
Bytes = NDArray[np.int8]

CELLS_AT_ONCE = 2**21
"""Cells of the blocks that are looked at together."""
MOST_TOGETHER = 120
"""Blocks whose votes are added up in 16 bits."""
RIDGE = 0.05
"""Of the mean of K's diagonal."""
POWER = 3
EXACT_SINGLE = 2**24
"""Whole numbers up to this are exact in single precision."""
SMALLEST_DUAL, LARGEST_DUAL = 4, 24
"""Rows of a block that is judged by ranks; smaller and larger ones, where sizes vary, vote as rings of pairs."""


def count_wide(rows: WideRows, rule: WideRule) -> Votes:
    """The leads of all columns over all blocks and dealings, in 64ths of a vote."""
    if (rows.size, rows.blocks, rows.partitions) != (rule.size, rule.blocks, rule.partitions):
        raise DataError("The rows were split by another rule than is stated.")
    leads = np.zeros(rows.cells.shape[1], np.int64)
    votes = pair_votes if rule.size == PAIR_ROWS else dual_votes
    with np.errstate(all="ignore"):  # whatever the program has set: no exception or warning may depend on a cell
        for dealt in rows.dealt:
            for places in blocks_by_size(dealt):
                for some in _batches(places, rows.cells.shape[1]):
                    # So few blocks at a time that 16 bits hold the sum.
                    leads += votes(rows.cells, rows.response, some).sum(axis=0, dtype=np.int16)
    whole = np.zeros(len(rows.columns), np.int64)
    whole[len(rows.columns) - len(leads) :] = leads  # an intercept has no votes
    return Votes(whole, rule.partitions, rule.blocks, rows.columns, rows.study)


def blocks_by_size(dealt: NDArray[np.uint32]) -> Iterator[Places]:
    """The rows of all blocks of one size, a line a block, for each size; in a block they keep their order."""
    order = np.argsort(dealt, kind="stable")
    order = order[: np.count_nonzero(dealt != NOWHERE)]
    _, starts, sizes = np.unique(dealt[order], return_index=True, return_counts=True)
    for size in np.unique(sizes).tolist():
        if size >= PAIR_ROWS:
            yield order[starts[sizes == size][:, None] + np.arange(size)]


def _batches(places: Places, columns: int) -> Iterator[Places]:
    most = max(1, min(CELLS_AT_ONCE // (columns * places.shape[1]), MOST_TOGETHER))
    return (places[start : start + most] for start in range(0, len(places), most))


def pair_votes(cells: Singles, response: Doubles, places: Places) -> Bytes:
    """The votes of some blocks of one size on each column, in 64ths: (blocks, columns)."""
    if places.shape[1] > PAIR_ROWS:
        return ring_votes(cells, response, places)
    first, second = response[places[:, 0]], response[places[:, 1]]
    upper, lower = np.where(first > second, *places.T), np.where(first > second, *places.T[::-1])
    votes = _signs(cells[upper], cells[lower])
    votes[first == second] = 0
    votes *= np.int8(WHOLE_VOTE)
    return votes


def ring_votes(cells: Singles, response: Doubles, places: Places) -> Bytes:
    """Each block's mean over neighbours in a ring of sign((x_i - x_k)(y_i - y_k)), in 64ths: (blocks, columns)."""
    size = places.shape[1]
    ways = np.zeros((len(places), cells.shape[1]), np.int32)
    for place in range(size):
        one, other = places[:, place], places[:, (place + 1) % size]
        ways += _signs(cells[one], cells[other]) * _signs(response[one], response[other])[:, None]
    return np.asarray(np.rint(ways * (WHOLE_VOTE / size)), np.int8)


def _signs(one: NDArray[np.floating], other: NDArray[np.floating]) -> Bytes:
    return (one > other).view(np.int8) - (one < other).view(np.int8)


def dual_votes(cells: Singles, response: Doubles, places: Places) -> Bytes:
    """The votes of some blocks of one size on each column, in 64ths: (blocks, columns)."""
    size = places.shape[1]
    if not SMALLEST_DUAL <= size <= LARGEST_DUAL:
        return ring_votes(cells, response, places)
    ranks = _ranks([cells[places[:, place]] for place in range(size)])
    own = _ranks([response[places[:, place]] for place in range(size)])
    weights = _weights(_inner(ranks), [each.astype(np.float64) for each in own])
    total = np.zeros(ranks[0].shape, np.float32)
    for rank, weight in zip(ranks, weights, strict=True):
        total += rank * weight.astype(np.float32)[:, None]  # whole numbers, less than 2^24 together
    votes = _signs(total, np.zeros(1, np.float32))
    votes *= np.int8(WHOLE_VOTE)
    lopsided = np.flatnonzero(_cubes(own) != 0)
    if len(lopsided):
        both = _cubes([rank[lopsided] for rank in ranks]) != 0
        votes[lopsided] = np.where(both, ring_votes(cells, response, places[lopsided]), votes[lopsided])
    return votes


def _ranks(values: Sequence[NDArray[np.floating]]) -> list[Bytes]:
    """How many of a block's other values are smaller than each, less how many are larger: ranks about their mean, doubled."""
    ranks = [np.zeros(each.shape, np.int8) for each in values]
    for one in range(len(values)):
        for other in range(one):
            sign = _signs(values[one], values[other])
            ranks[one] += sign
            ranks[other] -= sign
    return ranks


def _cubes(ranks: Sequence[Bytes]) -> NDArray[np.int32]:
    """The sum of cubes of ranks, which is zero unless ties lie on one side."""
    total = np.zeros(ranks[0].shape, np.int32)
    for rank in ranks:
        wide = rank.astype(np.int32)
        total += wide * wide * wide
    return total


def _inner(ranks: Sequence[Bytes]) -> list[list[Doubles]]:
    """ZZ' of each block: products of ranks below 24, so few that their sum is exact in single precision."""
    whole = np.stack(ranks, axis=1).astype(np.float32)
    products = np.matmul(whole, whole.transpose(0, 2, 1)).astype(np.float64)
    return [[products[:, i, k] for k in range(i + 1)] for i in range(len(ranks))]


def _centred(values: Sequence[Doubles]) -> list[Doubles]:
    """The values of each block without their mean, the largest of size 1; zero where they are all the same."""
    total = values[0]
    for each in values[1:]:
        total = total + each
    values = [each - total / len(values) for each in values]
    largest = np.abs(values[0])
    for each in values[1:]:
        largest = np.maximum(largest, np.abs(each))
    usable = (largest > 0) & np.isfinite(largest)
    return [np.where(usable, each / np.where(usable, largest, 1.0), 0.0) for each in values]


def _weights(inner: list[list[Doubles]], response: list[Doubles]) -> list[Doubles]:
    """W = K^-3 y of each block in whole steps, one array a row of the block: by Cholesky's factor, element by element."""
    size = len(response)
    trace = inner[0][0]
    for place in range(1, size):
        trace = trace + inner[place][place]
    mean = np.where(trace > 0, trace, 1.0) / size
    factor: list[list[Doubles]] = []
    for i in range(size):
        row: list[Doubles] = []
        for k in range(i + 1):
            left = inner[i][k] / mean + (RIDGE if i == k else 0.0)
            for m in range(k):
                left = left - row[m] * (row[m] if k == i else factor[k][m])
            row.append(np.sqrt(left) if k == i else left / factor[k][k])
        factor.append(row)
    for _ in range(POWER):
        # Centred again: K has no say about a constant, and its inverse would blow up what rounding makes of one.
        response = _centred(_solved(factor, response))
    steps = float(EXACT_SINGLE // (size * size))
    return [np.where(np.isfinite(each), np.rint(each * steps), 0.0) for each in response]


def _solved(factor: list[list[Doubles]], values: list[Doubles]) -> list[Doubles]:
    """The solution of LL'b = v, in each block."""
    size, found = len(values), list(values)
    for i in range(size):
        for k in range(i):
            found[i] = found[i] - factor[i][k] * found[k]
        found[i] = found[i] / factor[i][i]
    for i in reversed(range(size)):
        for k in range(i + 1, size):
            found[i] = found[i] - factor[k][i] * found[k]
        found[i] = found[i] / factor[i][i]
    return found
