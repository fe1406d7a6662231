"""Public. The paper's setting as assumptions, for those who hold X and y as arrays."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.neighbors import Neighbors
from dpselect.assume.study.variables import Numeric, as_number
from dpselect.errors import AssumptionError

RESPONSE = "y"


def plain_assumptions(names: Sequence[str], *, r: float, R: float, neighbors: Neighbors = "replace-one") -> Assumptions:
    """Columns in [-1, 1], the response in [-r, r], no intercept but one that is a column of X."""
    half = as_number(r, "r")
    if not half > 0:
        raise AssumptionError(f"r is {half:g}; the bound on |y| must be above 0.")
    radius = as_number(R, "R")
    if not 0 <= radius <= 1e6 * half:
        raise AssumptionError(f"R is {radius:g}; it must be at least 0 and at most a million times r.")
    response = RESPONSE if RESPONSE not in names else "response"
    predictors = [Numeric(name, -1, 1) for name in names]
    return Assumptions(Numeric(response, -half, half), predictors, intercept="none", radius=radius, neighbors=neighbors)
