"""Private. The exact second moments of a clipped, rounded table: all that the losses need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS
from dpselect.errors import DataError

Integers = tuple[int, list[list[int]], list[int], int]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Moments:
    """Private. n and the products of all columns and the response, as exact integers; `a + b` pools two tables.

    `products` is symmetric, one row a column and the response last, in units of 2^-40; `columns` and `assumptions` (the
    hash of the public statements that the rows were clipped to) are public.
    """

    n: int
    products: NDArray[np.object_]
    columns: tuple[str, ...]
    assumptions: str

    def __repr__(self) -> str:
        return f"Moments(columns={len(self.columns)}, values=<private>)"

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if (self.columns, self.assumptions) != (other.columns, other.assumptions):
            raise DataError(
                "These moments were gathered under different assumptions and cannot be pooled: gather both with the same ones."
            )
        if self.n + other.n > MAXIMUM_ROWS:
            raise DataError(
                f"The table has more than {MAXIMUM_ROWS:,} rows, the most that dpselect's error bounds cover."
            )
        return Moments(self.n + other.n, self.products + other.products, self.columns, self.assumptions)

    def integers(self) -> Integers:
        """(n, X'X, X'y, y'y): Python ints on the 2^-20 grid, so products are in units of 2^-40. Private."""
        table = self.products.tolist()
        return self.n, [row[:-1] for row in table[:-1]], [row[-1] for row in table[:-1]], table[-1][-1]

    def scaled(self) -> NDArray[np.float64]:
        """The products as doubles, columns and response in [-1, 1]; each entry is off by at most 2^-53 of itself. Private."""
        return self.products.astype(np.float64) * 2.0**-40
