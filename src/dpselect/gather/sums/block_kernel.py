"""Private. The door to the compiled block sums, or to their NumPy twin where there was no compiler: the same numbers."""

from __future__ import annotations

from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.gather.sums import block_numpy
from dpselect.gather.sums.block_numpy import Places

_blocks: ModuleType | None = None
with suppress(ImportError):
    from dpselect.gather.sums import _blocks


def is_available() -> bool:
    """Whether the compiled kernel was built."""
    return _blocks is not None


def sort_rows(ids: Places, blocks: int) -> tuple[Places, Places]:
    """Where each block starts, and the rows sorted by block."""
    if _blocks is None:
        return block_numpy.sort_rows(ids, blocks)
    starts, order = np.empty(blocks + 1, dtype=np.uint32), np.empty(len(ids), dtype=np.uint32)
    _blocks.sort_rows(ids, starts, order)
    return starts, order


def take_rows(work: NDArray[np.float64], lines: NDArray[np.int64], out: NDArray[Any]) -> None:
    """Lines of a design, one a column, to rows."""
    if _blocks is None:
        out[:] = work[lines].T
    else:
        _blocks.take_rows(work, lines, out)


def add_whole(
    rows: NDArray[np.int32], order: Places, starts: Places, table: NDArray[np.int64], first: int, last: int
) -> None:
    """See `block_numpy.add_whole`."""
    add = block_numpy.add_whole if _blocks is None else _blocks.add_whole
    add(rows, order, starts, table, first, last)


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
    add = block_numpy.add_binned if _blocks is None else _blocks.add_binned
    add(rows, order, starts, tops, slices, first, last)
