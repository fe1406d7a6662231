"""Custodian's eyes only. How well the rows fit the assumptions: what would be clipped, what is missing or unknown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Numeric, Variable
from dpselect.gather.sums.grid import Cells


@dataclass(frozen=True, slots=True, repr=False)
class VariableFit:
    """Private. How many cells of one variable lie below and above its bounds, and how many have no usable value.

    `missing` counts empty cells, NaN, infinities and, for a category, levels that were not stated.
    """

    name: str
    below: int
    above: int
    missing: int

    def __repr__(self) -> str:
        return f"VariableFit(name={self.name!r}, values=<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class Fit:
    """Private. The number of rows, and the fit of each variable, the response first."""

    rows: int
    variables: tuple[VariableFit, ...]

    def __repr__(self) -> str:
        return "Fit(values=<private>)"


def measure_fit(batches: Iterable[Cells], assumptions: Assumptions) -> Fit:
    """Count in one pass over the cells of a table."""
    variables: tuple[Variable, ...] = (assumptions.response, *assumptions.predictors)
    counts = {variable.name: np.zeros(3, np.int64) for variable in variables}
    rows = 0
    for cells in batches:
        rows += len(cells[assumptions.response.name])
        for variable in variables:
            counts[variable.name] += _counts(cells, variable)
    return Fit(rows, tuple(VariableFit(name, *map(int, three)) for name, three in counts.items()))


def _counts(cells: Cells, variable: Variable) -> list[int]:
    values = cells[variable.name]
    if not isinstance(variable, Numeric):
        return [0, 0, int((~(values >= 0)).sum())]
    usable = np.isfinite(values)
    return [
        int((usable & (values < variable.lower)).sum()),
        int((usable & (values > variable.upper)).sum()),
        int((~usable).sum()),
    ]
