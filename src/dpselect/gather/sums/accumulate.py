"""Private. Sums of products of grid integers: exact, whatever the order and the chunks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.sums.grid import Cells, Design
from dpselect.gather.sums.moments import Moments, named, sound

CHUNK = 8192
"""Rows whose products a double can hold: 2^13 rows of products up to 2^40 stay within 2^53, so BLAS is exact in any order."""

CHUNKS_AT_ONCE = 512
"""Chunks whose sums an int64 can hold: 2^9 of at most 2^53 each stay within 2^62; then they move to Python's integers."""


class Accumulator:
    """Private. Adds batches of cells to the moments of one table."""

    def __init__(self, assumptions: Assumptions) -> None:
        self._assumptions = assumptions
        self._design = Design(assumptions, CHUNK)
        width = len(assumptions.columns) + 1
        self._products: NDArray[np.object_] = np.zeros((width, width), dtype=object)
        self._recent: NDArray[np.int64] | None = None
        self._chunks = 0
        self.rows = 0

    def __repr__(self) -> str:
        return "Accumulator(values=<private>)"

    def add(self, cells: Cells) -> None:
        """Add a batch of rows, of any length."""
        rows = len(cells[self._assumptions.response.name])
        for start in range(0, rows, CHUNK):
            stop = min(start + CHUNK, rows)
            self.add_chunk(self._design.chunk(cells, start, stop), cells, start, stop)

    def add_chunk(self, work: NDArray[np.float64], cells: Cells, start: int, stop: int) -> None:
        """Add rows that are on the grid already, as a `Design` of these assumptions puts them there."""
        products = (work @ work.T).astype(np.int64)
        self._recent = products if self._recent is None else self._recent + products
        self._chunks += 1
        if self._chunks % CHUNKS_AT_ONCE == 0:
            self._move()
        self.rows += stop - start

    def _move(self) -> None:
        if self._recent is not None:
            order = self._design.order
            self._products = self._products + self._recent[np.ix_(order, order)].astype(object)
            self._recent = None

    def partial(self) -> Moments:
        """The moments of the rows added so far, which may be none."""
        self._move()
        names = tuple(column.name for column in self._assumptions.columns)
        return sound(Moments(self.rows, self._products, names, self._assumptions.hash))

    def moments(self) -> Moments:
        """The moments of a whole table."""
        return checked(self.partial(), self._assumptions)


def exact_products(rows: NDArray[np.int32]) -> NDArray[np.object_]:
    """The products of rows of grid integers, as Python's integers."""
    total: NDArray[np.object_] = np.zeros((rows.shape[1], rows.shape[1]), dtype=object)
    for start in range(0, len(rows), CHUNK):
        piece = rows[start : start + CHUNK].astype(np.float64)
        total = total + (piece.T @ piece).astype(np.int64).astype(object)
    return total


def checked(moments: Moments, assumptions: Assumptions) -> Moments:
    """The moments of a whole table with a name of its own, refused if it is empty where n is public, or too long."""
    if moments.n == 0 and assumptions.neighbors == "replace-one":
        raise DataError("The table has no rows; give at least one.")
    if moments.n > MAXIMUM_ROWS:
        raise DataError(f"The table has more than {MAXIMUM_ROWS:,} rows, the most that dpselect's error bounds cover.")
    return named(moments)
