"""Private. Exact sums of products and cubes by partition and block: all that the votes need.

They are added up by compiled loops, or by their NumPy twin where there was no compiler: the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study import Intercept, Study
from dpselect.errors import DataError
from dpselect.gather import block_numpy
from dpselect.gather.block_numpy import (
    BINNED_CUBES,
    CUBE_UNIT,
    LOWEST,
    SLICES,
    WHOLE_CUBES,
    Places,
    merge_bins,
)
from dpselect.gather.grid import compiled_function

_sort_rows = compiled_function("_blocks", "sort_rows")
_take_rows = compiled_function("_blocks", "take_rows")
_add_whole = compiled_function("_blocks", "add_whole") or block_numpy.add_whole
_add_binned = compiled_function("_blocks", "add_binned") or block_numpy.add_binned

BYTES_ON_THE_GRID = 8
BYTES_IN_BINS = 8 * SLICES + 1


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WholeSums:
    """Private. Sums of products and cubes of grid integers, (partitions, blocks, numbers)."""

    table: NDArray[np.int64]

    def __repr__(self) -> str:
        return "WholeSums(values=<private>)"

    def __add__(self, other: WholeSums) -> WholeSums:
        return WholeSums(self.table + other.table)

    def add(
        self, partition: int, rows: NDArray[np.int32], order: Places, starts: Places, first: int, last: int
    ) -> None:
        """Add the rows of some blocks of a partition, sorted by block."""
        _add_whole(rows, order, starts, self.table[partition], first, last)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BinnedSums:
    """Private. Sums of products and cubes of doubles in bins: tops (partitions, blocks, numbers), slices (.., SLICES, numbers)."""

    tops: NDArray[np.int8]
    slices: NDArray[np.float64]

    def __repr__(self) -> str:
        return "BinnedSums(values=<private>)"

    def __add__(self, other: BinnedSums) -> BinnedSums:
        return BinnedSums(*merge_bins(self.tops, self.slices, other.tops, other.slices))

    def add(
        self, partition: int, rows: NDArray[np.float64], order: Places, starts: Places, first: int, last: int
    ) -> None:
        """Add the rows of some blocks of a partition, sorted by block."""
        tops, slices = self.tops[partition], self.slices[partition]
        _add_binned(rows, order, starts, tops, slices, first, last)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BlockSums:
    """Private. The sums of every block; `a + b` pools the rows of two tables that were assigned alike.

    `columns` and `intercept` are those of the study, `study` its hash: public. `n` counts the rows that were read, those that
    count in no block among them.
    """

    sums: WholeSums | BinnedSums
    n: int
    partitions: int
    blocks: int
    columns: tuple[str, ...]
    intercept: Intercept
    study: str

    def __repr__(self) -> str:
        return f"BlockSums(partitions={self.partitions}, blocks={self.blocks}, values=<private>)"

    def __add__(self, other: BlockSums) -> BlockSums:
        if not isinstance(other, BlockSums):
            return NotImplemented
        public = [(each.partitions, each.blocks, each.columns, each.study) for each in (self, other)]
        if public[0] != public[1]:
            raise DataError("These block sums were gathered under different rules and cannot be pooled.")
        sums = self.sums + other.sums  # type: ignore[operator]
        rest = (self.partitions, self.blocks, self.columns, self.intercept, self.study)
        return BlockSums(sums, self.n + other.n, *rest)

    @property
    def width(self) -> int:
        """Entries of (1, x, y)."""
        return len(self.columns) - (self.intercept != "none") + 2


def is_on_grid(study: Study) -> bool:
    """Whether every variable has bounds, so that all sums are of whole numbers."""
    return not study.unbounded


def row_width(study: Study) -> int:
    """Entries of (1, x, y): the intercept is the one, stated or not."""
    return sum(bool(column.factors) for column in study.columns) + 2


def sums_bytes(study: Study, blocks: int, partitions: int) -> int:
    """Memory that the sums need."""
    each = BYTES_ON_THE_GRID if is_on_grid(study) else BYTES_IN_BINS
    return blocks * partitions * _numbers(study) * each


def _numbers(study: Study) -> int:
    return count_numbers(row_width(study), WHOLE_CUBES if is_on_grid(study) else BINNED_CUBES)


def empty_sums(study: Study, blocks: int, partitions: int) -> BlockSums:
    """The sums of no rows."""
    shape = (partitions, blocks, _numbers(study))
    sums: WholeSums | BinnedSums
    if is_on_grid(study):
        sums = WholeSums(np.zeros(shape, dtype=np.int64))
    else:
        slices = np.zeros((partitions, blocks, SLICES, shape[2]))
        sums = BinnedSums(np.full(shape, LOWEST, dtype=np.int8), slices)
    names = tuple(column.name for column in study.columns)
    return BlockSums(sums, 0, partitions, blocks, names, study.intercept, study.hash)


def count_numbers(width: int, cubes: int) -> int:
    """Sums of a block: the upper triangle of (1, x, y), then so many numbers for the cubes of each of x and y."""
    return width * (width + 1) // 2 + cubes * (width - 1)


def sort_rows(ids: Places, blocks: int) -> tuple[Places, Places]:
    """Where each block starts, and the rows sorted by block."""
    if _sort_rows is None:
        return block_numpy.sort_rows(ids, blocks)
    starts, order = np.empty(blocks + 1, dtype=np.uint32), np.empty(len(ids), dtype=np.uint32)
    _sort_rows(ids, starts, order)
    return starts, order


def take_rows(work: NDArray[np.float64], lines: NDArray[np.int64], out: NDArray[Any]) -> None:
    """Lines of a design, one a column, to rows."""
    if _take_rows is None:
        out[:] = work[lines].T
    else:
        _take_rows(work, lines, out)


def lanes_of(flat: NDArray[Any], width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums as doubles and what they leave out, (sums, lanes) each; the two parts of a cube on the grid as one."""
    with np.errstate(all="ignore"):
        if flat.dtype == np.int64:
            high: NDArray[np.float64] = flat.astype(np.float64)
            # Of a block that is too long to count, the largest sum may be 2^63 as a double.
            back = np.where(high < 2.0**63, high, 0.0).astype(np.int64)
            low = (flat - back).astype(np.float64)
            coarse, rests = slice(-2 * (width - 1), 1 - width), slice(1 - width, None)
            cubes = _settled(CUBE_UNIT * high[:, coarse], high[:, rests], CUBE_UNIT * low[:, coarse] + low[:, rests])
            high[:, coarse], low[:, coarse] = cubes
            high, low = high[:, : 1 - width], low[:, : 1 - width]
        else:
            high, low = _settled(*(flat[:, s] for s in range(3)))
    return high.T, low.T


def _settled(
    first: NDArray[np.float64], second: NDArray[np.float64], third: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Three doubles, each far below the one before or of its size, as one and what it leaves out."""
    total = first + second
    part = total - first
    rest = ((first - (total - part)) + (second - part)) + third
    high = total + rest
    return high, rest - (high - total)
