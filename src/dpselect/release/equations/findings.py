"""Public. Numbers with intervals from noisy equations: coefficients, residual deviation and R^2, or the word that there are none.

One `fit` serves all of them. A coefficient has two intervals from that fit: the plain one, and the one adjusted for selection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.records import Public
from dpselect.errors import DataError
from dpselect.release.equations.descent import Lowest, descend, marginals
from dpselect.release.equations.inversion import kept_sets, public_bounds
from dpselect.release.equations.pivot import Floats, Pivot
from dpselect.release.equations.problem import Problem

KNOWN_BETTER = 0.5
"""A number is determined if its interval is closed and at most this share of the one that was known beforehand."""

LEAST_ROWS = 6.0
"""Below so many rows for each deviation of a cell's noise times the root of the model's width, nothing is determined."""

MAX_DEVIATION_RATIO = 2.0
"""A residual deviation is determined if the upper end of its interval is at most this many times the lower one."""

MAX_SHARE_LENGTH = 0.5
"""R^2 is determined if its interval is no longer."""

LEAST_UNEXPLAINED = 0.05
"""Of the response's variance, while the coefficients are sought: noise can make what seems left of it less, or negative."""

LEAST_EIGENVALUE_A_ROW = 1e-6
"""Of a matrix of products: next to nothing, for sampling needs a covariance."""

VARIANCE_ALLOWANCE = 1.25
"""Intervals of the residual variance are so many times as long: they are said only where short, which luck brings about too."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Public. A number and its two intervals; an infinite end is open. Without `value` this price could not show it.

    The adjusted ends contain the plain ones, and are the same where nothing was selected. `visible` is the size that the plain
    interval could have told from zero; None where it is open, for then no size could.
    """

    value: float | None
    error: float | None
    lower: float
    upper: float
    adjusted_lower: float
    adjusted_upper: float
    privacy_share: float | None
    visible: float | None

    @property
    def determined(self) -> bool:
        """Whether there is a number to print."""
        return self.value is not None


class Amount(Public, frozen=True, kw_only=False):
    """A number that cannot be negative with its interval; nothing at all where this price cannot show it."""

    value: float | None
    lower: float | None
    upper: float | None

    def __post_init__(self) -> None:
        if len({part is None for part in (self.value, self.lower, self.upper)}) > 1:
            raise DataError("An amount has a value and both ends of its interval, or none of them.")

    @property
    def determined(self) -> bool:
        """Whether there is a number to print."""
        return self.value is not None

    def times(self, unit: float) -> Amount:
        """The same in other units."""
        return Amount(*(None if part is None else part * unit for part in (self.value, self.lower, self.upper)))


HIDDEN = Amount(None, None, None)
"""What this price cannot show."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Public. A model's problem, with the residual variance put in, and the most likely unknowns."""

    problem: Problem
    pivot: Pivot
    top: Lowest
    variance: float
    quiet: bool  # the noise leaves room for something to be determined

    @property
    def scaled(self) -> Floats:
        """The most likely coefficients of the scaled columns: good for prediction, not to be read one by one."""
        return np.asarray(self.problem.change @ self.top.unknowns[0])


def fit(problem: Problem) -> Fit:
    """The most likely unknowns; the residual variance is estimated twice, starting at that of the response."""
    width, rows = len(problem.precision), problem.rows
    gram = _positive_gram(problem.pivot.moments[:width, :width], rows)
    variance = problem.total / rows
    # Two starts, no slopes and a ridge solution, because the density of noisy equations can have more than one top.
    starts = np.zeros((2, width))
    if problem.constant is not None:
        starts[:, problem.constant] = np.clip(problem.pivot.moments[problem.constant, width] / rows, -1.0, 1.0)
    cell = float(np.sqrt(problem.pivot.noise.cells[:width, :width].mean()))
    starts[1] = np.linalg.solve(gram + (1 + cell) * np.eye(width), problem.pivot.moments[:width, width])
    for _ in range(2):
        pivot = replace(problem.pivot, sampling=variance * gram + 1e-9 * rows * np.eye(width))
        function = partial(problem.likely, pivot)
        found = descend(function, starts, steps=60)
        best = int(np.argmin(found.shape.values))
        top = descend(function, found.unknowns[best : best + 1])
        t = np.append(top.unknowns[0], -1.0)
        # Noise can make t'Mt negative or larger than the response's own squares: neither is a residual variance.
        least, most = LEAST_UNEXPLAINED * problem.total / rows, problem.total / rows
        variance = float(np.clip(t @ problem.pivot.moments @ t / max(rows - width, 1.0), least, most))
        starts = found.unknowns
    quiet = rows >= LEAST_ROWS * np.sqrt(width) * problem.loudness
    return Fit(problem, pivot, top, variance, bool(quiet))


def findings(fit: Fit, directions: Floats, *, level: float, considered: int | None = None) -> list[Finding]:
    """A finding for each combination (row of `directions`) of the design's scaled coefficients; no row may be zero.

    `considered` is the number of columns that the model was selected from, by the same rows; None if it was not selected.
    """
    turned = directions @ fit.problem.change
    z = NormalDist().inv_cdf((1 + level) / 2)
    ends, medians = _intervals(fit, fit.pivot, turned, level)
    beforehand = z * np.sqrt(((turned * fit.problem.usual) ** 2 / fit.problem.precision).sum(axis=1))
    known = np.asarray(fit.quiet & (ends[:, 1] - ends[:, 0] <= 2 * KNOWN_BETTER * beforehand))
    ends[~known & _of_open_parts(turned, ends)] = -np.inf, np.inf
    wide = ends
    if considered is not None:
        outer, _ = _intervals(fit, _adjusted(fit, considered, level), turned, level)
        # The wide marginal is pulled more towards what was expected, so it alone need not contain the plain interval.
        wide = np.stack([np.minimum(ends[:, 0], outer[:, 0]), np.maximum(ends[:, 1], outer[:, 1])], axis=1)
    halves, shares = (ends[:, 1] - ends[:, 0]) / 2, _privacy_shares(fit, turned)
    return [
        Finding(
            value=float(medians[k]) if known[k] else None,
            error=float(halves[k] / z) if known[k] else None,
            lower=float(ends[k, 0]),
            upper=float(ends[k, 1]),
            adjusted_lower=float(wide[k, 0]),
            adjusted_upper=float(wide[k, 1]),
            privacy_share=float(shares[k]) if known[k] else None,
            visible=float(halves[k]) if np.isfinite(halves[k]) else None,
        )
        for k in range(len(directions))
    ]


def _intervals(fit: Fit, pivot: Pivot, turned: Floats, level: float) -> tuple[Floats, Floats]:
    """Ends and median of each marginal; the ends are moved out to those of the test, and are open at a public bound.

    An interval that lies wholly beyond the public bounds contradicts them, and is open on both sides. A marginal is short, but
    pulled towards what was expected where much of it is expectation; a test is not pulled.
    """
    function = partial(fit.problem.likely, pivot)
    chances = np.array([(1 - level) / 2, 0.5, (1 + level) / 2])
    low, medians, high = marginals(function, descend(function, fit.top.unknowns), turned).quantiles(chances).T
    tested = kept_sets(fit.problem, pivot, fit.top, turned, NormalDist().inv_cdf((1 + level) / 2))
    least, most = public_bounds(fit.problem, turned)
    low, high = np.minimum(low, tested[:, 0]), np.maximum(high, tested[:, 1])
    possible = (low < most) & (high > least)
    low, high = np.where(possible & (low > least), low, -np.inf), np.where(possible & (high < most), high, np.inf)
    return np.stack([low, high], axis=1), medians


def _of_open_parts(turned: Floats, ends: Floats) -> NDArray[np.bool_]:
    """Which combinations have a part that is open on both sides: an intercept where the slopes that carry it to 0 are unknown.

    What was expected of the slopes closes its interval all the same, at numbers as large as nobody would expect.
    """
    single = np.count_nonzero(turned, axis=1) == 1
    parts = (turned[single & np.isinf(ends).all(axis=1)] != 0).any(axis=0)
    return np.asarray(~single & (turned[:, parts] != 0).any(axis=1))


def _adjusted(fit: Fit, columns: int, level: float) -> Pivot:
    """A pivot whose noise covers every model that could have been selected from so many columns.

    The sampling part counts by Scheffe's multiple (Berk et al. 2013, section 4.8), the privacy noise, drawn after the selection, by
    a normal quantile; each gets half of what may fail. (p + q)^2 <= (1 + s) p^2 + (1 + 1/s) q^2 adds the parts up.
    """
    each, normal = (1 + level) / 2, NormalDist()
    z, apart, multiple = normal.inv_cdf((1 + level) / 2), normal.inv_cdf((1 + each) / 2), scheffe(columns, each)
    t = np.append(fit.top.unknowns[0], -1.0)[None]
    width = len(fit.problem.precision)
    noise = float(np.trace(fit.pivot.noise.of_vector(t)[0, :width, :width]))
    # The s that makes the sum least in total; any s is valid, so what is computed at the top serves everywhere.
    ratio = (apart**2 * noise / (multiple**2 * float(np.trace(fit.pivot.sampling)))) ** 0.5
    ratio = min(max(ratio, 1e-3), 1e3)
    return replace(
        fit.pivot,
        sampling=fit.pivot.sampling * (1 + ratio) * (multiple / z) ** 2,
        noise=fit.pivot.noise.times((1 + 1 / ratio) * (apart / z) ** 2),
    )


def scheffe(columns: int, level: float) -> float:
    """The square root of the chi-squared quantile: the reach that covers every model of `columns` columns at once.

    Exact for one and two columns; else by the Wilson-Hilferty approximation, raised by as much as it can be short.
    """
    if columns <= 2:
        return NormalDist().inv_cdf((1 + level) / 2) if columns == 1 else math.sqrt(-2 * math.log1p(-level))
    z = NormalDist().inv_cdf(level)
    return 1.004 * math.sqrt(columns * (1 - 2 / (9 * columns) + z * math.sqrt(2 / (9 * columns))) ** 3)


def _privacy_shares(fit: Fit, turned: Floats) -> Floats:
    """The part of each squared error that privacy noise brings, to first order at the most likely unknowns."""
    top = fit.top.unknowns
    width = top.shape[1]
    t = np.append(top[0], -1.0)[None]
    inverse = np.linalg.pinv(_positive_gram(fit.pivot.moments[:width, :width], fit.problem.rows))
    moved = turned @ inverse
    noise = np.einsum("ci,ij,cj->c", moved, fit.pivot.noise.of_vector(t)[0, :width, :width], moved)
    sampling = np.einsum("ci,ij,cj->c", moved, fit.pivot.sampling, moved)
    return np.asarray(noise / (noise + sampling))


def _positive_gram(gram: Floats, rows: float) -> Floats:
    # Noise makes small eigenvalues negative: they are raised and not dropped.
    values, vectors = np.linalg.eigh(gram)
    return np.asarray((vectors * np.maximum(values, LEAST_EIGENVALUE_A_ROW * rows)) @ vectors.T)


def unexplained(fit: Fit, level: float) -> tuple[Amount, Amount]:
    """The deviation of a residual where the response is in [-1, 1], and R^2."""
    if not fit.quiet:
        return HIDDEN, HIDDEN
    low, middle, high = _variance(fit, level)
    return _deviation(low, middle, high), _share(fit, (low, middle, high), level)


def _deviation(low: float, middle: float, high: float) -> Amount:
    # No residual variance is below 0 or above 1: an interval that reaches there says nothing on that side.
    if not (low > 0 and high < 1 and high <= MAX_DEVIATION_RATIO**2 * low):
        return HIDDEN
    return Amount(float(np.sqrt(middle)), float(np.sqrt(low)), float(np.sqrt(high)))


def _share(fit: Fit, variance: tuple[float, float, float], level: float) -> Amount:
    """All R^2 = 1 - q for which RSS - q TSS is within its noise of zero (Fieller), cut to [0, 1], where R^2 lies by definition.

    The noise of RSS is what its interval says, to each side; that of TSS, and what both share, is to first order that of t'Mt
    at the mean's t and the model's.
    """
    problem = fit.problem
    if problem.constant is None:
        return HIDDEN
    z, rest = NormalDist().inv_cdf((1 + level) / 2), float(np.clip(variance[1], 0.0, 1.0))
    total = problem.total / problem.rows
    mean = np.zeros(len(problem.precision) + 1)
    mean[-1] = -1.0
    mean[problem.constant] = problem.pivot.moments[problem.constant, -1] / problem.rows
    model = np.append(fit.top.unknowns[0], -1.0)
    spread = problem.pivot.noise.of_vector(np.stack([mean, model])) / problem.rows**2
    sampling = 2 / problem.rows
    # A grid beyond [0, 1] on both sides, so that an interval that was cut can be told from one that is short.
    shares = np.linspace(-1.0, 2.0, 3001)
    away = np.where(shares * total < rest, rest - variance[0], variance[2] - rest)
    of_rest = np.maximum((away / z) ** 2, float(model @ spread[1] @ model) + sampling * rest**2)
    of_total = float(mean @ spread[0] @ mean) + sampling * total**2
    of_both = float(model @ spread[0] @ model) + sampling * rest**2
    noise = np.sqrt(np.maximum(of_rest + shares**2 * of_total - 2 * shares * of_both, 1e-300))
    kept = shares[np.abs(rest - shares * total) <= z * noise]
    # The length counts before the cut: a cut interval is short where it says least.
    if not kept.size or not kept[-1] - kept[0] <= MAX_SHARE_LENGTH:
        return HIDDEN
    low, high = max(1 - float(kept[-1]), 0.0), min(1 - float(kept[0]), 1.0)
    if not low <= high:
        return HIDDEN  # no R^2 that there can be is kept: noise has spoken
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
    return (
        float(middle - VARIANCE_ALLOWANCE * (middle - low)),
        float(middle),
        float(middle + VARIANCE_ALLOWANCE * (high - middle)),
    )
