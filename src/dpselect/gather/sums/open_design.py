"""Private. Rows of a study in which a variable has no bounds: doubles as they are, beside what is on the grid.

A row is a function of its own cells. Numbers with bounds, and products of them, are whole numbers on the grid as everywhere;
a number without bounds is the cell itself, and a product with one is the product of doubles, factor by factor. So that no
product of two entries can overflow or lose digits at the small end, an entry below SMALLEST in size is zero, and a row with
one above LARGEST counts in no block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import Column
from dpselect.assume.study.names import Level
from dpselect.assume.study.variables import GRID, Categorical, Variable
from dpselect.errors import DataError
from dpselect.gather.sums.grid import Cells, Floats

SMALLEST, LARGEST = 1e-75, 1e75


class OpenDesign:
    """Private. Turns chunks of cells into lines, one a column without the intercept, the response last."""

    def __init__(self, assumptions: Assumptions, chunk: int) -> None:
        self._variables = (*assumptions.predictors, assumptions.response)
        self._missing = assumptions.missing
        self._response = assumptions.response.name
        self._columns = [column for column in assumptions.columns if column.factors]
        self._open = set(assumptions.unbounded)
        self.order = np.arange(len(self._columns) + 1)
        self._work = np.empty((len(self.order), chunk))
        self.left_out: NDArray[np.bool_] | None = None
        """Which rows of the last chunk count in no block."""

    def __repr__(self) -> str:
        return "OpenDesign(values=<private>)"

    def chunk(self, cells: Cells, start: int, stop: int) -> Floats:
        """The rows from `start` to `stop`, valid until the next call.

        A missing cell is refused, naming the variable alone, if the policy is `error`. Else its row counts nowhere, unless the
        policy is `midpoint` and the variable has a middle (or a reference level), which is put there.
        """
        work = self._work[:, : stop - start]
        with np.errstate(all="ignore"):  # whatever the program has set: no exception may depend on a cell
            out = np.zeros(stop - start, dtype=bool)
            values = {}
            for variable in self._variables:
                own = cells[variable.name][start:stop]
                gone = own < 0 if isinstance(variable, Categorical) else ~np.isfinite(own)
                if gone.any():
                    self._refuse(variable.name)
                    if self._missing == "zero-row" or variable.name in self._open:
                        out |= gone
                values[variable.name] = self._entries(variable, own, gone)
            for line, column in zip(work[:-1], self._columns, strict=True):
                line[:] = self._product(column, values)
            work[-1] = values[self._response]
            sizes = np.abs(work)
            work[sizes < SMALLEST] = 0
            out |= ~(sizes <= LARGEST).all(axis=0)
        self.left_out = out if out.any() else None
        return work

    def _refuse(self, name: str) -> None:
        if self._missing == "error":
            raise DataError(
                f"{name!r} has cells that are missing, infinite or of an unknown level: clean them, or set missing to "
                "'midpoint' or 'zero-row'."
            )

    def _entries(self, variable: Variable, own: NDArray[np.float64], gone: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The grid's whole numbers, the cells themselves, or the places of a category's levels."""
        if isinstance(variable, Categorical) or variable.name in self._open:
            return own
        grid = np.clip(np.floor((own - variable.middle) * variable.scale + 0.5), -GRID, GRID)
        return np.where(gone, 0.0, grid)

    def _product(self, column: Column, values: Cells) -> Floats:
        out: Floats | None = None
        on_grid = True
        for factor in column.factors:
            own = values[factor.variable]
            if factor.level is not None:
                own = np.where(own == self._place(factor.variable, factor.level), float(GRID), 0.0)
            open_factor = factor.variable in self._open
            if out is None:
                out = own
            elif on_grid and not open_factor:
                out = np.floor(out * own * (1 / GRID) + 0.5)
            else:
                out = out * own
            on_grid = on_grid and not open_factor
        assert out is not None
        return out

    def _place(self, name: str, level: Level) -> int:
        return next(
            list(v.levels).index(level) for v in self._variables if v.name == name and isinstance(v, Categorical)
        )
