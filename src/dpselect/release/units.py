"""Public. From the scaled columns back to the user's own: names, units, and the design matrix of new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.queries import Floats
from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT, Column, Factor
from dpselect.assume.variables import Binary, Categorical, Variable
from dpselect.errors import DataError


@dataclass(frozen=True)
class UserScale:
    """Public. User coefficients are offsets + matrix @ scaled coefficients, one row a name.

    A number's slope is per unit of the variable, a dummy's is its level against the reference, a product's is per unit of
    the product of its factors, each number measured from the middle of its bounds. A model without an intercept goes
    through the middle of all bounds, so in the user's units it has one; it is listed unless it is zero whatever the data.
    Each slope is one scaled coefficient times `slopes`; the intercept is all of them times `constant`, and an offset.
    """

    names: tuple[str, ...]
    slopes: Floats  # one a scaled column, 0 for the intercept's
    constant: Floats
    offsets: Floats

    @cached_property
    def matrix(self) -> Floats:
        """All combinations, one row a name."""
        moving = np.diag(self.slopes)[self.slopes != 0]
        return np.vstack([self.constant, moving]) if self.names[0] == INTERCEPT else moving


def user_scale(study: Study, columns: Sequence[int]) -> UserScale:
    """How the scaled coefficients of these columns become the user's."""
    design = study.columns
    listed = [design[place] for place in columns]
    numbers = {variable.name: variable for variable in study.predictors if not isinstance(variable, Categorical)}
    half, middle = study.response.half_width, study.response.middle
    slopes, constant, names = np.zeros(len(listed)), np.zeros(len(listed)), []
    for place, column in enumerate(listed):
        if not column.factors:
            constant[place] = half
            continue
        slopes[place] = half / prod(numbers[f.variable].half_width for f in column.factors if f.level is None)
        names.append(column.name)
        # A number of its own is 0 elsewhere than in the middle of its bounds; products are measured from there.
        if len(column.factors) == 1 and column.factors[0].level is None:
            constant[place] = -slopes[place] * numbers[column.name].middle
    listed_constant = bool(constant.any() or middle != 0 or not names)
    offsets = np.zeros(len(names) + listed_constant)
    if listed_constant:
        names, offsets[0] = [INTERCEPT, *names], middle
    return UserScale(tuple(names), slopes, constant, offsets)


def beyond_range(study: Study, name: str, size: float | None) -> bool:
    """Whether a coefficient of this size would move the response by more than its stated range; an intercept, lie beyond it.

    That such a size could have been told from zero tells nobody what a price can show; none at all is beyond too. Where a bound is
    not stated no size is beyond it.
    """
    if size is None:
        return True
    response = study.response
    if not response.bounded:
        return False
    if name == INTERCEPT:
        return size > abs(response.middle) + response.half_width
    column = next(each for each in study.columns if each.name == name)
    numbers = {each.name: each for each in study.predictors if not isinstance(each, Categorical)}
    factors = [numbers[factor.variable] for factor in column.factors if factor.level is None]
    if not all(each.bounded for each in factors):
        return False
    halves = [each.half_width for each in factors]
    # From one bound to the other is twice the half width; from the reference to a level is one step.
    return size * prod(halves) * (2 if halves else 1) > 2 * response.half_width


def design_matrix(table: Any, study: Study, columns: Sequence[int]) -> Floats:
    """The columns of the user's design but the intercept, for new rows: numbers as they are, dummies as 0 and 1.

    `table` is a data frame or a mapping by name, or an array whose columns are the predictors as stated. Products are of
    numbers measured from the middle of their bounds, where they have any.
    """
    design, variables = study.columns, {variable.name: variable for variable in study.predictors}
    listed = [design[place] for place in columns if design[place].factors]
    needed = dict.fromkeys(factor.variable for column in listed for factor in column.factors)
    values = {name: _values(table, name, study) for name in needed}
    matrix = np.empty((_length(table), len(listed)))
    for place, column in enumerate(listed):
        matrix[:, place] = _product(column, values, variables)
    return matrix


def _product(column: Column, values: Mapping[str, Any], variables: Mapping[str, Variable]) -> Floats:
    alone = len(column.factors) == 1
    parts = [_factor(values[each.variable], each, variables[each.variable], alone) for each in column.factors]
    return np.asarray(np.prod(parts, axis=0))


def _factor(cells: Any, factor: Factor, variable: Variable, alone: bool) -> Floats:
    if isinstance(variable, Categorical | Binary):
        known = np.isin(cells, variable.categories)
        if not known.all():
            raise DataError(
                f"{factor.variable!r} has missing values, or values that are not among its categories: correct them."
            )
        # No or yes is one column, whose second level is one.
        cells = cells == (variable.categories[1] if factor.level is None else factor.level)
        if isinstance(variable, Categorical):
            return np.asarray(cells, dtype=np.float64)
    numbers = np.asarray(cells, dtype=np.float64)
    return numbers if alone or not variable.bounded else numbers - variable.middle


def _values(table: Any, name: str, study: Study) -> NDArray[Any]:
    if isinstance(table, np.ndarray | list | tuple):
        array = np.asarray(table)
        if array.ndim != 2 or array.shape[1] != len(study.predictors):
            raise DataError(
                f"An array of new rows needs {len(study.predictors)} columns, the predictors in the order stated."
            )
        return np.asarray(array[:, [variable.name for variable in study.predictors].index(name)])
    try:
        return np.asarray(table[name])
    except (KeyError, TypeError, IndexError, ValueError):
        raise DataError(f"The new rows have no column {name!r}; give each variable of the model.") from None
    except Exception as error:  # a data frame library's own kind of "no such column"
        raise DataError(f"The column {name!r} of the new rows cannot be read ({type(error).__name__}).") from None


def _length(table: Any) -> int:
    if isinstance(table, Mapping):
        return len(next(iter(table.values()))) if table else 0
    return int(table.num_rows) if hasattr(table, "num_rows") else len(table)
