"""Private. Sums of products of grid integers: exact, whatever the order and the chunks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.assumptions import Assumptions
from dpselect.assume.sensitivity import MAXIMUM_ROWS
from dpselect.errors import DataError
from dpselect.gather.grid import Cells, design_rows
from dpselect.gather.moments import Moments

CHUNK = 8192
"""Rows whose products a double can hold: 2^13 rows of products up to 2^40 stay within 2^53, so BLAS is exact in any order."""


class Accumulator:
    """Private. Adds batches of cells to the moments of one table."""

    def __init__(self, assumptions: Assumptions) -> None:
        self._assumptions = assumptions
        width = len(assumptions.columns) + 1
        self._products: NDArray[np.object_] = np.zeros((width, width), dtype=object)
        self._n = 0

    def __repr__(self) -> str:
        return "Accumulator(values=<private>)"

    def add(self, cells: Cells) -> None:
        """Add a batch of rows, of any length."""
        rows = len(cells[self._assumptions.response.name])
        for start in range(0, rows, CHUNK):
            piece = {name: values[start : start + CHUNK] for name, values in cells.items()}
            design = design_rows(piece, self._assumptions)
            self._products = self._products + (design.T @ design).astype(np.int64).astype(object)
        self._n += rows

    def moments(self) -> Moments:
        """The moments of all rows added so far."""
        if self._n == 0 and self._assumptions.neighbors == "replace-one":
            raise DataError("The table has no rows; give at least one.")
        if self._n > MAXIMUM_ROWS:
            raise DataError(
                f"The table has more than {MAXIMUM_ROWS:,} rows, the most that dpselect's error bounds cover."
            )
        names = tuple(column.name for column in self._assumptions.columns)
        return Moments(self._n, self._products, names, self._assumptions.hash)
