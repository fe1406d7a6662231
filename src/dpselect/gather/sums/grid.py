"""Private. From cells to rows of the design on the integer grid: one formula, the same doubles in every engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import Column, Factor
from dpselect.assume.study.variables import GRID, Categorical, Variable
from dpselect.errors import DataError
from dpselect.gather.sums.compiled import compiled_function

put_rows = compiled_function("_grid", "put_rows")
"""Private. The compiled twin of the arithmetic below, where there was a compiler: one pass instead of six."""

Floats = NDArray[np.float64]
Cells = Mapping[str, NDArray[Any]]
"""Private. One array a variable: doubles, not finite where a cell is missing; or the places of a category's levels, -1 where
it is missing or no stated level."""


class Design:
    """Private. Turns chunks of cells into columns of the design, one row of `work` each, ready for BLAS.

    The numeric variables come first, so that four vector operations put all of them on the grid; the intercept, the dummies
    and the products follow. `order` finds the columns as stated, the response last.
    """

    def __init__(self, assumptions: Assumptions, chunk: int) -> None:
        self._variables: tuple[Variable, ...] = (*assumptions.predictors, assumptions.response)
        self._missing = assumptions.missing
        self._numbers = [variable for variable in self._variables if not isinstance(variable, Categorical)]
        self._middles = np.array([variable.middle for variable in self._numbers], dtype=np.float64)
        self._scales = np.array([variable.scale for variable in self._numbers], dtype=np.float64)
        place = {variable.name: i for i, variable in enumerate(self._numbers)}
        self._levels = {v.name: v.levels for v in self._variables if isinstance(v, Categorical)}
        self._place = place
        self._others: list[Column] = []
        order = []
        for column in assumptions.columns:
            if len(column.factors) == 1 and column.factors[0].level is None:
                order.append(place[column.factors[0].variable])
            else:
                order.append(len(self._numbers) + len(self._others))
                self._others.append(column)
        self.order = np.array([*order, place[assumptions.response.name]])
        self._work = np.empty((len(self._numbers) + len(self._others), chunk))
        self.left_out: NDArray[np.bool_] | None = None
        """Which rows of the last chunk are zero because a cell is missing."""

    def __repr__(self) -> str:
        return "Design(values=<private>)"

    def chunk(self, cells: Cells, start: int, stop: int) -> Floats:
        """The rows from `start` to `stop` on the grid, valid until the next call; missing cells are handled row by row.

        `error` refuses, naming the variable alone. `midpoint` puts the middle of the bounds, and the reference level for a
        category. `zero-row` makes the whole row zero, its intercept included; the row still counts in n. Either way a row
        depends on its own cells only, so neighbouring tables stay neighbours.
        """
        work = self._work[:, : stop - start]
        numbers = work[: len(self._numbers)]
        codes = {name: cells[name][start:stop] for name in self._levels}
        finite = self._put_on_grid(cells, start, stop, numbers)
        gone = {}
        if not finite or any(each.size and each.min() < 0 for each in codes.values()):
            gone = self._gone(cells, start, stop)
        for name, rows in gone.items():
            if name in self._place:
                numbers[self._place[name]][rows] = 0
        for row, column in zip(work[len(self._numbers) :], self._others, strict=True):
            self._product(column, numbers, codes, row)
        self.left_out = None
        if gone and self._missing == "zero-row":
            self.left_out = np.logical_or.reduce(list(gone.values()))
            work[:, self.left_out] = 0
        return work

    def _put_on_grid(self, cells: Cells, start: int, stop: int, out: Floats) -> bool:
        """Whole numbers in [-GRID, GRID]: floor((v - middle) * scale + 0.5), clamped. Whether all cells were surely finite.

        The difference, the product and the sum are single double operations in this order, so SQL engines, NumPy and Arrow
        agree to the last bit. The formula is monotone and takes a bound to an end of the grid (`Numeric` refuses bounds for
        which it would not), so clamping the result is clipping the value.

        Tested: tests/gather/sums/test_grid.py, tests/claims/test_same_integers.py
        """
        if put_rows is not None:
            columns = tuple([cells[variable.name] for variable in self._numbers])
            return bool(put_rows(columns, start, stop, self._middles, self._scales, GRID, out))
        with np.errstate(all="ignore"):  # whatever the program has set: no exception may depend on a cell
            for row, variable in zip(out, self._numbers, strict=True):
                np.subtract(cells[variable.name][start:stop], variable.middle, out=row)
            # One sum sees every cell that is not finite; a sum that overflows only costs a closer look.
            finite = bool(np.isfinite(np.add.reduce(out, axis=None)))
            np.multiply(out, self._scales[:, None], out=out)
            np.add(out, 0.5, out=out)
            np.floor(out, out=out)
            np.clip(out, -GRID, GRID, out=out)
        return finite

    def _gone(self, cells: Cells, start: int, stop: int) -> dict[str, NDArray[np.bool_]]:
        """Which rows miss which variable; refused if the policy is to refuse."""
        found = {}
        for variable in self._variables:
            values = cells[variable.name][start:stop]
            rows = values < 0 if variable.name in self._levels else ~np.isfinite(values)
            if not rows.any():
                continue
            if self._missing == "error":
                raise DataError(
                    f"{variable.name!r} has cells that are missing, infinite or of an unknown level: clean them, or set "
                    "missing to 'midpoint' or 'zero-row'."
                )
            found[variable.name] = rows
        return found

    def _product(self, column: Column, numbers: Floats, codes: Cells, out: Floats) -> None:
        """A product of factors, rounded to the grid after each: a*b/GRID + 1/2 is exact in doubles, so floor is too."""
        out[:] = GRID
        for i, factor in enumerate(column.factors):
            values = self._factor(factor, numbers, codes)
            if i == 0:
                out[:] = values
            else:
                np.floor(out * values * (1 / GRID) + 0.5, out=out)

    def _factor(self, factor: Factor, numbers: Floats, codes: Cells) -> Floats:
        if factor.level is None:
            values: Floats = numbers[self._place[factor.variable]]
            return values
        # A missing category equals no place, so all its dummies are zero: the reference.
        place = self._levels[factor.variable].index(factor.level)
        return np.where(codes[factor.variable] == place, float(GRID), 0.0)
