"""PCPL's noisy bound: a least loss that is too high with chance delta only."""

from __future__ import annotations

import math
from fractions import Fraction

from dpselect.assume.lemmas.sensitivity import profile_shift
from dpselect.errors import DataError, StudyError
from dpselect.randomize.opendp_door import check_epsilon, invoke, number_measurement, scale_within


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
