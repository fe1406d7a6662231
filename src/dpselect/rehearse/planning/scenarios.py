"""Public. A plan of block votes: its scenarios, each with an R^2, some effects, a kind of columns, and rows drawn from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import candidates_for, columns_of, vote_units
from dpselect.assume.study import Study
from dpselect.assume.terms import Column
from dpselect.assume.variables import Binary, Count

Floats = NDArray[np.float64]
Effects = Literal["few", "many", "one", "all"]
Columns = Literal["independent", "alike", "close", "mixed", "skewed", "heavy"]

USUAL_R2 = {"number": (0.1, 0.2, 0.4), "other": (0.05, 0.1, 0.2)}
"""Near the quartiles of R^2 on 46 real tables (benchmarks.forecast_tables): of numbers, and of yes or no and of counts."""
SEEN = {"number": 1.0, "other": 0.4}
"""So much of R^2 votes see: less where most rows are no or zero. Either half of the tables of benchmarks.forecasts gave .4."""
CORRELATION: dict[Columns, float] = {"independent": 0.0, "close": 0.5, "mixed": 0.3, "skewed": 0.5, "heavy": 0.0}
MOST_ALIKE = 0.7
"""Columns that are alike have the correlation R^2, as it is seen, up to this: where they explain much, they say it together."""
SIGNS = (1, -1, -1, 1)
"""Of effects in the order of their size: columns that go together hide effects of different signs from each other."""
SKEW = 0.7
SECOND, RARE = 1 / 3, {"skewed": (1 / 3, 0.15), "heavy": (0.2, 0.07)}
"""The share of the second of two levels: usually, and of every first and second term in skewed and in heavy columns."""
FALL: dict[Effects, float] = {"few": 0.0, "many": 2.0, "one": 2.0, "all": 1.0}
"""The smallest effect is e to minus this of the largest."""
POOL = 12_000
"""Rows that are drawn once; a block takes of them, each with noise of its own."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Public. The terms that compete, by name and number of columns, and the columns of the study in all, intercept too."""

    names: tuple[str, ...]
    widths: tuple[int, ...]
    columns: int
    two_levels: frozenset[int] = frozenset()
    """Terms that are one column of zeros and ones."""
    response: Literal["number", "other"] = "number"
    """What is explained: a number, or a yes or no or a count."""

    @property
    def first(self) -> NDArray[np.int64]:
        """The term of each column that competes."""
        return np.repeat(np.arange(len(self.widths)), self.widths)


def layout_of(study: Study) -> Layout:
    """What competes in a study by default."""
    columns = study.columns
    units = [columns_of(unit) for unit in vote_units(candidates_for(study, None))]
    names = (":".join(factor.variable for factor in columns[unit[0]].factors) or "intercept" for unit in units)
    binary = {variable.name for variable in study.predictors if isinstance(variable, Binary)}
    two = (place for place, unit in enumerate(units) if len(unit) == 1 and _two_levels(columns[unit[0]], binary))
    other = isinstance(study.response, Binary | Count)
    return Layout(tuple(names), tuple(map(len, units)), len(columns), frozenset(two), "other" if other else "number")


def _two_levels(column: Column, binary: set[str]) -> bool:
    factors = column.factors
    return bool(factors) and all(factor.level is not None or factor.variable in binary for factor in factors)


@dataclass(frozen=True)
class Scenario:
    """Public. Supposed rows: `r2` of the response is explained, by few effects, by many of falling size, mostly by one, or by all.

    Rows are made as if `seen` of it were, which is what votes see. Columns are normal and independent; or they share what they say,
    all effects having one sign: alike, with the correlation `seen`, or close, with 0.5; or mixed, with 0.3 and effects of both
    signs, which hide each other; or skewed, with 0.5 and every second number so; or heavy: independent, every second number mostly
    zero, the others with a heavy tail. A category's levels have shares that fall as 1, 1/2, 1/3; of two levels the second is rare
    in skewed and in heavy columns. The noise is normal with standard deviation 1.
    """

    layout: Layout
    r2: float
    effects: Effects
    columns: Columns

    @property
    def words(self) -> str:
        """One line."""
        effects = {"many": "effects of decreasing size", "one": "effects, one of them large"}.get(
            self.effects, "effects of similar size"
        )
        columns = {
            "independent": "independent predictors",
            "alike": "weakly correlated predictors",
            "close": "strongly correlated predictors",
            "mixed": "predictors that mask each other",
            "skewed": "correlated, skewed predictors",
            "heavy": "rare or heavy-tailed predictors",
        }[self.columns]
        count = "1 effect" if self.active == 1 else f"{self.active} {effects}"
        return f"R² = {self.r2:g}, {count}, {columns}"

    @property
    def seen(self) -> float:
        """What votes see of R^2."""
        return SEEN[self.layout.response] * self.r2

    @property
    def signal(self) -> float:
        """The variance of what is explained, in units of the noise."""
        return self.seen / (1 - self.seen)

    @property
    def active(self) -> int:
        """How many terms have an effect."""
        terms = len(self.layout.widths)
        if self.effects == "all":
            return terms
        return max(1, round(math.sqrt(terms) if self.effects == "few" else 0.65 * terms))

    @property
    def correlation(self) -> float:
        """Of any two columns."""
        return min(self.seen, MOST_ALIKE) if self.columns == "alike" else CORRELATION[self.columns]

    @cached_property
    def weights(self) -> Floats:
        """The effect of each term's standardized signal, before it is scaled to `r2`: spread over the terms, some negative."""
        terms, active = len(self.layout.widths), self.active
        found = np.zeros(terms)
        for k in range(active):
            fall = FALL[self.effects] * k / max(active - 1, 1)
            large = 3 if k == 0 and self.effects == "one" else 1
            # Columns that go along would cancel effects of opposite signs, and the scenario would be harder than it says.
            sign = 1 if self.columns in ("alike", "close") else SIGNS[k % len(SIGNS)]
            found[k * terms // active] = math.exp(-fall) * large * sign
        return found

    @property
    def _any_r2(self) -> Scenario:
        """The scenario whose rows this one scales: one for every R^2, unless the columns depend on it."""
        return self if self.columns == "alike" else replace(self, r2=0.5)

    @cached_property
    def pool(self) -> tuple[Floats, Floats]:
        """Columns, and the signal in units of the noise."""
        pool = _pool(self._any_r2)
        return pool.columns, pool.signal * math.sqrt(self.signal)

    @cached_property
    def pilot(self) -> tuple[Floats, Floats]:
        """The covariances of the columns, and those of columns and signal."""
        pool = _pool(self._any_r2)
        return pool.covariance, pool.cross * math.sqrt(self.signal)

    def rows(self, rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """So many rows: columns and signal."""
        columns, signal = self.pool
        chosen = rng.integers(0, POOL, count)
        return columns[chosen], signal[chosen]

    def draw(self, rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """New rows: columns and signal, before they are centred and scaled."""
        terms = len(self.layout.widths)
        latent = rng.standard_normal((count, terms))
        # One factor that all columns share gives every pair the same correlation.
        together = self.correlation
        if together > 0:
            latent = math.sqrt(1 - together) * latent + math.sqrt(together) * rng.standard_normal((count, 1))
        made, signal = [], np.zeros(count)
        for term, (width, weight) in enumerate(zip(self.layout.widths, self.weights, strict=True)):
            if term in self.layout.two_levels:
                columns, one = _dummy(latent[:, term], RARE.get(self.columns, (SECOND, SECOND))[term % 2])
            elif width > 1:
                columns, one = _category(latent[:, term], width)
            else:
                one = _number(latent[:, term], self.columns, second=term % 2 == 1)
                columns = one[:, None]
            made.append(columns)
            signal += weight * one
        return np.concatenate(made, axis=1), signal


def _dummy(latent: Floats, share: float) -> tuple[Floats, Floats]:
    """Zeros and ones, and the same standardized."""
    ones = np.asarray(latent > NormalDist().inv_cdf(1 - share), dtype=np.float64)
    return ones[:, None], (ones - share) / math.sqrt(share * (1 - share))


def _number(latent: Floats, columns: Columns, *, second: bool) -> Floats:
    """A standardized number: normal, skewed, with a heavy tail, or five times out of six zero."""
    if columns == "heavy":
        values = np.maximum(latent - 1, 0) ** 1.5 if second else np.exp(latent)
    elif columns == "skewed" and second:
        values = np.exp(SKEW * latent)
    else:
        return latent
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-12), dtype=np.float64)


def _category(latent: Floats, width: int) -> tuple[Floats, Floats]:
    """The columns of a category, and its standardized signal: the rank of the level."""
    shares = 1 / np.arange(1, width + 2)
    cuts = [NormalDist().inv_cdf(float(share)) for share in (np.cumsum(shares) / shares.sum())[:-1]]
    level = np.searchsorted(cuts, latent)
    shares = shares / shares.sum()
    middle = float(shares @ np.arange(width + 1))
    spread = math.sqrt(float(shares @ (np.arange(width + 1) - middle) ** 2))
    dummies = np.asarray(level[:, None] == np.arange(1, width + 1), dtype=np.float64)
    return dummies, np.asarray((level - middle) / spread, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Public. Rows of a scenario and their covariances, the signal's variance being 1."""

    columns: Floats
    signal: Floats
    covariance: Floats
    cross: Floats


@lru_cache(maxsize=8)
def _pool(scenario: Scenario) -> _Pool:
    """The rows that scenarios of every R^2 share."""
    columns, signal = scenario.draw(np.random.default_rng(1), POOL)
    columns, signal = columns - columns.mean(axis=0), signal - signal.mean()
    signal = signal / math.sqrt(max(float(signal.var()), 1e-12))
    return _Pool(columns, signal, columns.T @ columns / POOL, columns.T @ signal / POOL)


SCENARIO_KINDS: tuple[tuple[Effects, Columns], ...] = (
    ("many", "alike"),
    ("many", "close"),
    ("few", "heavy"),
    ("many", "mixed"),
    ("one", "skewed"),
    ("all", "independent"),
)


def scenarios_of(layout: Layout, r2: float | None = None) -> tuple[Scenario, ...]:
    """The scenarios of a plan, six for every R^2 that is usual or for the one given."""
    given = USUAL_R2[layout.response] if r2 is None else (r2,)
    return tuple(Scenario(layout, each, effects, columns) for each in given for effects, columns in SCENARIO_KINDS)


def typical(layout: Layout, r2: float | None = None) -> Scenario:
    """One of them, for what is said of a single scenario."""
    return Scenario(layout, USUAL_R2[layout.response][1] if r2 is None else r2, "many", "mixed")
