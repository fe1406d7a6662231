"""Private. The door to the compiled block sums, or to their NumPy twin where there was no compiler: the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.gather import block_numpy
from dpselect.gather.block_numpy import Places
from dpselect.gather.grid import compiled_function

_sort_rows = compiled_function("_blocks", "sort_rows")
_take_rows = compiled_function("_blocks", "take_rows")
_add_whole = compiled_function("_blocks", "add_whole")
_add_binned = compiled_function("_blocks", "add_binned")


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


def add_whole(
    rows: NDArray[np.int32], order: Places, starts: Places, table: NDArray[np.int64], first: int, last: int
) -> None:
    """See `block_numpy.add_whole`."""
    (_add_whole or block_numpy.add_whole)(rows, order, starts, table, first, last)


def add_binned(
    rows: NDArray[np.float64],
    order: Places,
    starts: Places,
    tops: NDArray[np.int8],
    slices: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    """See `block_numpy.add_binned`."""
    (_add_binned or block_numpy.add_binned)(rows, order, starts, tops, slices, first, last)
