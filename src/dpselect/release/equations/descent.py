"""Public. Going downhill, many problems at once: Newton's steps, damped where they do not help. No chance is involved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpselect.release.equations.pivot import Floats, Shape

Function = Callable[[Floats], Shape]

CLOSE = 1e-6
"""A descent ends where a step is expected to gain less than this."""

FARTHEST = 2.0
"""No step moves an unknown by more, in units of what was known of it beforehand."""


@dataclass(frozen=True, slots=True)
class Lowest:
    """Public. Where descents ended, one row a problem, and the function's shape there."""

    unknowns: Floats
    shape: Shape


def descend(function: Function, start: Floats, directions: Floats | None = None, *, steps: int = 40) -> Lowest:
    """The least values found from each row of `start`, moving only where each row's direction'u stays what it is."""
    unknowns, shape = start, function(start)
    if directions is not None and start.shape[1] == 1:
        return Lowest(unknowns, shape)
    basis = None if directions is None else orthogonal(directions)
    damping, live = np.full(len(start), 1e-3), np.ones(len(start), dtype=bool)
    for _ in range(steps):
        step, expected = _step(shape, basis, damping)
        tried = unknowns + np.where((live & (expected > 0))[:, None], step, 0.0)
        there = function(tried)
        better = live & (expected > 0) & (there.values < shape.values)
        gained = shape.values - there.values
        unknowns, shape = np.where(better[:, None], tried, unknowns), _chosen(better, there, shape)
        damping = np.where(better, np.maximum(damping / 8, 1e-9), np.where(live, damping * 8, damping))
        done = (better & (gained < CLOSE)) | ((expected > 0) & (expected < CLOSE)) | (damping > 1e9)
        live &= ~done
        if not live.any():
            break
    return Lowest(unknowns, shape)


def _step(shape: Shape, basis: Floats | None, damping: Floats) -> tuple[Floats, Floats]:
    """A damped Newton step and twice the gain that the quadratic model expects of it."""
    places = np.arange(shape.gradient.shape[1])
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
    return step * np.minimum(1.0, FARTHEST / np.maximum(far, 1e-300))[:, None], expected


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
    raised = np.maximum(np.abs(values), 1e-6 * np.abs(values).max(axis=-1, keepdims=True) + 1e-300)
    return np.asarray((vectors * raised[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def moved_along(unknowns: Floats, shape: Shape, directions: Floats, targets: Floats) -> Floats:
    """A first guess of where direction'u = target: the way that costs least to second order."""
    lead = np.linalg.solve(positive(shape.hessian), directions[:, :, None])[:, :, 0]
    lead /= np.einsum("bi,bi->b", lead, directions)[:, None]
    missing = targets - np.einsum("bi,bi->b", directions, unknowns)
    return np.asarray(unknowns + lead * missing[:, None])
