"""Public. Going downhill, many problems at once, and following a density to both sides of its top. No chance is involved.

Descents are Newton's steps, damped where they do not help. A marginal is Laplace's: where the density is proportional to
|V|^-1/2 exp(-r'V^-1 r / 2) times a normal prior, the density of a'u = x along a direction a is that at its highest point with
a'u = x, times the volume around it (|second derivative|^-1/2 of all other directions). It is followed from the top to both sides,
step by step: no sampling, so the same release reads the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpselect.release.equations.pivot import Floats, Shape

Function = Callable[[Floats], Shape]

LEAST_GAIN = 1e-6
"""A descent ends where a step is expected to gain less than this."""

LONGEST_STEP = 2.0
"""No step moves an unknown by more, in units of what was known of it beforehand."""

FIRST_DAMPING, DAMPING_FACTOR, LEAST_DAMPING, MAX_DAMPING = 1e-3, 8, 1e-9, 1e9
"""Of a step, in sizes of the curvature: so many times less after one that helped, more after one that did not, until none helps."""

MARGINAL_STEPS = (0.5, 1.0, 1.5, 2.0, 2.6, 3.4, 4.5)
"""How far from the top a density is followed, in deviations at the top."""

DENSITY_POINTS = 801
"""Points at which a density is added up."""


@dataclass(frozen=True, slots=True)
class Lowest:
    """Public. Where descents ended, one row a problem, and the function's shape there."""

    unknowns: Floats
    shape: Shape


def descend(function: Function, start: Floats, directions: Floats | None = None, *, steps: int = 40) -> Lowest:
    """The least values found from each row of `start`, moving only where each row's direction'u stays what it is."""
    unknowns, shape = start, function(start)
    if directions is not None and start.shape[1] == 1:
        return Lowest(unknowns, shape)  # a single unknown that is held fixed cannot move
    basis = None if directions is None else orthogonal(directions)
    damping, live = np.full(len(start), FIRST_DAMPING), np.ones(len(start), dtype=bool)
    for _ in range(steps):
        step, expected = _step(shape, basis, damping)
        # Problems that are done stand still, so that all of them stay one batch of matrices.
        tried = unknowns + np.where((live & (expected > 0))[:, None], step, 0.0)
        there = function(tried)
        better = live & (expected > 0) & (there.values < shape.values)
        gained = shape.values - there.values
        unknowns, shape = np.where(better[:, None], tried, unknowns), _chosen(better, there, shape)
        less, more = np.maximum(damping / DAMPING_FACTOR, LEAST_DAMPING), damping * DAMPING_FACTOR
        damping = np.where(better, less, np.where(live, more, damping))
        done = (better & (gained < LEAST_GAIN)) | ((expected > 0) & (expected < LEAST_GAIN)) | (damping > MAX_DAMPING)
        live &= ~done
        if not live.any():
            break
    return Lowest(unknowns, shape)


def _step(shape: Shape, basis: Floats | None, damping: Floats) -> tuple[Floats, Floats]:
    """A damped Newton step and twice the gain that the quadratic model expects of it."""
    places = np.arange(shape.gradient.shape[1])
    # Damped by the size of the curvature and not by the identity: unknowns of different scales are slowed alike. The convex part is
    # added because the second derivative itself can vanish, or point downhill, far from the bottom.
    size = np.abs(shape.convex[:, places, places]) + np.abs(shape.hessian[:, places, places])
    matrix = shape.hessian.copy()
    matrix[:, places, places] += damping[:, None] * size + 1e-12
    gradient = shape.gradient
    if basis is not None:
        turned = np.swapaxes(basis, 1, 2)
        matrix, gradient = turned @ matrix @ basis, (turned @ gradient[:, :, None])[:, :, 0]
    step = -np.linalg.solve(matrix, gradient[:, :, None])[:, :, 0]
    expected = -np.einsum("bi,bi->b", step, gradient)
    if basis is not None:
        step = (basis @ step[:, :, None])[:, :, 0]
    far = np.abs(step).max(axis=1)
    return step * np.minimum(1.0, LONGEST_STEP / np.maximum(far, 1e-300))[:, None], expected


def _chosen(which: np.ndarray, first: Shape, second: Shape) -> Shape:
    return Shape(
        np.where(which, first.values, second.values),
        np.where(which[:, None], first.gradient, second.gradient),
        np.where(which[:, None, None], first.hessian, second.hessian),
        np.where(which[:, None, None], first.convex, second.convex),
    )


def orthogonal(directions: Floats) -> Floats:
    """For each row an orthonormal basis of all that is orthogonal to it (Householder's reflection, first column left out)."""
    unit = directions / np.linalg.norm(directions, axis=1)[:, None]
    mirror = unit.copy()
    mirror[:, 0] += np.where(unit[:, 0] >= 0, 1.0, -1.0)
    mirror /= np.linalg.norm(mirror, axis=1)[:, None]
    whole = np.eye(directions.shape[1]) - 2 * mirror[:, :, None] * mirror[:, None, :]
    return np.asarray(whole[:, :, 1:])


def positive(matrices: Floats) -> Floats:
    """The same symmetric matrices with their eigenvalues made positive."""
    values, vectors = np.linalg.eigh(matrices)
    # Saddles count by the size of their curvature: what is asked for is a length scale, not the exact second derivative.
    raised = np.maximum(np.abs(values), 1e-6 * np.abs(values).max(axis=-1, keepdims=True) + 1e-300)
    return np.asarray((vectors * raised[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def moved_along(unknowns: Floats, shape: Shape, directions: Floats, targets: Floats) -> Floats:
    """A first guess of where direction'u = target: the way that costs least to second order."""
    lead = np.linalg.solve(positive(shape.hessian), directions[:, :, None])[:, :, 0]
    lead /= np.einsum("bi,bi->b", lead, directions)[:, None]
    missing = targets - np.einsum("bi,bi->b", directions, unknowns)
    return np.asarray(unknowns + lead * missing[:, None])


@dataclass(frozen=True, slots=True)
class Marginals:
    """Public. For each direction the places where the density was followed, in order, and its logarithm there.

    `deviations` is that of a normal density as curved as this one at its top, `tops` where that is.
    """

    tops: Floats
    deviations: Floats
    places: Floats
    logs: Floats

    def quantiles(self, chances: Floats, within: tuple[float, float] = (-np.inf, np.inf)) -> Floats:
        """One row a direction, one column a chance; the density is cut at `within`, if it may not be negative, say."""
        found = []
        for top, deviation, places, logs in zip(self.tops, self.deviations, self.places, self.logs, strict=True):
            fine = np.linspace(max(places[0], within[0]), min(places[-1], within[1]), DENSITY_POINTS)
            # What is interpolated is the difference to the normal density, which is nearly straight.
            rest = np.interp(fine, places, logs + ((places - top) / deviation) ** 2 / 2)
            log = rest - ((fine - top) / deviation) ** 2 / 2
            density = np.exp(log - log.max())
            below = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
            found.append(np.interp(chances, below / below[-1], fine))
        return np.array(found)


def marginals(function: Function, top: Lowest, directions: Floats) -> Marginals:
    """`function` is -2 log density, `top` its lowest point (one row), `directions` one row each."""
    count = len(directions)
    curve = positive(top.shape.hessian[0] / 2)
    deviations = np.sqrt(np.einsum("ci,ij,cj->c", directions, np.linalg.inv(curve), directions))
    both = np.concatenate([directions, directions])
    side = np.repeat([-1.0, 1.0], count) * np.concatenate([deviations, deviations])
    start = both @ top.unknowns[0]
    basis = orthogonal(both)
    unknowns = np.repeat(top.unknowns, 2 * count, axis=0)
    shape = function(unknowns)
    first = _log(shape.values, shape.hessian, basis)
    places, logs = [start], [np.zeros(2 * count)]
    for step in MARGINAL_STEPS:
        # Each step starts where the one before ended: the highest points lie on a curve, which a restart from the top would leave.
        guess = moved_along(unknowns, shape, both, start + side * step)
        low = descend(function, guess, both, steps=12)
        unknowns, shape = low.unknowns, low.shape
        places.append(start + side * step)
        logs.append(_log(shape.values, shape.hessian, basis) - first)
    return Marginals(start[:count], deviations, _joined(places, count), _joined(logs, count))


def _log(values: Floats, hessian: Floats, basis: Floats) -> Floats:
    if basis.shape[2] == 0:
        return np.asarray(-values / 2)
    around = positive(np.swapaxes(basis, 1, 2) @ (hessian / 2) @ basis)
    return np.asarray(-values / 2 - np.linalg.slogdet(around)[1] / 2)


def _joined(steps: list[Floats], count: int) -> Floats:
    """From the farthest left to the farthest right, one row a direction."""
    walked = np.array(steps)
    return np.concatenate([walked[:0:-1, :count], walked[:, count:]]).T
