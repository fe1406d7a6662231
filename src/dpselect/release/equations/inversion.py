"""Public. The values that a test does not reject, however little is expected of the coefficient that is tested.

S(x) is the least misfit r'V^-1 r with a'u = x inside the public bounds. With the chi-squared quantile of as many degrees as there
are equations, {x : S(x) <= quantile} always covers; with one degree it is the subset Anderson-Rubin test (Guggenberger,
Kleibergen, Mavroeidis and Chen 2012), measured here in docs/ESTIMATES.md. Alone it is long: one rare level may take absurd
values, which make V large for all. So the other unknowns pay u^2 each, as under a prior, and the quantile is raised by what the
true ones may have paid, which only makes the set larger: first by `PRIOR_NORM_BOUND`; then by as much as their own sets, found
so, allow, if that is less. (Unknowns that pay move less freely, so one degree is no theorem here: it is measured.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from dpselect.release.equations.descent import Function, Lowest, descend, moved_along, positive
from dpselect.release.equations.pivot import Floats, Pivot
from dpselect.release.equations.problem import Problem

NEAR_STEPS = (0.8, 1.4, 1.9, 2.3, 2.8, 3.6, 5.0)
"""Where a test looks first, in deviations from the middle."""

FAR_SHARES = (0.1, 0.3, 0.6, 1.0)
"""And then, as shares of the rest of the way to the bound: sets of noisy equations may have a second part."""

TESTED_REACH = 2.0
"""A coefficient is tested so many times as far as it could explain the response: intervals may reach beyond what is likely."""

PRIOR_NORM_BOUND = 2.0
"""The public bound of sum u^2: the squared standardized slopes of real tables add up to less (1.6 in the largest of 25)."""

FIRST_SET_SHARE = 0.4
"""The part of the squared quantile that bounds the other unknowns, which are not all at their ends: 78% sets for 95% intervals."""


@dataclass(frozen=True, slots=True)
class Walks:
    """Public. Places to both sides of the middle, one column a direction and side, and the least misfit found at each."""

    places: Floats
    values: Floats
    side: Floats

    def ends(self, highest: Floats) -> Floats:
        """The outermost place that is kept, one row a direction, lower and upper; roots of S are nearly straight lines."""
        roots, quantiles = np.sqrt(np.maximum(self.values, 0.0)), np.sqrt(np.concatenate([highest, highest]))
        ends = np.empty(len(self.side))
        for k in range(len(ends)):
            kept = np.flatnonzero(roots[:, k] <= quantiles[k])
            last = int(kept[-1]) if kept.size else 0
            if last == len(roots) - 1:
                ends[k] = self.side[k] * np.inf
                continue
            # The root, not S itself, is interpolated: S is nearly a parabola around its least value.
            rise = max(roots[last + 1, k] - roots[last, k], 1e-9)
            part = float(np.clip((quantiles[k] - roots[last, k]) / rise, 0.0, 1.0))
            ends[k] = self.places[last, k] + part * (self.places[last + 1, k] - self.places[last, k])
        return np.stack(np.split(ends, 2), axis=1)


def kept_sets(
    problem: Problem,
    pivot: Pivot,
    top: Lowest,
    directions: Floats,
    quantile: float,
    limits: tuple[Floats, Floats] | None = None,
) -> Floats:
    """The ends of each direction's set, one row each; an end at its limit, the public bound, is open: an infinite number."""
    asked, width = len(directions), len(problem.precision)
    # Unknowns that nobody asked about are tested too: what they may have paid is read off their own sets.
    seen = {int(np.argmax(np.abs(row))) for row in directions[_single(directions)]}
    units = np.eye(width, top.unknowns.shape[1])[[place for place in range(width) if place not in seen]]
    whole = np.concatenate([directions, units])
    least, most = public_bounds(problem, whole)
    if limits is not None:
        least[:asked], most[:asked] = limits
    walks = _walks(problem, pivot, top, whole, (least, most), quantile**2)
    paid = _paid(problem, top, whole, walks.ends(np.full(len(whole), FIRST_SET_SHARE * quantile**2 + PRIOR_NORM_BOUND)))
    return walks.ends(quantile**2 + np.minimum(paid, PRIOR_NORM_BOUND))[:asked]


def _paid(problem: Problem, top: Lowest, directions: Floats, ends: Floats) -> Floats:
    """What the true unknowns may pay in each direction's test: what the most likely ones do, and how much more their sets allow.

    They are not all at the ends of their sets at once: the root of the sum of squares is added.
    """
    likely = problem.precision * (top.unknowns[0, : len(problem.precision)] - problem.center) ** 2
    more = np.zeros(len(likely))
    for row, pair in zip(directions, ends, strict=True):
        place = int(np.argmax(np.abs(row)))
        if place < len(more) and np.count_nonzero(row) == 1:
            farthest = np.abs(pair / row[place] - problem.center[place]).max()
            more[place] = max(problem.precision[place] * farthest**2 - likely[place], 0.0)
    counted = _counted(problem, directions) > 0
    return np.array([likely[kept].sum() + np.sqrt((more[kept] ** 2).sum()) for kept in counted])


def public_bounds(problem: Problem, directions: Floats) -> tuple[Floats, Floats]:
    """How far the public bounds let each direction go, down and up."""
    with np.errstate(divide="ignore"):
        least = np.minimum(problem.reach, TESTED_REACH / np.sqrt(problem.share))
    kept = directions[:, : len(least)]
    middle, reach = kept @ problem.center, np.abs(kept) @ least
    return middle - reach, middle + reach


def _single(directions: Floats) -> Floats:
    return np.asarray((directions != 0).sum(axis=1) == 1)


def _counted(problem: Problem, directions: Floats) -> Floats:
    """1 for the unknowns that pay, one row a direction: all but one that is tested by itself."""
    tested = _single(directions)[:, None] & (directions[:, : len(problem.precision)] != 0)
    return np.where(tested, 0.0, 1.0)


def _walks(
    problem: Problem, pivot: Pivot, top: Lowest, directions: Floats, limits: tuple[Floats, Floats], lowest: float
) -> Walks:
    """From the least misfit to both limits; what is at most `lowest` at its limit is open there, and is not walked."""
    both, side = np.concatenate([directions, directions]), np.repeat([-1.0, 1.0], len(directions))
    counted = _counted(problem, both)
    function = partial(problem.within_bounds, pivot, counted=counted)
    middle = descend(function, np.repeat(top.unknowns, len(both), axis=0), steps=30).unknowns
    first = np.einsum("ci,ci->c", both, middle)
    # A middle outside the bounds has no way to go on that side.
    last = first + side * np.maximum(side * (np.concatenate(limits) - first), 0.0)
    origin = np.zeros(both.shape[1])
    origin[: len(problem.center)] = problem.center
    straight = origin + both * ((last - both @ origin) / (both**2).sum(axis=1))[:, None]
    # The bound is looked at first: where it is kept the end is open, whatever lies on the way, and walking is most of the work.
    far = descend(function, straight, both, steps=20).shape.values
    places, values = (
        np.tile(last, (len(NEAR_STEPS) + len(FAR_SHARES) + 1, 1)),
        np.zeros((len(NEAR_STEPS) + len(FAR_SHARES) + 1, len(both))),
    )
    walked = far > lowest
    if walked.any():
        function = partial(problem.within_bounds, pivot, counted=counted[walked])
        places[:, walked], values[:, walked] = _walk(function, middle[walked], both[walked], last[walked])
        values[-1] = np.minimum(values[-1], far)
    return Walks(places, values, side)


def _walk(function: Function, unknowns: Floats, directions: Floats, last: Floats) -> tuple[Floats, Floats]:
    """Places from the middle to the bound, and the least misfit found at each, going from one to the next."""
    shape = function(unknowns)
    first = np.einsum("ci,ci->c", directions, unknowns)
    curve = np.linalg.inv(positive(shape.hessian / 2))
    deviations = np.sqrt(np.einsum("ci,cij,cj->c", directions, curve, directions))
    way = last - first
    # Half of the way at most, so that the far places are beyond the near ones.
    near = np.sign(way) * np.minimum(deviations, np.abs(way) / (2 * NEAR_STEPS[-1]))
    moves = [near * step for step in NEAR_STEPS]
    moves += [moves[-1] + part * (way - moves[-1]) for part in FAR_SHARES]
    places, values = [first], [shape.values]
    for move in moves:
        low = descend(function, moved_along(unknowns, shape, directions, first + move), directions, steps=10)
        unknowns, shape = low.unknowns, low.shape
        places.append(first + move)
        values.append(shape.values)
    return np.array(places), np.array(values)
