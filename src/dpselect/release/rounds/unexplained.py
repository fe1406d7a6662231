"""Public. Residual deviation and R^2 of a linear model, with intervals, from the first Gram and the last coefficients."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from dpselect.assume.queries import Floats
from dpselect.release.equations.findings import HIDDEN, MAX_DEVIATION_RATIO, MAX_SHARE_LENGTH, Amount
from dpselect.release.rounds.facts import Facts
from dpselect.release.rounds.scales import Scales
from dpselect.release.rounds.steps import Standpoint

TAIL_DOUBT = 0.05
"""Of a variance: what shortened rows and a clipped response may have taken from it."""
NORMAL_KURTOSIS = 3.0


def unexplained(facts: Facts, scales: Scales, here: Standpoint, coefficients: Floats) -> tuple[Amount, Amount]:
    """The deviation of a residual in the user's units, and R^2; nothing where noise hides them.

    Both are quadratic forms of one noisy matrix: a'Sa with a = (b, -1) is the residuals' sum of squares, with a = (mean, 0, .., -1)
    that around the mean. The noise of a'Ea has deviation |a|^2 times that of the matrix.
    """
    if not facts.gaussian or not facts.intercept:
        return HIDDEN, HIDDEN
    moments, width = here.moments, len(coefficients)
    rows = max(float(moments.sums[0, 0]), 0.5 * facts.rows)
    mean = np.zeros(width)
    mean[0] = moments.sums[0, width] / moments.scale / rows
    residual, total = (np.append(b, -1 / moments.scale) for b in (coefficients, mean))
    rest, whole = (max(float(a @ moments.sums @ a) / rows, 1e-9) for a in (residual, total))
    z = NormalDist().inv_cdf((1 + facts.level) / 2)
    sampling = math.sqrt((NORMAL_KURTOSIS - 1) / rows)
    errors = [
        math.hypot(moments.noise * float(a @ a) / rows, (sampling + TAIL_DOUBT / z) * value)
        for a, value in ((residual, rest), (total, whole))
    ]
    return _deviation(facts, scales, rest, z * errors[0]), _share(rest, whole, z, errors)


def _deviation(facts: Facts, scales: Scales, rest: float, half: float) -> Amount:
    low, high = rest - half, rest + half
    if not (low > 0 and high <= MAX_DEVIATION_RATIO**2 * low):
        return HIDDEN
    unit = scales.response_deviation * facts.response_unit
    return Amount(*(unit * math.sqrt(variance) for variance in (rest, low, high)))


def _share(rest: float, whole: float, z: float, errors: list[float]) -> Amount:
    """R^2 = 1 - rest/whole, to first order; the noise of both counts as if it were apart, which is more than it is."""
    ratio = rest / whole
    half = z * math.hypot(errors[0], ratio * errors[1]) / whole
    if not (z * errors[1] < 0.5 * whole and 2 * half <= MAX_SHARE_LENGTH):
        return HIDDEN
    value = min(max(1 - ratio, 0.0), 1.0)
    return Amount(value, min(max(1 - ratio - half, 0.0), value), max(min(1 - ratio + half, 1.0), value))
