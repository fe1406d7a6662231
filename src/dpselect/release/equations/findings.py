"""Public. Numbers with intervals from noisy equations, or the word that this price cannot show them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dpselect.release.equations.descent import Lowest, descend
from dpselect.release.equations.inversion import kept_sets, public_bounds
from dpselect.release.equations.marginals import marginals
from dpselect.release.equations.pivot import Floats, Pivot
from dpselect.release.equations.problem import Problem

KNOWN_BETTER = 0.5
"""A number is determined if its interval is closed and at most this share of the one that was known beforehand."""

LEAST_ROWS = 6.0
"""Below so many rows for each deviation of a cell's noise times the root of the model's width, nothing is determined."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Public. A number and its interval; an infinite end is open. Without `value` this price could not show it.

    `visible` is the size that this interval could have told from zero; None where it is open, for then no size could.
    """

    value: float | None
    error: float | None
    lower: float
    upper: float
    privacy_share: float | None
    visible: float | None

    @property
    def determined(self) -> bool:
        """Whether there is a number to print."""
        return self.value is not None


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
        least, most = 0.05 * problem.total / rows, problem.total / rows
        variance = float(np.clip(t @ problem.pivot.moments @ t / max(rows - width, 1.0), least, most))
        starts = found.unknowns
    quiet = rows >= LEAST_ROWS * np.sqrt(width) * problem.loudness
    return Fit(problem, pivot, top, variance, bool(quiet))


def findings(fit: Fit, directions: Floats, *, level: float, choice: int | None = None) -> list[Finding]:
    """A finding for each combination (row of `directions`) of the design's scaled coefficients; no row may be zero.

    With `choice`, intervals count that the model was chosen among so many columns: they contain the plain ones.
    """
    turned = directions @ fit.problem.change
    z = NormalDist().inv_cdf((1 + level) / 2)
    ends, medians = _intervals(fit, fit.pivot, turned, level)
    beforehand = z * np.sqrt(((turned * fit.problem.usual) ** 2 / fit.problem.precision).sum(axis=1))
    known = np.asarray(fit.quiet & (ends[:, 1] - ends[:, 0] <= 2 * KNOWN_BETTER * beforehand))
    ends[~known & _of_open_parts(turned, ends)] = -np.inf, np.inf
    halves = (ends[:, 1] - ends[:, 0]) / 2  # of the plain intervals, which the error is of
    if choice is not None:
        outer, _ = _intervals(fit, _counting(fit, choice, level), turned, level)
        ends = np.stack([np.minimum(ends[:, 0], outer[:, 0]), np.maximum(ends[:, 1], outer[:, 1])], axis=1)
    reaches, shares = (ends[:, 1] - ends[:, 0]) / 2, _privacy_shares(fit, turned)
    return [
        Finding(
            value=float(medians[k]) if known[k] else None,
            error=float(halves[k] / z) if known[k] else None,
            lower=float(ends[k, 0]),
            upper=float(ends[k, 1]),
            privacy_share=float(shares[k]) if known[k] else None,
            visible=float(reaches[k]) if np.isfinite(reaches[k]) else None,
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


def _counting(fit: Fit, columns: int, level: float) -> Pivot:
    """A pivot whose noise covers every model that could have been chosen among so many columns.

    The sampling part counts by Scheffe's multiple (Berk et al. 2013, section 4.8), the privacy noise, drawn after the choice, by a
    normal quantile; each gets half of what may fail. (p + q)^2 <= (1 + s) p^2 + (1 + 1/s) q^2 adds the parts up.
    """
    each, normal = (1 + level) / 2, NormalDist()
    z, apart, multiple = normal.inv_cdf((1 + level) / 2), normal.inv_cdf((1 + each) / 2), scheffe(columns, each)
    t = np.append(fit.top.unknowns[0], -1.0)[None]
    width = len(fit.problem.precision)
    noise = float(np.trace(fit.pivot.noise.of_vector(t)[0, :width, :width]))
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
    values, vectors = np.linalg.eigh(gram)
    return np.asarray((vectors * np.maximum(values, 1e-6 * rows)) @ vectors.T)
