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
from dpselect.assume.variables import GRID, Binary, Categorical, Count, Numeric
from dpselect.gather.moments import Moments
from dpselect.rehearse.planning.supposed import three_digits

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


SPREADS = 6.5
"""Standard deviations that stated ranges are supposed to span: the median of 195 predictors of 46 real tables."""


def in_own_units(study: Study, layout: Layout, effect: float, r2: float) -> tuple[tuple[str, str], ...]:
    """For each variable that competes by itself: its smallest effect that is found, as a sentence's end."""
    response = study.response
    left = spread_of(response)
    unit, noise = " standard deviations", 1.0
    if left is not None:
        chance = "in the chance of" if isinstance(response, Binary) else "of"
        unit, noise = f" {chance} {response.name}", left * math.sqrt(1 - r2)
    by_name = {variable.name: variable for variable in study.predictors}
    found = []
    for name in layout.names:
        variable = by_name.get(name)
        if variable is None:
            continue
        if isinstance(variable, Categorical):
            size = effect * noise / (spread_of(variable) or 1.0)
            found.append((name, f"{three_digits(size)}{unit} between a category and the others"))
        elif (spread := spread_of(variable)) is not None:
            found.append((name, f"{three_digits(effect * noise / spread)}{unit} for one unit"))
        else:
            found.append((name, f"{three_digits(effect * noise)}{unit} for one standard deviation"))
    return tuple(found)


def spread_of(variable: Numeric | Binary | Categorical) -> float | None:
    """The standard deviation that a variable is supposed to have; None where no range is stated. A quarter says yes."""
    if isinstance(variable, Categorical):
        return math.sqrt(len(variable.categories) - 1) / len(variable.categories)
    if isinstance(variable, Numeric) and variable.bounded:
        return 2 * variable.half_width / SPREADS
    return math.sqrt(3) / 4 if isinstance(variable, Binary) else None


def supposed_products(study: Study, scenario: Scenario) -> Floats:
    """The products that a row of a scenario has on the average, stated ranges spanning `SPREADS` standard deviations.

    Nothing is read and nothing is drawn: only the scenario's own rows are used.
    """
    table, spread = _explained(study, scenario)
    products = table.T @ table / POOL
    products[-1, -1] += spread**2 * (1 - scenario.r2)
    return np.asarray(products)


def _explained(study: Study, scenario: Scenario) -> tuple[Floats, float]:
    """The columns of a scenario's rows as the program scales them, what they explain of the response last, and its spread."""
    units = [columns_of(unit) for unit in vote_units(candidates_for(study, None))]
    design, signal = np.ones((POOL, len(study.columns))), np.zeros(POOL)
    start = 0
    for unit, weight in zip(units, scenario.weights, strict=True):
        own = scenario.pool[0][:, start : start + len(unit)]
        start += len(unit)
        if study.columns[unit[0]].factors:
            design[:, list(unit)], each = _scaled(own, study, [study.columns[place] for place in unit])
            signal += weight * each
    signal *= math.sqrt(scenario.r2 / max(float(signal.var()), 1e-12))
    spread = 1.0 if isinstance(study.response, Binary) else 2 / SPREADS
    return np.column_stack([design, spread * (signal - signal.mean())]), spread


def supposed_moments(study: Study, products: Floats, rows: int) -> Moments:
    """The moments of so many such rows."""
    whole = [[round(float(cell) * rows * GRID) * GRID for cell in row] for row in products]
    names = tuple(column.name for column in study.columns)
    return Moments(rows, np.array(whole, dtype=object), names, study.hash)


def likely_models(study: Study, scenario: Scenario) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The columns of the terms that have an effect in the scenario, and those of as many terms with all others among them.

    Both have the intercept where it is always in; the second is empty where every term has an effect.
    """
    units = [columns_of(unit) for unit in vote_units(candidates_for(study, None))]
    acting = [unit for unit, weight in zip(units, scenario.weights, strict=True) if weight]
    idle = [unit for unit, weight in zip(units, scenario.weights, strict=True) if not weight]
    competing = {place for unit in units for place in unit}
    always = [place for place in range(len(study.columns)) if place not in competing]
    other = [*idle, *acting[: max(len(acting) - len(idle), 0)]] if idle else []
    first, second = ([place for unit in model for place in unit] for model in (acting, other))
    return tuple(sorted([*always, *first])), tuple(sorted([*always, *second])) if second else ()


def _scaled(own: Floats, study: Study, columns: list[Column]) -> tuple[Floats, Floats]:
    """A term's columns as the program scales them, and its standardized signal."""
    if len(columns) > 1:
        # Centred dummies of levels 1, 2, ...: their lowest value is minus their share.
        dummies = own - own.min(axis=0)
        rank = dummies @ np.arange(1.0, len(columns) + 1)
        return dummies, (rank - rank.mean()) / max(float(rank.std()), 1e-12)
    values, size = own[:, 0], 1.0
    numbers = {each.name: each for each in study.predictors}
    for factor in columns[0].factors:
        if isinstance(numbers[factor.variable], Numeric):
            size *= 2 / SPREADS
    if size == 1.0:
        values = np.sign(values) if columns[0].factors[0].level is None else np.asarray(values > 0, dtype=np.float64)
    scaled = np.clip(size * values, -1.0, 1.0)
    return scaled[:, None], (scaled - scaled.mean()) / max(float(scaled.std()), 1e-12)
