"""Public. What the rounds of an estimate have found; and the residual deviation and R^2 of a linear model, from the last round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dpselect.assume.queries import Floats, Noisy
from dpselect.release.equations.findings import HIDDEN, MAX_DEVIATION_RATIO, MAX_SHARE_LENGTH, Amount, Finding
from dpselect.release.rounds.facts import Facts
from dpselect.release.rounds.scales import Scales
from dpselect.release.rounds.steps import Standpoint

LEAST_CONSTANT = 1e-6
"""Of the rows: a constant's sum of squares below it is not one."""
TAIL_DOUBT = 0.05
"""Of a sum of squares: what a clipped tail, or shortened rows, may have taken from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Public. What the rounds have found, in the user's units: a finding for each name, of ratios for their logarithm.

    `predictive` are the coefficients to predict with, `scales` the standard deviations of columns of numbers. `radius` is that of
    the last clip in units of a usual gradient, and `clip_bound` what it may have cut off, in deviations of the noise: what the
    report says about tails.
    """

    names: tuple[str, ...]
    findings: tuple[Finding, ...]
    residual_deviation: Amount
    r_squared: Amount
    rows: float
    nu: float
    predictive: tuple[float, ...]
    radius: float
    clip_bound: float
    scales: dict[str, float]


def unexplained(
    facts: Facts,
    scales: Scales,
    here: Standpoint,
    squares: Noisy,
    coefficients: Floats,
    covariance: Floats,
    independent: float,
) -> tuple[Amount, Amount]:
    """The deviation of a residual in the user's units, and R^2; nothing where noise hides them.

    `squares` is the noisy sum of squared residuals at the last standpoint, which a last step makes smaller by step' H step. What
    the model explains is b'Hb with the Hessian H of the slopes around their means; privacy noise in b, whose covariance is given,
    makes it larger on average by tr(H cov), which is taken off. `independent` are the rows, or the clusters of alike ones.
    """
    rows = facts.rows
    back = np.linalg.pinv(here.matrix)
    hessian = back.T @ here.hessian @ back
    if not hessian[0, 0] > LEAST_CONSTANT * rows:
        return HIDDEN, HIDDEN
    moved = coefficients - here.center
    rest = float(squares.sums[0, 0]) - float(moved @ hessian @ moved)
    centered = hessian - np.outer(hessian[0], hessian[0]) / hessian[0, 0]
    # The slopes' direction with the constant that keeps the mean: centered @ slopes = hessian @ direction.
    direction = coefficients.copy()
    direction[0] = -float(hessian[0, 1:] @ direction[1:]) / hessian[0, 0]
    noise = centered @ covariance
    explained = float(direction @ hessian @ direction) - float(np.trace(noise))
    error = squares.deviation**2 + 2 * max(rest, 0.0) ** 2 / independent
    doubt = TAIL_DOUBT * max(rest, 0.0)
    seen = back @ direction
    uncertain = (
        4 * float(coefficients @ centered @ covariance @ centered @ coefficients)
        + 2 * float(np.trace(noise @ noise))
        + float(seen @ here.hessian_noise(seen) @ seen)
        + 4 * max(explained, 0.0) * max(rest, 0.0) / independent
    )
    z = NormalDist().inv_cdf((1 + facts.level) / 2)
    half = z * math.sqrt(error) + doubt
    deviation = _deviation(rest / rows, half / rows, scales.response_deviation * facts.response_unit)
    return deviation, _share(rest, half, max(explained, 0.0), z * math.sqrt(max(uncertain, 0.0)))


def _deviation(variance: float, half: float, unit: float) -> Amount:
    low, high = variance - half, variance + half
    if not (low > 0 and high <= MAX_DEVIATION_RATIO**2 * low):
        return HIDDEN
    return Amount(*(unit * math.sqrt(value) for value in (variance, low, high)))


def _share(rest: float, rest_half: float, explained: float, explained_half: float) -> Amount:
    """R^2 = explained/(explained + rest), to first order."""
    total = explained + rest
    if not (rest > rest_half and total > 0):
        return HIDDEN
    value = explained / total
    half = math.hypot((1 - value) * explained_half, value * rest_half) / total
    if not 2 * half <= MAX_SHARE_LENGTH:
        return HIDDEN
    return Amount(value, max(value - half, 0.0), min(value + half, 1.0))
