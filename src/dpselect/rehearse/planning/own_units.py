"""Public. A standardized effect in the units of each variable, supposing what stated bounds say about spread."""

from __future__ import annotations

import math

from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric
from dpselect.rehearse.planning.supposed import three_digits
from dpselect.rehearse.planning.worlds import Layout

SPREADS = 4
"""Standard deviations that stated bounds are supposed to span."""


def in_own_units(study: Study, layout: Layout, effect: float, r2: float) -> tuple[tuple[str, str], ...]:
    """For each variable that competes by itself: its smallest effect that is found, as a sentence's end."""
    response = study.response
    left = _spread(response)
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
            share = 1 / len(variable.categories)
            size = effect * noise / math.sqrt(share * (1 - share))
            found.append((name, f"{three_digits(size)}{unit} between a level and the others"))
        elif (spread := _spread(variable)) is not None:
            found.append((name, f"{three_digits(effect * noise / spread)}{unit} for one unit"))
        else:
            found.append((name, f"{three_digits(effect * noise)}{unit} for one standard deviation"))
    return tuple(found)


def _spread(variable: Numeric | Binary | Categorical) -> float | None:
    if isinstance(variable, Numeric) and variable.bounded:
        return 2 * variable.half_width / SPREADS
    return 0.5 if isinstance(variable, Binary) else None
