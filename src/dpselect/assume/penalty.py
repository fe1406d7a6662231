"""Public. What a column costs: a number, AIC, BIC, a number a column, or a default from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.assumptions import Assumptions
from dpselect.assume.candidates import Candidates
from dpselect.assume.sensitivity import loss_range
from dpselect.assume.variables import as_number
from dpselect.errors import AssumptionError

Penalty = float | str | Sequence[float]


def column_penalties(penalty: Penalty, width: int, rows: int | None) -> NDArray[np.float64]:
    """The price of each column: AIC is 2, BIC is log n (only where n is public), a number is itself."""
    if isinstance(penalty, str):
        each = [_criterion(penalty, rows)] * width
    elif np.ndim(penalty) == 0:
        each = [as_number(penalty, "The penalty")] * width
    else:
        each = [as_number(value, "A column's penalty") for value in np.asarray(penalty).tolist()]
    if len(each) != width:
        raise AssumptionError(f"There are {len(each)} penalties for {width} columns; give one number, or one a column.")
    if not all(value >= 0 for value in each):
        raise AssumptionError(f"The penalty is {min(each):g}; it must be at least 0.")
    return np.array(each, np.float64)


def _criterion(name: str, rows: int | None) -> float:
    if name == "aic":
        return 2.0
    if name != "bic":
        raise AssumptionError(f"The penalty is {name!r}; it must be a number, 'aic' or 'bic'.")
    if rows is None:
        raise AssumptionError("BIC uses the number of rows, which is private with add-remove-one: give a number.")
    return math.log(rows)


def candidate_penalties(each: NDArray[np.float64], candidates: Candidates) -> NDArray[np.float64]:
    """The price of each candidate: the sum over its columns. A public vector, the same for every table."""
    if (each == each[0]).all():
        return candidates.sizes().astype(np.float64) * float(each[0])
    masks = candidates.masks()
    total = np.zeros(len(masks))
    for j, value in enumerate(each):
        total += ((masks >> np.uint64(j)) & np.uint64(1)).astype(np.float64) * value
    return total


def default_penalty(
    assumptions: Assumptions, candidates: Candidates, epsilon: float, method: str, rows: int | None
) -> float:
    """A column must lower the score by more than the choice's noise would pretend for one of `width` idle columns.

    PCLS: (w/epsilon) log(2 width), in squared units of the response. With it the weight of the models with idle columns,
    relative to the one without, is at most (1 + 1/(2 width))^width < exp(1/2). PCPL: BIC, log n.
    """
    if method == "pcpl":
        assert rows is not None
        return math.log(rows)
    scaled = loss_range(1.0, assumptions.rho, assumptions.neighbors) / epsilon * math.log(2 * candidates.width)
    return scaled * assumptions.r**2
