"""Public. From the scaled columns back to the user's own: names, units, and the design matrix of new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import INTERCEPT, Factor
from dpselect.assume.study.variables import Binary, Categorical
from dpselect.errors import DataError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class UserScale:
    """Public. User coefficients are offsets + matrix @ scaled coefficients, one row a name.

    A number's slope is per unit of the variable, a dummy's is its level against the reference, a product's is per unit of
    the product of its factors, each number measured from the middle of its bounds. A model without an intercept goes
    through the middle of all bounds, so in the user's units it has one; it is listed unless it is zero whatever the data.
    """

    names: tuple[str, ...]
    matrix: Floats
    offsets: Floats


def user_scale(assumptions: Assumptions, columns: Sequence[int]) -> UserScale:
    """How the scaled coefficients of these columns become the user's."""
    listed = [assumptions.columns[place] for place in columns]
    numbers = {variable.name: variable for variable in assumptions.predictors if not isinstance(variable, Categorical)}
    half = assumptions.response.half_width
    constant, names, rows = np.zeros(len(listed)), [], []
    for place, column in enumerate(listed):
        if not column.factors:
            constant[place] = half
            continue
        width = float(np.prod([numbers[f.variable].half_width for f in column.factors if f.level is None]))
        row = np.zeros(len(listed))
        row[place] = half / width
        names.append(column.name)
        rows.append(row)
        if len(column.factors) == 1 and column.factors[0].level is None:
            constant[place] = -row[place] * numbers[column.name].middle
    middle = assumptions.response.middle
    if constant.any() or middle != 0 or not names:
        names, rows = [INTERCEPT, *names], [constant, *rows]
    offsets = np.zeros(len(names))
    if names[0] == INTERCEPT:
        offsets[0] = middle
    return UserScale(tuple(names), np.array(rows).reshape(len(names), len(listed)), offsets)


def beyond_range(assumptions: Assumptions, name: str, size: float | None) -> bool:
    """Whether a coefficient of this size would move the response by more than its stated range; an intercept, lie beyond it.

    That such a size could have been told from zero tells nobody what a price can show; none at all is beyond too. Needs all bounds,
    as an estimate does.
    """
    if size is None:
        return True
    response = assumptions.response
    if name == INTERCEPT:
        return size > abs(response.middle) + response.half_width
    column = next(each for each in assumptions.columns if each.name == name)
    numbers = {each.name: each.half_width for each in assumptions.predictors if not isinstance(each, Categorical)}
    halves = [numbers[factor.variable] for factor in column.factors if factor.level is None]
    # From one bound to the other is twice the half width; from the reference to a level is one step.
    return size * float(np.prod(halves)) * (2 if halves else 1) > 2 * response.half_width


def design_matrix(table: Any, assumptions: Assumptions, columns: Sequence[int]) -> Floats:
    """The columns of the user's design but the intercept, for new rows: numbers as they are, dummies as 0 and 1.

    `table` is a data frame or a mapping by name, or an array whose columns are the predictors as stated. Products are of
    numbers measured from the middle of their bounds.
    """
    listed = [assumptions.columns[place] for place in columns]
    values: dict[str, Any] = {}
    for column in listed:
        for factor in column.factors:
            if factor.variable not in values:
                values[factor.variable] = _values(table, factor.variable, assumptions)
    rows = _length(table)
    matrix = np.empty((rows, sum(bool(column.factors) for column in listed)))
    for place, column in enumerate(column for column in listed if column.factors):
        alone = len(column.factors) == 1
        matrix[:, place] = np.prod([_factor(values, f, assumptions, alone) for f in column.factors], axis=0)
    return matrix


def _factor(values: Mapping[str, Any], factor: Factor, assumptions: Assumptions, alone: bool) -> Floats:
    variable = next(v for v in assumptions.predictors if v.name == factor.variable)
    cells = values[factor.variable]
    if isinstance(variable, Categorical | Binary):
        known = np.isin(cells, variable.levels)
        if not known.all():
            raise DataError(f"{factor.variable!r} has cells that are missing or of a level that was not stated.")
        # No or yes is one column, whose second level is one.
        cells = np.asarray(cells == (variable.levels[1] if factor.level is None else factor.level), dtype=np.float64)
        if isinstance(variable, Categorical):
            return cells
    numbers = np.asarray(cells, dtype=np.float64)
    return numbers if alone else numbers - variable.middle


def _values(table: Any, name: str, assumptions: Assumptions) -> NDArray[Any]:
    if isinstance(table, np.ndarray | list | tuple):
        array = np.asarray(table)
        if array.ndim != 2 or array.shape[1] != len(assumptions.predictors):
            raise DataError(
                f"An array of new rows needs {len(assumptions.predictors)} columns, the predictors in the order stated."
            )
        return np.asarray(array[:, [variable.name for variable in assumptions.predictors].index(name)])
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


def linear_regression(values: Mapping[str, float]) -> Any:
    """A fitted scikit-learn LinearRegression with these coefficients, an intercept among them or none."""
    from sklearn.linear_model import LinearRegression

    slopes = {name: value for name, value in values.items() if name != INTERCEPT}
    model = LinearRegression()
    model.intercept_ = values.get(INTERCEPT, 0.0)
    model.coef_ = np.array(list(slopes.values()))
    model.n_features_in_ = len(slopes)
    model.feature_names_in_ = np.array(list(slopes), dtype=object)
    return model
