"""The private choice: the index of a candidate with a low score, and the noisy bound that PCPL needs for it."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpselect.assume.lemmas.sensitivity import profile_shift
from dpselect.assume.recipe import Mechanism
from dpselect.errors import DataError, StudyError
from dpselect.penalize.scores import Scores
from dpselect.randomize.coins import permute_and_flip
from dpselect.randomize.digits import one_of
from dpselect.randomize.opendp_door import (
    LAPLACE_ROUNDING,
    check_epsilon,
    choice_measurement,
    choice_price,
    invoke,
    number_measurement,
    scale_within,
)


def choose(scores: Scores, mechanism: Mechanism, epsilon: float) -> int:
    """The index of the private minimum, drawn once, at a pure price of at most epsilon.

    Formal guarantee: on tables between which the changes of the scores differ by at most `scores.range`, the chances of
    every index differ by a factor of at most exp(epsilon). The exponential mechanism is moreover (epsilon^2/8)-zCDP.
    Permute-and-flip is drawn by coins, the others by OpenDP; the price of each is read back from OpenDP's privacy map.
    If the range is infinite, the choice is uniform and costs nothing.

    Tested: tests/randomize/test_choice.py, tests/claims/test_privacy_audit.py
    """
    values = scores.values
    if not (isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1 and values.size > 0):
        raise DataError("The scores must be one vector of doubles, at least one a candidate.")
    if not np.isfinite(values).all():
        raise DataError("The scores must be finite.")
    scale = noise_scale(mechanism, scores.range, epsilon)
    if not math.isfinite(scale):
        return one_of(range(values.size))  # all scores are alike beside such noise
    if mechanism == "permute-and-flip":
        return permute_and_flip(values, scale)
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


def noisy_least_loss(least_loss: float, sensitivity: float, epsilon: float, delta: float) -> float:
    """m~ = m + scale (Z - log(1/(2 delta))), Z standard Laplace, drawn once; scale = sensitivity/epsilon.

    Formal guarantee: m~ is epsilon-differentially private when m moves by at most `sensitivity`, the price read back
    from OpenDP's privacy map; and m~ > m has a chance of at most delta.

    Why, with rounding: OpenDP adds its noise exactly and rounds v = m + scale Z to the nearest double. If
    Z <= log(1/(2 delta)) =: t, which fails with chance delta, then v <= (m + scale t)(1 + 2^-53), so v - scale t exceeds m by
    no more than 2^-53 (|v| + scale t) (1 + 2^-52). That, and the rounding of the two subtractions, is below the
    2^-50 (|v| + scale t) that is taken off as well. What happens to v is post-processing: it costs nothing.

    Source: Lei et al., Algorithm 2.
    Tested: tests/randomize/test_least_loss.py
    """
    check_epsilon(epsilon)
    if not 0 < delta < 0.5:
        raise StudyError(f"delta is {delta!r}; it must be above 0 and below 0.5.")
    if not 0 < sensitivity < math.inf:
        raise StudyError(f"The sensitivity of the least loss is {sensitivity!r}; it must be a positive number.")
    if not math.isfinite(least_loss):
        raise DataError("The least loss must be finite.")
    scale = scale_within(lambda scale: Fraction(number_measurement(scale).map(sensitivity)) ** 2, sensitivity, epsilon)
    if not math.isfinite(scale):
        # So much noise that no double holds it: nothing is known about the least loss.
        return -math.inf
    noisy = float(invoke(number_measurement(scale), least_loss))
    shift = scale * profile_shift(delta)
    return noisy - shift - 2.0**-50 * (abs(noisy) + shift)
