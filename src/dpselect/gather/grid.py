"""Private. From a cell to an integer on the grid: one formula, the same doubles in every engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.assumptions import Assumptions
from dpselect.assume.variables import Numeric, Variable
from dpselect.errors import DataError
from dpselect.gather.moments import GRID

Cells = Mapping[str, NDArray[np.float64]]
"""Private. One array a variable: numbers with NaN for a missing cell, or a category's level places with NaN likewise."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Public. How a number meets the grid: floor((v - middle) * scale + 0.5), clamped to [-2^20, 2^20]."""

    middle: float
    scale: float

    @classmethod
    def of(cls, variable: Numeric) -> Scale:
        """The scale of a variable's bounds."""
        return cls(variable.middle, GRID / variable.half_width)


def to_grid(values: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    """Whole numbers in [-2^20, 2^20]; NaN stays NaN.

    The subtraction, the product and the sum are single double operations in this order, so SQL engines, NumPy and Arrow
    agree to the last bit; clamping after rounding makes a finite value beyond a bound equal to the bound.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.clip(np.floor((values - scale.middle) * scale.scale + 0.5), -GRID, GRID)


def design_rows(cells: Cells, assumptions: Assumptions) -> NDArray[np.float64]:
    """Rows of the design on the grid, the response last, with missing cells handled row by row.

    `error` refuses, naming the variable alone. `midpoint` puts the middle of the bounds, and the reference level for a
    category. `zero-row` makes the whole row zero, its intercept included; the row still counts in n. Either way a row
    depends on its own cells only, so neighbouring tables stay neighbours.
    """
    variables: tuple[Variable, ...] = (*assumptions.predictors, assumptions.response)
    missing = {variable.name: np.isnan(cells[variable.name]) for variable in variables}
    if assumptions.missing == "error":
        for name, gone in missing.items():
            if gone.any():
                raise DataError(
                    f"{name!r} has cells that are missing, infinite or of an unknown level: clean them, or set missing to "
                    "'midpoint' or 'zero-row'."
                )
    scaled = {
        variable.name: np.nan_to_num(to_grid(cells[variable.name], Scale.of(variable)))
        for variable in variables
        if isinstance(variable, Numeric)
    }
    places = {v.name: {level: i for i, level in enumerate(v.levels)} for v in variables if not isinstance(v, Numeric)}
    rows = np.empty((len(cells[assumptions.response.name]), len(assumptions.columns) + 1))
    for j, column in enumerate(assumptions.columns):
        rows[:, j] = GRID
        for factor in column.factors:
            if factor.level is None:
                factor_values = scaled[factor.variable]
            else:
                # NaN equals no place, so a missing category has all its dummies at zero: the reference.
                factor_values = (cells[factor.variable] == places[factor.variable][factor.level]) * float(GRID)
            # One factor passes unchanged; a product of grid values is rounded to the grid again, exactly in doubles.
            rows[:, j] = np.floor(rows[:, j] * factor_values * (1 / GRID) + 0.5)
    rows[:, -1] = scaled[assumptions.response.name]
    if assumptions.missing == "zero-row":
        rows[np.logical_or.reduce(list(missing.values()))] = 0
    return rows
