"""Public. The paper's setting as assumptions, for those who hold X and y as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpselect.assume.assumptions import Assumptions
from dpselect.assume.sensitivity import Neighbors
from dpselect.assume.variables import Numeric, as_number
from dpselect.errors import AssumptionError, DataError

RESPONSE = "y"


def plain_assumptions(
    X: Any, *, r: float, R: float, neighbors: Neighbors = "replace-one", names: Sequence[str] | None = None
) -> Assumptions:
    """The paper's setting as assumptions: columns in [-1, 1], response in [-r, r], no intercept but one that is a column of X."""
    half = as_number(r, "r")
    if not half > 0:
        raise AssumptionError(f"r is {half:g}; the bound on |y| must be above 0.")
    listed = _names(X, names)
    response = RESPONSE if RESPONSE not in listed else "response"
    predictors = [Numeric(name, -1, 1) for name in listed]
    return Assumptions(
        Numeric(response, -half, half), predictors, intercept="none", radius=as_number(R, "R"), neighbors=neighbors
    )


def _names(X: Any, names: Sequence[str] | None) -> list[str]:
    if names is None:
        names = getattr(X, "columns", None)
    shape = np.shape(plain_values(X))
    if len(shape) != 2:
        raise DataError(f"X has {len(shape)} dimension(s); give a table with one row a record.")
    if names is None:
        return [f"x{j}" for j in range(shape[1])]
    listed = [str(name) for name in names]
    if len(listed) != shape[1]:
        raise AssumptionError(f"There are {len(listed)} names for {shape[1]} columns of X; give one a column.")
    return listed


def plain_values(X: Any) -> Any:
    """A data frame's values; anything else as it is."""
    to_numpy = getattr(X, "to_numpy", None)
    return X if to_numpy is None else to_numpy()
