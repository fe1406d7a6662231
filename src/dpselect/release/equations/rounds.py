"""Public. From the noisy sums of one round to the next coefficients, and to what the last round says about them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from dpselect.assume.variables import GRID
from dpselect.randomize.logistic_noise import Draw, Round
from dpselect.release.equations.descent import descend
from dpselect.release.equations.findings import Fit
from dpselect.release.equations.pivot import Floats, Noise, Pivot
from dpselect.release.equations.problem import Problem

LEAST_EIGENVALUE = 0.5
"""Nothing is said unless the least eigenvalue of the noisy Gram is above so many deviations of its cells, times sqrt(width)."""

SLOPE_DEVIATION, BASE_DEVIATION = 2.5, 5.0
"""Deviations of log odds ratios over half a column's range, and of the log odds in the middle, before any row is read."""

CURVE_SHARE = 3 / 8
"""Of the fourth power of a step's length in errors over the sum of weights, for chances far from a half: see `curved`."""

MAX_LOG_ODDS = 6.0
"""The largest sum of |log odds ratios|, and the largest log odds in the middle, at which a round is evaluated."""


LEAST_SPREAD = 0.2
"""The least deviation of a number, as a share of half its range, at which rounds can reach the odds ratios that there are: 1.2 for
a deviation of it is 6 for half its range, which is `MAX_LOG_ODDS`."""


def base_rate(counts: Draw) -> float:
    """The share of yes, from the noisy numbers of yes and no, kept away from 0 and 1."""
    # A center needs a finite log odds, whatever the noise has made of the counts.
    yes, no = (max(value, 1) for value in counts.values)
    return min(max(yes / (yes + no), 0.005), 0.995)


def whole(coefficients: Floats, constant: int | None) -> tuple[int, ...]:
    """Coefficients as whole numbers of 2^-20, within what a round may be evaluated at."""
    kept = coefficients.copy()
    slopes = [place for place in range(len(kept)) if place != constant]
    size = float(np.abs(kept[slopes]).sum())
    if size > MAX_LOG_ODDS:
        kept[slopes] *= MAX_LOG_ODDS / size
    if constant is not None:
        kept[constant] = np.clip(kept[constant], -MAX_LOG_ODDS + 0.01, MAX_LOG_ODDS - 0.01)
    return tuple(int(np.trunc(each * GRID)) for each in kept)


def first_center(counts: Draw, width: int, constant: int | None) -> tuple[int, ...]:
    """Where the rounds start: no slopes, and the noisy base rate."""
    start = np.zeros(width)
    if constant is not None:
        rate = base_rate(counts)
        start[constant] = np.log(rate / (1 - rate))
    return whole(start, constant)


def next_center(one: Round, constant: int | None) -> tuple[int, ...]:
    """Where the next round is evaluated."""
    return whole(stepped(one), constant)


def stepped(one: Round) -> Floats:
    """The coefficients after a Newton step; eigenvalues that noise drowns are raised, so that no step runs away."""
    gradient, gram = one.sums()
    values, vectors = np.linalg.eigh(gram)
    least = 2 * one.deviations[1] * np.sqrt(len(gradient))
    return np.asarray(one.at + (vectors / np.maximum(values, least)) @ (vectors.T @ gradient))


def curved(step: Floats, gram: Floats, rows: float) -> float:
    """By how much the sampling covariance is multiplied, so that intervals hold the curve of the gradient over a step d too.

    The gradient at center + d is that at center less H d plus r, r = sum w (1-2p) (x.d)^2 x / 2 to second order. So r = X'W u with
    u = (1-2p) (x.d)^2/2, and r'H^-1 r, the square of what r may be of any coefficient's error, is at most sum w u^2. Were x.d
    normal and had it nothing to do with p, that would be 3 k (d'Hd)^2/(4 sum w), where k, the mean of (1-2p)^2, is
    1 - 4 sum w / rows; sum w is about the largest cell of H, for no |x| is above 1. A bias of so many errors is covered by half
    its square as variance.

    Source: ours; measured in docs/ESTIMATES.md.
    """
    weights = max(float(np.diag(gram).max()), 1.0)
    lean = min(max(1 - 4 * weights / max(rows, 1.0), 0.05), 1.0)
    return 1.0 + CURVE_SHARE * lean * float(step @ gram @ step) ** 2 / weights


def close_together(one: Round, constant: int | None, numbers: Sequence[int]) -> bool:
    """Whether a number may vary so little within its bounds that its odds ratio lies beyond what a round is evaluated at.

    Its weighted sum of squares is taken two deviations of its noise smaller than it looks.
    """
    _, gram = one.sums()
    weights = float(gram[constant, constant] if constant is not None else np.diag(gram).max())
    if not weights > 0:
        return True
    mean = np.zeros(len(gram)) if constant is None else gram[constant] / weights
    squares = np.diag(gram) - mean**2 * weights * (constant is not None)
    doubt = one.deviations[1] * np.sqrt(1 + 4 * mean**2)
    return bool(np.any((squares - 2 * doubt)[list(numbers)] < LEAST_SPREAD**2 * weights))


def last_fit(one: Round, constant: int | None, rows: float) -> Fit:
    """The pivot of the last round: g - H (b - center) is noise at the true b, as `release.equations` wants it.

    Its covariance is that of the gradient's noise, of the Gram's noise times b - center, and H itself for sampling, made larger by
    what the curve of the gradient between center and b may add (`curved`).
    """
    gradient, gram = one.sums()
    width = len(gradient)
    scale = np.full(width, SLOPE_DEVIATION)
    if constant is not None:
        scale[constant] = BASE_DEVIATION
    moments = np.zeros((width + 1, width + 1))
    moments[:width, :width], moments[:width, width], moments[width, :width] = gram, gradient, gradient
    cells = np.full((width + 1, width + 1), one.deviations[1] ** 2)
    cells[np.arange(width), np.arange(width)] /= 2  # as `Noise` keeps its diagonal
    cells[:width, width] = cells[width, :width] = one.deviations[0] ** 2
    cells[width, width] = 0.0
    noise = Noise(cells, np.zeros((0, width + 1, width + 1)), np.zeros(0))
    both = np.append(scale, 1.0)
    # Sampling needs a covariance; eigenvalues below the noise of a cell say nothing of it.
    values, vectors = np.linalg.eigh(gram)
    positive = (vectors * np.maximum(values, one.deviations[1])) @ vectors.T
    sampling = positive * curved(stepped(one) - one.at, positive, rows)
    pivot = Pivot(moments * np.outer(both, both), noise.scaled(both), sampling * np.outer(scale, scale), 1.0)
    problem = Problem(
        pivot,
        precision=np.ones(width),
        reach=np.full(width, 4.0),
        share=np.zeros(width),
        change=np.diag(scale),
        constant=constant,
        total=1.0,
        loudness=one.deviations[1],
        center=-one.at / scale,
        usual=np.ones(width),
    )
    start = (stepped(one) - one.at) / scale
    top = descend(partial(problem.likely, pivot), np.stack([start, np.zeros(width)]), steps=60)
    best = int(np.argmin(top.shape.values))
    top = descend(partial(problem.likely, pivot), top.unknowns[best : best + 1])
    quiet = bool(values[0] > LEAST_EIGENVALUE * one.deviations[1] * np.sqrt(width))
    return Fit(problem, pivot, top, 1.0, quiet)
