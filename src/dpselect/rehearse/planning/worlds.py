"""Public. Worlds that a plan supposes: how much can be explained, by how many terms, and what the columns are like."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.models.candidates import columns_of, vote_units
from dpselect.assume.models.subsets import candidates_for
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import Column
from dpselect.assume.study.variables import Binary

Floats = NDArray[np.float64]
Effects = Literal["few", "many", "one"]
Columns = Literal["independent", "mixed", "skewed"]

USUAL_R2 = (0.05, 0.1, 0.3)
"""Of fifteen real studies R^2 was .08 to .39."""
CORRELATION: dict[Columns, float] = {"independent": 0.0, "mixed": 0.3, "skewed": 0.5}
SIGNS = (1, -1, -1, 1)
"""Of effects in the order of their size: columns that go together hide effects of different signs from each other."""
SKEW = 0.7
SECOND, RARE = 1 / 3, 0.15
"""The share of the second of two levels, usually and in skewed columns."""
FALL: dict[Effects, float] = {"few": 0.0, "many": 2.0, "one": 2.0}
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

    @property
    def first(self) -> NDArray[np.int64]:
        """The term of each column that competes."""
        return np.repeat(np.arange(len(self.widths)), self.widths)


def layout_of(assumptions: Assumptions) -> Layout:
    """What competes in a study by default."""
    columns = assumptions.columns
    units = [columns_of(unit) for unit in vote_units(candidates_for(assumptions, None))]
    names = (":".join(factor.variable for factor in columns[unit[0]].factors) or "intercept" for unit in units)
    binary = {variable.name for variable in assumptions.predictors if isinstance(variable, Binary)}
    two = (place for place, unit in enumerate(units) if len(unit) == 1 and _two_levels(columns[unit[0]], binary))
    return Layout(tuple(names), tuple(map(len, units)), len(columns), frozenset(two))


def _two_levels(column: Column, binary: set[str]) -> bool:
    factors = column.factors
    return bool(factors) and all(factor.level is not None or factor.variable in binary for factor in factors)


@dataclass(frozen=True)
class World:
    """Public. Supposed rows: `r2` of the response is explained, by few equal effects, by many of falling size, or mostly by one.

    Columns are normal and independent, or correlated (0.3), or more so (0.5) with every second number skewed. A category's
    levels have shares that fall as 1, 1/2, 1/3; of two levels in skewed columns the second has 0.15. The noise is normal
    with standard deviation 1.
    """

    layout: Layout
    r2: float
    effects: Effects
    columns: Columns

    @property
    def words(self) -> str:
        """One line."""
        effects = {"few": "equal effects", "many": "falling effects", "one": "effects, one of them large"}[self.effects]
        columns = {"independent": "independent", "mixed": "correlated", "skewed": "correlated, skewed"}[self.columns]
        return f"R² = {self.r2:g}, {self.active} {effects}, {columns} columns"

    @property
    def active(self) -> int:
        """How many terms have an effect."""
        terms = len(self.layout.widths)
        return max(1, round(math.sqrt(terms) if self.effects == "few" else 0.65 * terms))

    @cached_property
    def weights(self) -> Floats:
        """The effect of each term's standardized signal, before it is scaled to `r2`: spread over the terms, some negative."""
        terms, active = len(self.layout.widths), self.active
        found = np.zeros(terms)
        for k in range(active):
            fall = FALL[self.effects] * k / max(active - 1, 1)
            large = 3 if k == 0 and self.effects == "one" else 1
            found[k * terms // active] = math.exp(-fall) * large * SIGNS[k % len(SIGNS)]
        return found

    @cached_property
    def pool(self) -> tuple[Floats, Floats]:
        """Columns, and the signal in units of the noise: its variance is r2 / (1 - r2)."""
        pool = _pool(replace(self, r2=0.5))
        return pool.columns, pool.signal * math.sqrt(self.r2 / (1 - self.r2))

    @cached_property
    def pilot(self) -> tuple[Floats, Floats]:
        """The covariances of the columns, and those of columns and signal."""
        pool = _pool(replace(self, r2=0.5))
        return pool.covariance, pool.cross * math.sqrt(self.r2 / (1 - self.r2))

    def rows(self, rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """So many rows: columns and response."""
        columns, signal = self.pool
        chosen = rng.integers(0, POOL, count)
        return columns[chosen], signal[chosen] + rng.standard_normal(count)

    def draw(self, rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """New rows: columns and signal, before they are centred and scaled."""
        terms = len(self.layout.widths)
        latent = rng.standard_normal((count, terms))
        together = CORRELATION[self.columns]
        if together > 0:
            latent = math.sqrt(1 - together) * latent + math.sqrt(together) * rng.standard_normal((count, 1))
        made, signal = [], np.zeros(count)
        for term, (width, weight) in enumerate(zip(self.layout.widths, self.weights, strict=True)):
            skewed = self.columns == "skewed" and term % 2 == 1
            if term in self.layout.two_levels:
                columns, one = _dummy(latent[:, term], RARE if skewed else SECOND)
            else:
                columns, one = _term(latent[:, term], width, skewed=skewed)
            made.append(columns)
            signal += weight * one
        return np.concatenate(made, axis=1), signal


def _dummy(latent: Floats, share: float) -> tuple[Floats, Floats]:
    """Zeros and ones, and the same standardized."""
    ones = np.asarray(latent > NormalDist().inv_cdf(1 - share), dtype=np.float64)
    return ones[:, None], (ones - share) / math.sqrt(share * (1 - share))


def _term(latent: Floats, width: int, *, skewed: bool) -> tuple[Floats, Floats]:
    """The columns of a term, and its standardized signal: the number itself, or the rank of a category's level."""
    if width == 1:
        values = latent
        if skewed:
            values = (np.exp(SKEW * latent) - math.exp(SKEW**2 / 2)) / math.sqrt(
                math.expm1(SKEW**2) * math.exp(SKEW**2)
            )
        return values[:, None], values
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
    """Public. Rows of a world and their covariances, the signal's variance being 1."""

    columns: Floats
    signal: Floats
    covariance: Floats
    cross: Floats


@lru_cache(maxsize=8)
def _pool(world: World) -> _Pool:
    """The rows that worlds of every R^2 share."""
    columns, signal = world.draw(np.random.default_rng(1), POOL)
    columns, signal = columns - columns.mean(axis=0), signal - signal.mean()
    signal = signal / math.sqrt(max(float(signal.var()), 1e-12))
    return _Pool(columns, signal, columns.T @ columns / POOL, columns.T @ signal / POOL)


def worlds_of(layout: Layout, r2: float | None = None) -> tuple[World, ...]:
    """The worlds of a plan, four for every R^2 that is usual or for the one given."""
    given = USUAL_R2 if r2 is None else (r2,)
    kinds: tuple[tuple[Effects, Columns], ...] = (
        ("few", "independent"),
        ("many", "mixed"),
        ("many", "skewed"),
        ("one", "skewed"),
    )
    return tuple(World(layout, each, effects, columns) for each in given for effects, columns in kinds)


def typical(layout: Layout, r2: float | None = None) -> World:
    """One of them, for what is said of a single world."""
    return World(layout, 0.1 if r2 is None else r2, "many", "mixed")
