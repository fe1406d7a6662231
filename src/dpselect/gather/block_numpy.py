"""Private. Rows added to the sums of their blocks, in NumPy: exact, so that a sum depends on the set of its rows alone.

A row is (1, x, y); a block keeps the sums of all products of two entries, the upper triangle row by row, and the sum of the cubes
of every entry of x and y. On the grid products are whole numbers of at most 2^40, and int64 holds 2^22 of them. A cube has 60
bits: the square is cut into a multiple of 2^20 and the rest, each multiplied by the entry is again at most 2^40 (times 2^20, and
times 1), and the two are added up apart.

Where a variable has no bounds, a product p is the double nearest to the true one (a cube: that of the square's double with the
entry), a function of its row, and sums are kept in bins: bin t holds multiples of 2^32t, a product at most 2^31 of them.
The top bin of p is the first t with |p| <= 2^(32t+31);
there p is rounded to a multiple of the bin's unit, the rest to one of the next lower bin's, and so once more. In a bin above
its top p is rounded to zero (halves go to even), so its slices do not depend on where one begins. The top of a sum is the
highest of its products', and slices more than two bins below it are dropped, whenever the top is seen to rise. What is left in
the end is, for each of three bins, the sum of all products' slices there: a function of the set of rows, whatever the order,
the batches, the threads and the engine. A double holds it exactly up to 2^22 rows; what is dropped is less than 2^-64 of the
largest product for each row.

A block of more rows abstains (`minimize/votes/votes.py`), so nothing that rounds or wraps around here is ever looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.uint32]

SLICES = 3
LOWEST, HIGHEST = -24, 23
"""Bins that can be a top: products are 0 or between 1e-150 and 1e150 in size, cubes between 1e-225 and 1e225."""
CUBE_UNIT = 2**20
"""Of the coarser part of a cube on the grid."""
WHOLE_CUBES, BINNED_CUBES = 2, 1
"""Numbers of a sum of cubes: two parts on the grid, one sum in bins."""
PRODUCTS = 2**19
"""Products that are held at a time, about."""

_UNITS = np.arange(LOWEST, HIGHEST + 1)
_SHIFTS = np.ldexp(1.5, 32 * _UNITS + 52)
"""Added to a number and taken away again, they round it to a multiple of a bin's unit."""


def sort_rows(ids: Places, blocks: int) -> tuple[Places, Places]:
    """Where each block starts, and the rows sorted by block."""
    starts = np.zeros(blocks + 1, dtype=np.uint32)
    np.cumsum(np.bincount(ids, minlength=blocks), out=starts[1:])
    return starts, np.argsort(ids, kind="stable").astype(np.uint32)


def add_whole(
    rows: NDArray[np.int32], order: Places, starts: Places, table: NDArray[np.int64], first: int, last: int
) -> None:
    """Add the rows of the blocks first .. last-1 to their sums; (blocks, numbers)."""
    for blocks, cuts, products in _products(rows, order, starts, first, last):
        table[blocks] += np.add.reduceat(products, cuts, axis=0)


def add_binned(
    rows: NDArray[np.float64],
    order: Places,
    starts: Places,
    tops: NDArray[np.int8],
    slices: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    """The same for doubles: tops (blocks, numbers) and slices (blocks, SLICES, numbers)."""
    for blocks, cuts, products in _products(rows, order, starts, first, last):
        own_tops = top_bins(np.maximum.reduceat(np.abs(products), cuts, axis=0))
        own, rest = np.empty((len(blocks), SLICES, products.shape[1])), products
        lengths = np.diff([*cuts.tolist(), len(products)])
        for s in range(SLICES):
            shift = np.repeat(_SHIFTS[own_tops.astype(np.int64) - LOWEST] * 2.0 ** (-32 * s), lengths, axis=0)
            slice_ = (rest + shift) - shift
            own[:, s] = np.add.reduceat(slice_, cuts, axis=0)
            rest = rest - slice_
        merged_tops, merged = merge_bins(tops[blocks], slices[blocks], own_tops, own)
        tops[blocks], slices[blocks] = merged_tops, merged


def _products(rows: NDArray[Any], order: Places, starts: Places, first: int, last: int) -> Any:
    """(blocks with rows, where each begins, products and cubes of its rows), some rows at a time; a long block in pieces."""
    width = rows.shape[1] + 1
    left, right = np.triu_indices(width)
    some = max(1, PRODUCTS // len(left))
    whole = np.issubdtype(rows.dtype, np.integer)
    for begin in range(int(starts[first]), int(starts[last]), some):
        end = min(begin + some, int(starts[last]))
        picked = np.ones((end - begin, width), dtype=np.int64 if whole else np.float64)
        picked[:, 1:] = rows[order[begin:end]]
        inside = np.clip(starts[first : last + 1].astype(np.int64), begin, end)
        blocks = first + np.flatnonzero(np.diff(inside))
        cubes = _whole_cubes(picked[:, 1:]) if whole else picked[:, 1:] * picked[:, 1:] * picked[:, 1:]
        yield blocks, inside[blocks - first] - begin, np.hstack([picked[:, left] * picked[:, right], cubes])


def _whole_cubes(entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """The coarse parts in units of CUBE_UNIT, then the rests."""
    squares = entries * entries
    coarse = np.rint(squares / CUBE_UNIT).astype(np.int64)
    return np.hstack([entries * coarse, entries * (squares - CUBE_UNIT * coarse)])


def top_bins(sizes: NDArray[np.float64]) -> NDArray[np.int8]:
    """The first bin t with size <= 2^(32t+31)."""
    fraction, exponent = np.frexp(sizes)
    exponent = exponent - (fraction == 0.5)  # sizes up to 2^exponent
    tops = -((31 - exponent) // 32)
    return np.where(sizes > 0, np.clip(tops, LOWEST, HIGHEST), LOWEST).astype(np.int8)


def merge_bins(
    tops: NDArray[np.int8], slices: NDArray[np.float64], other_tops: NDArray[np.int8], other: NDArray[np.float64]
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Two partial sums as one: both moved to the higher top, what falls out dropped, and added."""
    highest = np.maximum(tops, other_tops)
    return highest, _moved(slices, highest - tops) + _moved(other, highest - other_tops)


def _moved(slices: NDArray[np.float64], bins: NDArray[np.int8]) -> NDArray[np.float64]:
    if not bins.any():
        return slices
    moved = np.zeros_like(slices)
    for by in range(SLICES):
        for s in range(by, SLICES):
            moved[..., s, :] = np.where(bins == by, slices[..., s - by, :], moved[..., s, :])
    return moved
