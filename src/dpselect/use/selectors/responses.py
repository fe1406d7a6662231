"""Responses for any estimator: of one kind, so that no row's response depends on another's.

NumPy makes text of all numbers of a list in which one cell is text, and then every block of rows would hear of that one cell:
its fit would fail, or its classes be in another order.

Tested: tests/minimize/test_estimator_votes.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.errors import DataError

NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)


def cell_by_cell(y: Any) -> Any:
    """A list as an array in which every cell is what it was; anything else has types of its own."""
    return np.array(y, dtype=object) if isinstance(y, list | tuple) else y


def one_kind(y: NDArray[Any]) -> NDArray[Any]:
    """Numbers as doubles, or text; a mixture is refused, as cells that are missing are."""
    if y.dtype.kind in "biuf":
        with np.errstate(all="ignore"):  # a long double beyond every double would be told
            return y.astype(np.float64)
    if y.dtype.kind == "U":
        return y
    if y.dtype.kind != "O":
        raise DataError("y must hold numbers or text, and its type is of neither; correct it.")
    cells = y.tolist()
    if all(isinstance(cell, NUMBERS) for cell in cells):
        return np.array([_double(cell) for cell in cells])
    if all(isinstance(cell, str) for cell in cells):
        return y
    raise DataError("y must hold numbers alone, or text alone; correct it.")


def _double(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return float("inf")
