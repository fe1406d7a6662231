"""Public. What a model leaves unexplained: its residual deviation and R^2, each with an interval, or unsaid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np

from dpselect.release.equations.descent import descend
from dpselect.release.equations.findings import Fit
from dpselect.release.equations.inversion import kept_sets
from dpselect.release.equations.marginals import marginals

MOST_RATIO = 2.0
"""A residual deviation is determined if the upper end of its interval is at most this many times the lower one."""

MOST_LENGTH = 0.5
"""R^2 is determined if its interval is no longer."""

ALLOWANCE = 1.25
"""Intervals of the residual variance are so many times as long: they are said only where short, which luck brings about too."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Public. A number that cannot be negative with its interval; nothing at all where this price cannot show it."""

    value: float | None = None
    lower: float | None = None
    upper: float | None = None

    @property
    def determined(self) -> bool:
        """Whether there is a number to print."""
        return self.value is not None

    def times(self, unit: float) -> Amount:
        """The same in other units."""
        return Amount(*(None if part is None else part * unit for part in (self.value, self.lower, self.upper)))


def unexplained(fit: Fit, level: float) -> tuple[Amount, Amount]:
    """The deviation of a residual where the response is in [-1, 1], and R^2."""
    if not fit.quiet:
        return Amount(), Amount()
    low, middle, high = _variance(fit, level)
    return _deviation(low, middle, high), _share(fit, (low, middle, high), level)


def _deviation(low: float, middle: float, high: float) -> Amount:
    # No residual variance is below 0 or above 1: an interval that reaches there says nothing on that side.
    if not (low > 0 and high < 1 and high <= MOST_RATIO**2 * low):
        return Amount()
    return Amount(float(np.sqrt(middle)), float(np.sqrt(low)), float(np.sqrt(high)))


def _share(fit: Fit, variance: tuple[float, float, float], level: float) -> Amount:
    """All R^2 = 1 - q for which RSS - q TSS is within its noise of zero (Fieller), cut to [0, 1], where R^2 lies by definition.

    The noise of RSS is what its interval says, to each side; that of TSS, and what both share, is to first order that of t'Mt
    at the mean's t and the model's.
    """
    problem = fit.problem
    if problem.constant is None:
        return Amount()
    z, rest = NormalDist().inv_cdf((1 + level) / 2), float(np.clip(variance[1], 0.0, 1.0))
    total = problem.total / problem.rows
    mean = np.zeros(len(problem.precision) + 1)
    mean[-1] = -1.0
    mean[problem.constant] = problem.pivot.moments[problem.constant, -1] / problem.rows
    model = np.append(fit.top.unknowns[0], -1.0)
    spread = problem.pivot.noise.of_vector(np.stack([mean, model])) / problem.rows**2
    sampling = 2 / problem.rows
    shares = np.linspace(-1.0, 2.0, 3001)
    away = np.where(shares * total < rest, rest - variance[0], variance[2] - rest)
    of_rest = np.maximum((away / z) ** 2, float(model @ spread[1] @ model) + sampling * rest**2)
    of_total = float(mean @ spread[0] @ mean) + sampling * total**2
    of_both = float(model @ spread[0] @ model) + sampling * rest**2
    noise = np.sqrt(np.maximum(of_rest + shares**2 * of_total - 2 * shares * of_both, 1e-300))
    kept = shares[np.abs(rest - shares * total) <= z * noise]
    # The length counts before the cut: a cut interval is short where it says least.
    if not kept.size or not kept[-1] - kept[0] <= MOST_LENGTH:
        return Amount()
    low, high = max(1 - float(kept[-1]), 0.0), min(1 - float(kept[0]), 1.0)
    if not low <= high:
        return Amount()  # no R^2 that there can be is kept: noise has spoken
    return Amount(min(max(1 - rest / total, low), high), low, high)


def _variance(fit: Fit, level: float) -> tuple[float, float, float]:
    """RSS/rows: lower end, median and upper end.

    The last row of M t is -RSS: one more equation of the pivot for one more unknown, flat beforehand. Residuals of a table vary
    around those of the population as normal ones do. As for a coefficient, the ends are the outer ones of the marginal and
    of the test.
    """
    width = len(fit.problem.precision)
    sampling = np.zeros((width + 1, width + 1))
    sampling[:width, :width] = fit.pivot.sampling
    sampling[width, width] = 2 * fit.variance**2 * fit.problem.rows
    pivot = replace(fit.pivot, sampling=sampling, residual=True)
    function = partial(fit.problem.likely, pivot)
    top = descend(function, np.append(fit.top.unknowns[0], fit.variance)[None])
    direction = np.zeros((1, width + 1))
    direction[0, width] = 1.0
    chances = np.array([(1 - level) / 2, 0.5, (1 + level) / 2])
    low, middle, high = marginals(function, top, direction).quantiles(chances)[0]
    z = NormalDist().inv_cdf((1 + level) / 2)
    tested = kept_sets(fit.problem, pivot, top, direction, z, (np.array([0.0]), np.array([1.0])))[0]
    low, high = min(low, tested[0]), max(high, tested[1])
    return float(middle - ALLOWANCE * (middle - low)), float(middle), float(middle + ALLOWANCE * (high - middle))
