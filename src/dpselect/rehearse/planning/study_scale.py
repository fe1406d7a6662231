"""Public. A plan of block votes: a scenario on the scale of a study, as units, products, moments and likely models."""

from __future__ import annotations

import math

import numpy as np

from dpselect.assume.candidates import candidates_for, columns_of, vote_units
from dpselect.assume.study import Study
from dpselect.assume.terms import Column
from dpselect.assume.variables import GRID, Binary, Categorical, Numeric
from dpselect.gather.moments import Moments
from dpselect.rehearse.planning.scenarios import POOL, Floats, Layout, Scenario
from dpselect.rehearse.planning.supposed import three_digits

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
