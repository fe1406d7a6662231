"""Public. A model's noisy equations on the scale of what is known beforehand, and that knowledge."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.moments import MomentLayout, entry_patterns, known_part
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.release.equations.pivot import Floats, Noise, Pivot, Shape, entry_noise, misfit

LAPLACE_WIDENING = 1.081
"""Deviations of Laplace noise are counted so many times: its 95% range is as much wider than a normal one of equal deviation."""

COEFFICIENT_BOUND = 2.0
"""The public bound of a coefficient where column and response lie in [-1, 1]: twice the response's range over the column's."""

SQUARES_DOUBT = 1.0
"""A sum of squares may be so many deviations of its noise smaller than it looks."""

CONSTANT_DEVIATION = 1.5
"""Of an intercept beforehand: the response in the middle of all bounds may lie anywhere in its range, so less is known of it."""

VARIED_PART, SURE_PART = 1000, 4000
"""No column varies by less than one part in so many of what its bounds allow; nor is less than one in so many surely left of it."""

WALL_STEEPNESS = 200.0
"""How steeply a test's misfit grows beyond the public bounds."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Public. Unknowns u = b / scale, about normal with deviation 1 (precision 1) beforehand.

    `reach` bounds each |u| and `share` makes sum share u^2 at most 1: public bounds that only a test uses. `change` turns u into
    the design's own scaled coefficients. `total` is the response's noisy sum of squares around its mean, `loudness` the median
    deviation of a released number's noise. `center` is where u is expected beforehand: 0, unless u counts from elsewhere.
    `usual` is the deviation of u where bounds are not much wider than what they bound.
    """

    pivot: Pivot
    precision: Floats
    reach: Floats
    share: Floats
    change: Floats
    constant: int | None
    total: float
    loudness: float
    center: Floats
    usual: Floats

    @property
    def rows(self) -> float:
        """The number of rows, noisy where it is private."""
        return self.pivot.rows

    def expecting_less(self, factor: float) -> Problem:
        """The same with slopes expected to be so many times smaller than usual: noise then moves predictions less."""
        precision = self.precision / self.usual**2
        slopes = np.arange(len(precision)) != self.constant
        return replace(self, precision=np.where(slopes, precision * factor**2, precision))

    def likely(self, pivot: Pivot, unknowns: Floats) -> Shape:
        """-2 log density: the misfit, log |V|, and the prior of the coefficients."""
        width = len(self.precision)
        shape = misfit(pivot, unknowns, with_determinant=True)
        b = unknowns[:, :width] - self.center
        shape.gradient[:, :width] += 2 * b * self.precision
        places = np.arange(width)
        shape.hessian[:, places, places] += 2 * self.precision
        shape.convex[:, places, places] += 2 * self.precision
        return Shape(shape.values + (b * b) @ self.precision, shape.gradient, shape.hessian, shape.convex)

    def within_bounds(self, pivot: Pivot, unknowns: Floats, counted: Floats) -> Shape:
        """The misfit, walls around the public bounds, and what unknowns pay; rows of `counted` have 0 for what is left out."""
        shape = misfit(pivot, unknowns, with_determinant=False)
        width = len(self.precision)
        places, away = np.arange(width), unknowns[:, :width] - self.center
        share, precision = counted * self.share, counted * self.precision
        # Smooth walls in place of constraints, because a descent needs derivatives: zero inside, steep outside.
        over = np.maximum(np.abs(away) / self.reach - 1, 0.0)
        beyond = np.maximum((away**2 * share).sum(axis=1) - 1, 0.0)
        pull = 2 * away * share
        steep = WALL_STEEPNESS * (over * np.sign(away) / self.reach + beyond[:, None] * pull)
        shape.gradient[:, :width] += 2 * (steep + precision * away)
        shape.hessian[:, :width, :width] += (
            2 * WALL_STEEPNESS * (beyond > 0)[:, None, None] * pull[:, :, None] * pull[:, None, :]
        )
        curve = WALL_STEEPNESS * ((over > 0) / self.reach**2 + 2 * beyond[:, None] * share)
        shape.hessian[:, places, places] += 2 * (curve + precision)
        values = shape.values + WALL_STEEPNESS * ((over**2).sum(axis=1) + beyond**2) + (away**2 * precision).sum(axis=1)
        return Shape(values, shape.gradient, shape.hessian, shape.convex)


def problem(noisy: NoisyMoments, columns: tuple[int, ...]) -> Problem:
    """The equations of some of the noisy moments' own columns."""
    layout = noisy.layout
    kept = [*(layout.columns.index(column) for column in columns), layout.width - 1]
    constant = kept.index(layout.constant) if layout.constant in kept else None
    patterns, known, change = _basis(layout, noisy.known_rows, signs=constant is not None)
    patterns, known = patterns[:, kept][:, :, kept], known[np.ix_(kept, kept)]
    moments = known + np.tensordot(noisy.entries, patterns, axes=1)
    deviations = noisy.deviations * (LAPLACE_WIDENING if noisy.noise.scale.noise == "laplace" else 1.0)
    noise = entry_noise(patterns, deviations**2)
    rows = max(_rows(noisy, moments, constant), 1.0)  # a noisy count can be below one, and everything is divided by it
    levels = np.array([2.0 if layout.kinds[place] == "level" else 1.0 for place in kept[:-1]])
    numbers = np.array([layout.kinds[place] == "number" for place in kept[:-1]])
    scale, usual, bounds, total = _beforehand(moments, noise, constant, rows, (levels, numbers))
    whole = np.append(scale, 1.0)
    pivot = Pivot(moments * np.outer(whole, whole), noise.scaled(whole), np.zeros((len(scale),) * 2), rows)
    precision = np.ones(len(scale))
    if constant is not None:
        precision[constant] = 1 / CONSTANT_DEVIATION**2
    return Problem(
        pivot,
        precision,
        *bounds,
        change=change[np.ix_(kept[:-1], kept[:-1])] * scale,
        constant=constant,
        total=total,
        loudness=float(np.median(noisy.deviations)),
        center=np.zeros(len(scale)),
        usual=usual,
    )


def _basis(layout: MomentLayout, rows: int | None, *, signs: bool) -> tuple[Floats, Floats, Floats]:
    """Places of the released numbers, the known part, and the way to the design's coefficients.

    With an intercept a lone dummy stays the sign that was released, which keeps each number in one cell; else it is a dummy.
    """
    if not signs:
        return entry_patterns(layout), known_part(layout, rows), np.eye(layout.width)
    patterns = np.zeros((len(layout.entries), layout.width, layout.width))
    for pattern, cells in zip(patterns, layout.entries, strict=True):
        for i, j in cells:
            pattern[i, j] = pattern[j, i] = 1.0
    known, change = np.zeros((layout.width, layout.width)), np.eye(layout.width)
    for place, kind in enumerate(layout.kinds):
        if layout.constant_is_known and kind in ("constant", "sign"):
            known[place, place] = float(rows or 0)
        if kind == "sign":  # a sign is twice the dummy less the intercept
            change[place, place] = 2.0
            change[layout.constant, place] = -1.0
    return patterns, known, change


def _rows(noisy: NoisyMoments, moments: Floats, constant: int | None) -> float:
    layout = noisy.layout
    if constant is not None:
        return float(moments[constant, constant])
    if noisy.known_rows is not None:
        return float(noisy.known_rows)
    wanted = () if layout.constant is None else ((layout.constant, layout.constant),)
    place = next(k for k, cells in enumerate(layout.entries) if cells[:1] == wanted)
    return float(noisy.entries[place])


def _beforehand(
    moments: Floats, noise: Noise, constant: int | None, rows: float, kinds: tuple[Floats, NDArray[np.bool_]]
) -> tuple[Floats, Floats, tuple[Floats, Floats], float]:
    """The scale of what is known of each coefficient, what is usual on it, public bounds on it, and the response's sum of squares.

    A slope is usually no more than explains the response's variation, and no more than the response's range over the column's:
    its deviation is the less of both. A level is coded 0 and 1, over half the range, so its coefficient may be twice as large.
    But the bounds of a number may be stated so wide that its rows are close together, and then slopes are as steep as the column
    varies little: the scale is the steepest that its noisy sum of squares leaves room for.
    """
    (levels, numbers), width = kinds, len(moments) - 1
    cell = np.sqrt(_cell_variances(noise))
    mean = np.zeros(width + 1) if constant is None else moments[constant] / rows
    around = np.zeros(width + 1) if constant is None else cell[constant]
    squares = np.diag(moments) - rows * mean**2 * (constant is not None)
    doubt = np.sqrt(np.diag(cell) ** 2 + 4 * mean**2 * around**2)
    # What is drowned counts as its noise.
    varied = np.clip(squares, np.maximum(doubt, rows / VARIED_PART), np.maximum(rows, doubt))
    total, most = (
        varied[width],
        float(np.clip(squares[width] + 2 * doubt[width], doubt[width], max(rows, doubt[width]))),
    )
    ratio = np.sqrt(total / varied[:width])
    usual = np.minimum(levels, ratio)
    # A number that clearly varies less than its bounds allow may have a slope as much steeper.
    clear = numbers & (squares > 2 * SQUARES_DOUBT * doubt)[:width]
    usual = np.where(clear, np.maximum(usual, ratio - levels), usual)
    least = np.clip(squares - SQUARES_DOUBT * doubt, rows / SURE_PART, rows)[:width]
    steep = np.where(numbers, np.maximum(levels, np.sqrt(most / least) - levels), levels)
    scale = np.where(steep > levels, steep, usual)
    varying = np.where(steep > levels, least, varied[:width])
    reach, share = COEFFICIENT_BOUND * steep / scale, scale**2 * varying / (2 * most)
    if constant is not None:
        # The intercept is the response in the middle of all bounds, as far from the rows' as steep slopes take it.
        farther = (steep**2 - levels**2) * np.minimum(np.abs(mean[:width]), 1.0) ** 2
        farther[constant] = 0.0
        scale[constant], reach[constant], share[constant] = np.sqrt(1 + farther.sum()), 2 * COEFFICIENT_BOUND, 0.0
        usual[constant] = 1.0
    return scale, usual / scale, (reach, share), float(total)


def _cell_variances(noise: Noise) -> Floats:
    """The variance of the noise on each cell."""
    variances = noise.cells + np.diag(np.diag(noise.cells))
    return np.asarray(variances + np.einsum("mij,m->ij", noise.shared**2, noise.variances))
