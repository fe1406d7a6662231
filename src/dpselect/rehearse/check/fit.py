"""Custodian's eyes only. How well the rows fit the assumptions: what would be clipped, what is missing, unknown or constant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Numeric, Variable
from dpselect.gather.sums.grid import Cells
from dpselect.gather.sums.moments import Moments

NEARLY = 0.99
"""Columns that correlate by more than this are nearly the same."""


@dataclass(frozen=True, slots=True, repr=False)
class VariableFit:
    """Private. How many cells of one variable lie below and above its bounds, and how many have no usable value.

    `missing` counts empty cells, NaN, infinities and, for a category, levels that were not stated; `unused` are stated levels
    that no row has; `constant` says that all usable cells are the same once they are clipped.
    """

    name: str
    below: int
    above: int
    missing: int
    constant: bool = False
    unused: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"VariableFit(name={self.name!r}, values=<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class TableFit:
    """Private. The number of rows, the fit of each variable, the response first, and pairs of columns that are nearly the same."""

    rows: int
    variables: tuple[VariableFit, ...]
    twins: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return "TableFit(values=<private>)"


@dataclass(slots=True, repr=False)
class _Tally:
    """Private. What has been counted of one variable so far."""

    variable: Variable
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, np.int64))  # below, above, missing
    least: float = np.inf
    most: float = -np.inf
    levels: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, values: NDArray[Any]) -> None:
        """Count a batch of cells."""
        if isinstance(self.variable, Numeric):
            self._add_numbers(np.asarray(values, np.float64))
            return
        usable = values[values >= 0].astype(np.int64)
        self.counts[2] += len(values) - len(usable)
        seen = np.bincount(usable, minlength=len(self.variable.levels))
        self.levels = seen if not self.levels.size else self.levels + seen

    def _add_numbers(self, values: NDArray[np.float64]) -> None:
        usable = values[np.isfinite(values)]
        self.counts[2] += len(values) - len(usable)
        assert isinstance(self.variable, Numeric)
        if self.variable.bounded:
            lower, upper = self.variable.bounds
            self.counts[:2] += np.array([(usable < lower).sum(), (usable > upper).sum()])
            usable = np.clip(usable, lower, upper)
        self.least = min(self.least, float(usable.min(initial=np.inf)))
        self.most = max(self.most, float(usable.max(initial=-np.inf)))

    def fit(self) -> VariableFit:
        """What was found."""
        below, above, missing = map(int, self.counts)
        if isinstance(self.variable, Numeric):
            return VariableFit(self.variable.name, below, above, missing, constant=not self.least < self.most)
        unused = [str(level) for level, seen in zip(self.variable.levels, self.levels, strict=False) if not seen]
        few = len(self.variable.levels) - len(unused) < 2
        return VariableFit(self.variable.name, below, above, missing, constant=few, unused=tuple(unused))


def measure_fit(batches: Iterable[Cells], assumptions: Assumptions) -> TableFit:
    """Count in one pass over the cells of a table."""
    variables: tuple[Variable, ...] = (assumptions.response, *assumptions.predictors)
    tallies = [_Tally(variable) for variable in variables]
    rows = 0
    for cells in batches:
        rows += len(cells[assumptions.response.name])
        for tally in tallies:
            tally.add(cells[tally.variable.name])
    return TableFit(rows, tuple(tally.fit() for tally in tallies))


def near_twins(moments: Moments, assumptions: Assumptions) -> tuple[tuple[str, str], ...]:
    """Pairs of columns of different terms, or of a column and the response, that are nearly the same."""
    products = moments.scaled()
    columns = assumptions.columns
    names = [*(column.name for column in columns), assumptions.response.name]
    terms = [*(column.term for column in columns), -1]
    start = int(bool(columns) and not columns[0].factors)
    if start and products[0, 0] > 0:
        products = products - np.outer(products[0], products[0]) / products[0, 0]
    norms = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    with np.errstate(all="ignore"):
        alike = np.abs(products) / np.outer(norms, norms) > NEARLY
    near = np.outer(norms > 1e-6 * np.sqrt(moments.n), np.ones(len(norms), bool))
    pairs = zip(*np.nonzero(np.triu(alike & near & near.T, 1)), strict=True)
    return tuple((names[i], names[j]) for i, j in pairs if i >= start and terms[i] != terms[j])
