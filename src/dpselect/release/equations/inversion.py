"""Public. The values that a test does not reject: what can be said of a coefficient that noise drowns.

S(x) is the least misfit r'V^-1 r with a'u = x inside the public bounds; x is kept where S(x) is at most the squared quantile.
With the chi-squared quantile of as many degrees as there are equations such sets always cover; with one degree it is
the subset Anderson-Rubin test (Guggenberger, Kleibergen, Mavroeidis and Chen 2012), measured here in docs/ESTIMATES.md.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dpselect.release.equations.descent import Function, Lowest, descend, moved_along
from dpselect.release.equations.pivot import Floats, Pivot
from dpselect.release.equations.problem import Problem

WALK = (0.03, 0.08, 0.16, 0.28, 0.42, 0.6, 0.8, 1.0)
"""Where a test looks, as shares of the way from the middle to the public bound."""


def kept_sets(problem: Problem, pivot: Pivot, middle: Floats, directions: Floats, quantile: float) -> Floats:
    """The ends of each direction's set, one row each; an end at the public bound is open: an infinite number."""
    count = len(directions)
    both, side = np.concatenate([directions, directions]), np.repeat([-1.0, 1.0], count)
    start = descend(lambda u: problem.within_bounds(pivot, u, problem.share[None]), middle[None], steps=25)
    bound = both @ problem.center + side * np.concatenate([_bounds(problem, directions)] * 2)
    # A middle outside the bounds has no way to go on that side.
    last = np.where(side * (bound - both @ start.unknowns[0]) > 0, bound, both @ start.unknowns[0])
    ends = np.array(side * np.inf)
    share = np.where(_single(both)[:, None] & (both != 0), 0.0, problem.share)
    straight = problem.center + both * ((last - both @ problem.center) / (both**2).sum(axis=1))[:, None]
    far = descend(partial(problem.within_bounds, pivot, share=share), straight, both, steps=20).shape.values
    # What is kept at the bound is open there; only the other sides are walked.
    walked = far > quantile**2
    if walked.any():
        function = partial(problem.within_bounds, pivot, share=share[walked])
        places, values = _walk(function, start, both[walked], last[walked])
        values[-1] = np.minimum(values[-1], far[walked])
        ends[walked] = _ends(places, values, side[walked], quantile)
    return np.stack([ends[:count], ends[count:]], axis=1)


def _walk(function: Function, start: Lowest, directions: Floats, last: Floats) -> tuple[Floats, Floats]:
    """Places from the middle to the bound, and the least misfit found at each, going from one to the next."""
    unknowns = np.repeat(start.unknowns, len(directions), axis=0)
    shape = function(unknowns)
    first = directions @ start.unknowns[0]
    places, values = [first], [shape.values]
    for part in WALK:
        target = first + part * (last - first)
        low = descend(function, moved_along(unknowns, shape, directions, target), directions, steps=10)
        unknowns, shape = low.unknowns, low.shape
        places.append(target)
        values.append(shape.values)
    return np.array(places), np.array(values)


def _single(directions: Floats) -> Floats:
    return np.asarray((directions != 0).sum(axis=1) == 1)


def _bounds(problem: Problem, directions: Floats) -> Floats:
    """How far the public bounds let each direction go."""
    with np.errstate(divide="ignore"):
        least = np.minimum(problem.reach, 1 / np.sqrt(problem.share))
    return np.asarray(np.abs(directions) @ least)


def _ends(places: Floats, values: Floats, side: Floats, quantile: float) -> Floats:
    """The outermost place that is kept, to each side; roots of S are nearly straight lines."""
    roots = np.sqrt(np.maximum(values, 0.0))
    ends = np.empty(places.shape[1])
    for k in range(places.shape[1]):
        kept = np.flatnonzero(roots[:, k] <= quantile)
        last = int(kept[-1]) if kept.size else 0
        if last == len(places) - 1:
            ends[k] = side[k] * np.inf
            continue
        rise = max(roots[last + 1, k] - roots[last, k], 1e-9)
        part = float(np.clip((quantile - roots[last, k]) / rise, 0.0, 1.0))
        ends[k] = places[last, k] + part * (places[last + 1, k] - places[last, k])
    return ends
