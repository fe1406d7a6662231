"""The private choice: the index of a candidate with a low score."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpselect.assume.recipe import Mechanism
from dpselect.errors import DataError, StudyError
from dpselect.penalize.scores import Scores
from dpselect.randomize.opendp_door import (
    LAPLACE_ROUNDING,
    check_epsilon,
    choice_measurement,
    choice_price,
    invoke,
    scale_within,
)


def choose(scores: Scores, mechanism: Mechanism, epsilon: float) -> int:
    """The index of the private minimum, drawn once, at a pure price of at most epsilon.

    Formal guarantee: on tables between which the changes of the scores differ by at most `scores.range`, the chances of
    every index differ by a factor of at most exp(epsilon). The exponential mechanism is moreover (epsilon^2/8)-zCDP. The
    price is read back from OpenDP's privacy map. If the range is infinite, the choice is uniform and costs nothing.

    Tested: tests/randomize/test_choice.py, tests/claims/test_privacy_audit.py
    """
    values = scores.values
    if not (isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1 and values.size > 0):
        raise DataError("The scores must be one vector of doubles, at least one a candidate.")
    if not np.isfinite(values).all():
        raise DataError("The scores must be finite.")
    scale = noise_scale(mechanism, scores.range, epsilon)
    if not math.isfinite(scale):
        # All scores alike: every mechanism is then uniform, and permute-and-flip is OpenDP's quickest.
        return int(invoke(choice_measurement("permute-and-flip", 1.0), np.zeros(values.size)))
    drawn = invoke(choice_measurement(mechanism, scale), values)
    if mechanism == "laplace":
        # Only the place of the minimum leaves this function. argmin breaks ties by the index, which is public.
        return int(np.argmin(drawn))
    return int(drawn)


@lru_cache(maxsize=64)
def noise_scale(mechanism: Mechanism, range: float, epsilon: float) -> float:
    """The scale range/epsilon, rounded up until OpenDP's privacy map prices it within epsilon. Public.

    Infinite where the range is, or where the quotient overflows; the choice is then uniform.
    """
    check_epsilon(epsilon)
    if not range >= 0:
        raise StudyError(f"The range of the scores' change is {range!r}; it must be at least 0.")
    if mechanism == "laplace":
        if not epsilon > 2 * LAPLACE_ROUNDING:
            raise StudyError(f"epsilon is {epsilon!r}; the laplace mechanism needs more than 2^-40.")
        epsilon = math.nextafter(epsilon - LAPLACE_ROUNDING, 0)
    return scale_within(lambda scale: choice_price(mechanism, scale, range), range, epsilon)
