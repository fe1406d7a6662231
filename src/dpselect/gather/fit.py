"""Private. How well rows fit a study, for the confidential check: what would be clipped, what is missing, unknown or constant."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric, Variable
from dpselect.gather.grid import Chunk
from dpselect.gather.moments import Moments
from dpselect.gather.summary import Both, Summary

NEARLY = 0.99
"""Columns that correlate by more than this are nearly the same."""


@dataclass(frozen=True, slots=True, repr=False)
class VariableFit:
    """Private. How many cells of one variable lie below and above its bounds, and how many have no usable value.

    `missing` counts empty cells, NaN, infinities and, for a category, levels that were not stated; `unused` are stated levels
    that no row has; `constant` says that all usable cells are the same once they are clipped. `rows_by_category` has the rows of
    each stated category, in order.
    """

    name: str
    below: int
    above: int
    missing: int
    constant: bool = False
    unused: tuple[str, ...] = ()
    rows_by_category: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"VariableFit(name={self.name!r}, values=<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class WeightFit:
    """Private. How many weights are above the limit and how many are unusable, and what all add up to once they were limited."""

    name: str
    above: int
    unusable: int
    total: float
    population: float

    def __repr__(self) -> str:
        return f"WeightFit(name={self.name!r}, values=<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class TableFit:
    """Private. The number of rows, the fit of each variable, the response first, and pairs of columns that are nearly the same.

    `weights` are those of a survey, None where none are stated.
    """

    rows: int
    variables: tuple[VariableFit, ...]
    twins: tuple[tuple[str, str], ...] = ()
    weights: WeightFit | None = None

    def __repr__(self) -> str:
        return "TableFit(values=<private>)"


class FitSummary(Summary[TableFit]):
    """Private. Counts, cell by cell and before anything is clipped or refused, how well rows fit."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._tallies = [_Tally(variable) for variable in (study.response, *study.predictors)]
        self._rows = 0
        self._weights = np.zeros(3)
        """Above the limit, unusable, and the sum of all others with the limit."""

    def __repr__(self) -> str:
        return "FitSummary(values=<private>)"

    def empty(self) -> FitSummary:
        """One of no rows."""
        return FitSummary(self._study)

    def add(self, chunk: Chunk) -> None:
        """Count some rows."""
        self._rows += chunk.count
        for tally in self._tallies:
            tally.add(chunk.cells[tally.variable.name])
        if self._study.weights is not None and self._study.weight_limit is not None:
            weights, limit = chunk.cells[self._study.weights], self._study.weight_limit
            usable = weights[np.isfinite(weights) & (weights >= 0)]
            inside = np.minimum(usable, limit)
            self._weights += [(usable > limit).sum(), len(weights) - len(usable), inside.sum()]

    @property
    def stops(self) -> bool:
        """Whether a run would stop at one of these rows."""
        missing = self._weights[1] > 0 or any(tally.counts[2] for tally in self._tallies)
        return self._study.missing == "error" and bool(missing)

    def merge(self, other: FitSummary) -> FitSummary:
        """The counts of the rows of both."""
        self._rows += other._rows
        self._weights += other._weights
        for mine, others in zip(self._tallies, other._tallies, strict=True):
            mine.merge(others)
        return self

    def to_bytes(self) -> Iterator[bytes]:
        """All counts as one text."""
        yield json.dumps([self._rows, self._weights.tolist(), [tally.state() for tally in self._tallies]]).encode()

    def from_bytes(self, pieces: Iterable[bytes]) -> FitSummary:
        """The counts of all workers."""
        whole = self.empty()
        for piece in pieces:
            rows, weights, states = json.loads(piece)
            whole._rows += rows
            whole._weights += weights
            for mine, state in zip(whole._tallies, states, strict=True):
                mine.merge(_Tally(mine.variable, *state))
        return whole

    @property
    def max_bytes(self) -> int:
        """Of the counts as text: three a variable, its ends, and one a category."""
        return 100 + sum(200 + 20 * len(tally.levels) for tally in self._tallies)

    def result(self) -> TableFit:
        """What was found, the response first."""
        study, weights = self._study, None
        if study.weights is not None and study.population is not None:
            above, unusable, total = self._weights.tolist()
            weights = WeightFit(study.weights, int(above), int(unusable), total, study.population)
        return TableFit(self._rows, tuple(tally.fit() for tally in self._tallies), weights=weights)


class FitAnd(Both[TableFit, Any]):
    """Private. How rows fit, and in the same pass another summary of them; None for that where a run would stop at some row."""

    _first: FitSummary

    def add(self, chunk: Chunk) -> None:
        """Count some rows, and add them unless a run would have stopped."""
        self._first.add(chunk)
        # Rows after a bad cell are still counted, so that a custodian sees all that is wrong at once; what they would add to the
        # other summary is never shown, so it is not computed.
        if not self._first.stops:
            self._second.add(chunk)

    def result(self) -> tuple[TableFit, Any]:
        """How they fit, and what the other comes to."""
        fit = self._first.result()
        return fit, None if self._first.stops or fit.rows == 0 else self._second.result()


class _Tally:
    """Private. What has been counted of one variable so far: cells below, above and missing, the ends, and each level."""

    def __init__(
        self,
        variable: Variable,
        counts: Sequence[int] = (0, 0, 0),
        least: float = np.inf,
        most: float = -np.inf,
        levels: Sequence[int] | None = None,
    ) -> None:
        self.variable = variable
        self.counts = np.array(counts, np.int64)
        self.least, self.most = least, most
        known = 0 if isinstance(variable, Numeric) else len(variable.categories)
        self.levels = np.zeros(known, np.int64) if levels is None else np.array(levels, np.int64)

    def state(self) -> tuple[list[int], float, float, list[int]]:
        """All of it but the variable."""
        return self.counts.tolist(), self.least, self.most, self.levels.tolist()

    def merge(self, other: _Tally) -> None:
        """Count what another has counted too."""
        self.counts = self.counts + other.counts
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        self.levels = self.levels + other.levels

    def add(self, values: NDArray[Any]) -> None:
        """Count some cells."""
        if isinstance(self.variable, Numeric):
            self._add_numbers(np.asarray(values, np.float64))
            return
        # The grid writes a category as its place, and -1 for what is missing or was not stated.
        usable = values[values >= 0].astype(np.int64)
        self.counts[2] += len(values) - len(usable)
        self.levels = self.levels + np.bincount(usable, minlength=len(self.levels))

    def _add_numbers(self, values: NDArray[np.float64]) -> None:
        usable = values[np.isfinite(values)]
        self.counts[2] += len(values) - len(usable)
        assert isinstance(self.variable, Numeric)
        if self.variable.bounded:
            lower, upper = self.variable.bounds
            self.counts[:2] += np.array([(usable < lower).sum(), (usable > upper).sum()])
            # Clipped before the ends are taken: a variable that is outside its range in every row is constant for a run.
            usable = np.clip(usable, lower, upper)
        self.least = min(self.least, float(usable.min(initial=np.inf)))
        self.most = max(self.most, float(usable.max(initial=-np.inf)))

    def fit(self) -> VariableFit:
        """What was found."""
        below, above, missing = map(int, self.counts)
        if isinstance(self.variable, Numeric):
            return VariableFit(self.variable.name, below, above, missing, constant=not self.least < self.most)
        unused = [str(level) for level, seen in zip(self.variable.categories, self.levels, strict=True) if not seen]
        few, rows = len(self.variable.categories) - len(unused) < 2, tuple(self.levels.tolist())
        return VariableFit(
            self.variable.name, below, above, missing, constant=few, unused=tuple(unused), rows_by_category=rows
        )


def near_twins(moments: Moments, study: Study) -> tuple[tuple[str, str], ...]:
    """Pairs of columns of different terms, or of a column and the response, that are nearly the same."""
    products = moments.scaled()
    columns = study.columns
    names = [*(column.name for column in columns), study.response.name]
    terms = [*(column.term for column in columns), -1]
    start = int(bool(columns) and not columns[0].factors)
    if start and products[0, 0] > 0:
        # What the intercept explains is taken out: two columns far from zero are otherwise alike whatever they do.
        products = products - np.outer(products[0], products[0]) / products[0, 0]
    norms = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    with np.errstate(all="ignore"):
        alike = np.abs(products) / np.outer(norms, norms) > NEARLY
    # A column that hardly varies is a twin of anything by rounding alone, and is told as constant elsewhere.
    near = np.outer(norms > 1e-6 * np.sqrt(moments.n), np.ones(len(norms), bool))
    pairs = zip(*np.nonzero(np.triu(alike & near & near.T, 1)), strict=True)
    return tuple((names[i], names[j]) for i, j in pairs if i >= start and terms[i] != terms[j])
