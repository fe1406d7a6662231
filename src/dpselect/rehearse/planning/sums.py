"""Public. The sums of products that a supposed world would have in a study's own columns: what an estimate would start from."""

from __future__ import annotations

import math

import numpy as np

from dpselect.assume.candidates import candidates_for, columns_of, vote_units
from dpselect.assume.study import Study
from dpselect.assume.terms import Column
from dpselect.assume.variables import GRID, Binary, Numeric
from dpselect.gather.moments import Moments
from dpselect.rehearse.planning.own_units import SPREADS
from dpselect.rehearse.planning.worlds import POOL, Floats, World


def supposed_products(study: Study, world: World) -> Floats:
    """The products that a row of a world has on the average, stated bounds spanning four standard deviations.

    Nothing is read and nothing is drawn: only the world's own rows are used.
    """
    table, spread = _explained(study, world)
    products = table.T @ table / POOL
    products[-1, -1] += spread**2 * (1 - world.r2)
    return np.asarray(products)


def supposed_lines(study: Study, world: World) -> Floats:
    """The same rows one by one, with what is not explained: a line a column, the response last, on the grid of bounds."""
    table, spread = _explained(study, world)
    rng = np.random.default_rng(POOL)
    if isinstance(study.response, Binary):
        table[:, -1] = np.where(rng.random(POOL) < (1 + table[:, -1]) / 2, 1.0, -1.0)
    else:
        table[:, -1] += spread * math.sqrt(1 - world.r2) * rng.standard_normal(POOL)
    return np.ascontiguousarray(np.clip(np.floor(table.T * GRID + 0.5), -GRID, GRID))


def _explained(study: Study, world: World) -> tuple[Floats, float]:
    """The columns of a world's rows as the program scales them, what they explain of the response last, and its spread."""
    units = [columns_of(unit) for unit in vote_units(candidates_for(study, None))]
    design, signal = np.ones((POOL, len(study.columns))), np.zeros(POOL)
    start = 0
    for unit, weight in zip(units, world.weights, strict=True):
        own = world.pool[0][:, start : start + len(unit)]
        start += len(unit)
        if study.columns[unit[0]].factors:
            design[:, list(unit)], each = _scaled(own, study, [study.columns[place] for place in unit])
            signal += weight * each
    signal *= math.sqrt(world.r2 / max(float(signal.var()), 1e-12))
    spread = 1.0 if isinstance(study.response, Binary) else 2 / SPREADS
    return np.column_stack([design, spread * (signal - signal.mean())]), spread


def supposed_moments(study: Study, products: Floats, rows: int) -> Moments:
    """The moments of so many such rows."""
    whole = [[round(float(cell) * rows * GRID) * GRID for cell in row] for row in products]
    names = tuple(column.name for column in study.columns)
    return Moments(rows, np.array(whole, dtype=object), names, study.hash)


def likely_models(study: Study, world: World) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The columns of the terms that have an effect in the world, and those of as many terms with all others among them.

    Both have the intercept where it is always in; the second is empty where every term has an effect.
    """
    units = [columns_of(unit) for unit in vote_units(candidates_for(study, None))]
    acting = [unit for unit, weight in zip(units, world.weights, strict=True) if weight]
    idle = [unit for unit, weight in zip(units, world.weights, strict=True) if not weight]
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
