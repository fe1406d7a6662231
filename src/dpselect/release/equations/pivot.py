"""Public. The pivot of noisy normal equations: what is left of them at the true coefficients is noise of a known size.

M is the noisy matrix of products of a model's columns and response (last), t = (b, -1). Least squares makes the rows of the
exact M t that belong to columns zero, so r(b) = M t there is noise alone at the true b. With P_k the places of the k-th released
number and v_k the variance of its noise, its covariance is known for every b:

    V(b) = variance * X'X + N(tt'),      N(X) = sum_k v_k P_k X P_k.

Nothing is inverted or shrunk. The last row of M t is -RSS, which is one more equation for one more unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Noise:
    """Public. The map N. `cells` has the variances of the numbers that fill one cell (half of it on the diagonal).

    `shared` has the patterns of the numbers that fill several cells, with their `variances`.
    """

    cells: Floats
    shared: Floats
    variances: Floats

    def scaled(self, scale: Floats) -> Noise:
        """The same for columns divided by a scale."""
        both = np.outer(scale, scale)
        return Noise(self.cells * both**2, self.shared * both, self.variances)

    def times(self, factor: float) -> Noise:
        """The same with all variances multiplied."""
        return Noise(self.cells * factor, self.shared, self.variances * factor)

    def of_vector(self, t: Floats) -> Floats:
        """N(tt') for each row t."""
        # A number that fills one cell (i, j) adds v t_j^2 at (i, i), v t_i^2 at (j, j) and v t_i t_j between: two vector operations
        # in place of a matrix product for each of the numbers, of which there are about width^2/2.
        spread = self.cells * (t[:, :, None] * t[:, None, :])
        _add_diagonal(spread, (t * t) @ self.cells)
        if self.variances.size:
            moved = np.einsum("mij,bj->bmi", self.shared, t)
            spread += np.swapaxes(moved * self.variances[:, None], 1, 2) @ moved
        return spread

    def of_matrix(self, matrix: Floats) -> Floats:
        """N(X) for each symmetric matrix X."""
        spread = self.cells * matrix
        _add_diagonal(spread, np.einsum("bii->bi", matrix) @ self.cells)
        for pattern, variance in zip(self.shared, self.variances, strict=True):
            spread += variance * (pattern @ matrix @ pattern)
        return spread

    def slope(self, t: Floats, w: Floats) -> Floats:
        """How N(tt')w moves with t, one matrix a row: column a is the derivative by t_a."""
        both = t[:, :, None] * w[:, None, :]
        slope = self.cells * (both + 2 * np.swapaxes(both, 1, 2))
        _add_diagonal(slope, (t * w) @ self.cells)
        if self.variances.size:
            moved, seen = (np.einsum("mij,bj->bmi", self.shared, each) for each in (t, w))
            slope += np.swapaxes(moved * self.variances[:, None], 1, 2) @ seen
            slope += np.tensordot(np.einsum("bmi,bi->bm", moved, w) * self.variances, self.shared, axes=1)
        return slope


@dataclass(frozen=True, slots=True)
class Pivot:
    """Public. The equations r(u) = 0 and the covariance of their noise, for unknowns u = b, or (b, RSS/rows) if `residual`."""

    moments: Floats
    noise: Noise
    sampling: Floats
    rows: float
    residual: bool = False

    def value(self, unknowns: Floats) -> tuple[Floats, Floats, Floats]:
        """r, V and -t for each row of unknowns."""
        width = len(self.moments) - 1
        t = np.concatenate([unknowns[:, :width], np.full((len(unknowns), 1), -1.0)], axis=1)
        size = width + self.residual
        r = (t @ self.moments)[:, :size]
        if self.residual:
            r[:, width] += self.rows * unknowns[:, width]
        return r, self.sampling + self.noise.of_vector(t)[:, :size, :size], t


@dataclass(frozen=True, slots=True)
class Shape:
    """Public. A function at some points: values, gradients, second derivatives, and the part of these that is never negative."""

    values: Floats
    gradient: Floats
    hessian: Floats
    convex: Floats


def misfit(pivot: Pivot, unknowns: Floats, *, with_determinant: bool) -> Shape:
    """S(u) = r'V^-1 r, and log |V| added to it where asked, for each row of unknowns.

    With w = V^-1 r, half the gradient of S is M w - N(ww')t and half its second derivative J'V^-1 J - N(ww'), J = dr/du - (dV/du)w.
    The gradient of log |V| is 2 N(V^-1)t; of its second derivative only the part 2 N(V^-1) is kept, which suffices to
    descend and is close where V moves slowly.
    """
    width, count = len(pivot.moments) - 1, unknowns.shape[1]
    r, covariance, t = pivot.value(unknowns)
    # Inverted and not solved: the inverse itself is needed for the convex part and for the gradient of log |V|.
    inverse = np.linalg.inv(covariance)
    w = np.zeros_like(t)
    w[:, : r.shape[1]] = (inverse @ r[:, :, None])[:, :, 0]
    values = np.einsum("bi,bi->b", r, w[:, : r.shape[1]])
    pull = pivot.noise.of_vector(w)
    gradient = np.zeros_like(unknowns)
    gradient[:, :width] = 2 * (w @ pivot.moments - np.einsum("bij,bj->bi", pull, t))[:, :width]
    moving = np.zeros((len(unknowns), r.shape[1], count))
    moving[:, :, :width] = (pivot.moments - pivot.noise.slope(t, w))[:, : r.shape[1], :width]
    if pivot.residual:
        gradient[:, width] = 2 * pivot.rows * w[:, width]
        moving[:, width, width] = pivot.rows
    convex = 2 * np.swapaxes(moving, 1, 2) @ inverse @ moving
    hessian = convex.copy()
    hessian[:, :width, :width] -= 2 * pull[:, :width, :width]
    if with_determinant:
        full = np.zeros_like(pull)
        full[:, : r.shape[1], : r.shape[1]] = inverse
        curve = pivot.noise.of_matrix(full)
        values = values + np.linalg.slogdet(covariance)[1]
        gradient[:, :width] += 2 * np.einsum("bij,bj->bi", curve, t)[:, :width]
        hessian[:, :width, :width] += 2 * curve[:, :width, :width]
    return Shape(values, gradient, hessian, convex)


def entry_noise(patterns: Floats, variances: Floats) -> Noise:
    """The map N of released numbers whose places are `patterns`, one symmetric matrix each."""
    size = patterns.shape[1]
    upper = patterns * np.triu(np.ones((size, size)))
    filled = np.count_nonzero(upper, axis=(1, 2))
    cells = np.zeros((size, size))
    for k in np.flatnonzero(filled == 1):
        i, j = np.argwhere(upper[k])[0]
        cells[i, j] += variances[k] * upper[k, i, j] ** 2 / (2 if i == j else 1)
    cells = np.triu(cells) + np.triu(cells, 1).T
    return Noise(cells, patterns[filled > 1], variances[filled > 1])


def _add_diagonal(matrices: Floats, amounts: Floats) -> None:
    places = np.arange(matrices.shape[1])
    matrices[:, places, places] += amounts
