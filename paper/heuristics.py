"""What the paper suggests for R and phi, and bounds for y: chosen from the rows, which costs privacy.

Section 3.3 of the paper leaves the tuning of its algorithms open and gives two heuristics: for R a private estimate of the
largest ||b_M||_1 over the models, for phi one of the gap between the best and the second best model. Section 5 follows neither:
it tries a grid of R and phi, and takes for r the largest |y| in the table, which is not private. The paper's two numbers have no
sensitivity that is of use, so what stands here in their place are choices among public candidates, by scores whose range has a
bound; and for r, bounds of y near its quartiles. Each of them spends an epsilon of its own, on top of what the model costs that is
chosen with it.

The package itself chooses nothing of this kind from the rows: bounds, radius and penalty are stated, or follow from what is. What
each heuristic brings is in docs/RESULTS.md. Nothing here is charged to a ledger: it is for experiments, not for releases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.budget import Neighbors, Price, exact_epsilon, float_below
from dpselect.assume.candidates import CandidateList, candidates_for
from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS, certified_range, loss_range, score_rounding
from dpselect.assume.penalty import balanced_penalty, loss_penalty
from dpselect.assume.study import Study
from dpselect.gather.moments import Moments
from dpselect.gather.rows import of_these
from dpselect.minimize.minimize import minimize_all
from dpselect.penalize.scores import Scores
from dpselect.randomize.choice import choose
from dpselect.rehearse.simulate import SEED, Setting, clipped_products
from paper.simulations import spread, tables

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

OUTSIDE = 0.25
"""The share of the responses beyond either bound; so narrow because noise grows with the square of the bounds."""
BOUNDED_RADIUS = 1.5
"""The radius that goes with such bounds, in units of their half distance."""
STEPS = 256
"""Places for a bound between the stated ones."""
ROWS_FOR_QUARTILES = 150
"""Epsilon times rows that finds the quartiles to about five in a hundred rows."""
RADII = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Radii to choose from, in units of the response's half range."""
PENALTIES = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 9.0, 13.0, 20.0)
"""Penalties to choose from, in units of the default one."""


# The bounds of y: two private quantiles, from how many responses lie beyond each of some public places.


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Beyond:
    """Private. How many of n responses lie strictly below and strictly above each place."""

    below: Counts
    above: Counts
    n: int

    def __repr__(self) -> str:
        return f"Beyond(places={self.below.size}, values=<private>)"


def count_beyond(values: Floats, places: Floats) -> Beyond:
    """Count the values beyond each of the sorted places; one that is not finite counts as in the middle."""
    known = np.sort(np.where(np.isfinite(values), values, (places[0] + places[-1]) / 2))
    below = np.searchsorted(known, places, "left")
    above = known.size - np.searchsorted(known, places, "right")
    return Beyond(below.astype(np.int64), above.astype(np.int64), known.size)


def edges(lower: float, upper: float, steps: int = STEPS) -> Floats:
    """Public. The places where an interval may begin or end."""
    return np.linspace(lower, upper, steps + 1)


def intervals(steps: int = STEPS) -> tuple[Counts, Counts]:
    """Public. The first and the last edge of every interval, in the order of the scores."""
    first, last = np.triu_indices(steps + 1, 1)
    return first, last


def interval_scores(beyond: Beyond, outside: float, neighbors: Neighbors) -> Scores:
    """How far an interval is from leaving the share `outside` of the n responses on either side, in rows: low is good.

    The score of the interval from edge i to edge j is max(|below_i - outside n|, |above_j - outside n|), and the range of its
    change is 2 (replace-one) or 2 (1 - outside) (add-remove-one; outside is below 1/2).

    Why: replacing a record leaves n and moves a count by at most 1. Adding one adds 0 or 1 to a count and `outside` to
    outside n, so it moves their difference by at most 1 - outside. Absolute values and maxima of things that move by at most
    D move by at most D, up or down, so two scores' changes differ by at most 2D. `outside` is a multiple of 1/1024 and
    n at most 2^32, so all of this is exact in doubles.

    Source: ours; for one quantile, Smith, *Privacy-preserving statistical estimation with optimal convergence rates* (2011).
    Tested: tests/paper/test_heuristics.py
    """
    wanted = outside * beyond.n
    low, high = np.abs(beyond.below - wanted), np.abs(beyond.above - wanted)
    first, last = intervals(beyond.below.size - 1)
    width = 2 * (1.0 if neighbors == "replace-one" else 1 - outside)
    return Scores(np.maximum(low[first], high[last]), width, "interval")


def bounds_share(rows: int, epsilon: float) -> float:
    """The share of epsilon that should buy the bounds: 150 / (n epsilon), at least 1/50 and at most 1/5.

    Why: a quantile's error in rows is in proportion to 1/(share * epsilon), and a few in a hundred rows do no harm; so a long
    table needs less. Below a fiftieth nothing is left to save; above a fifth the choice itself would starve.
    """
    return min(0.2, max(0.02, ROWS_FOR_QUARTILES / (rows * epsilon)))


def private_bounds(
    y: Floats, lower: float, upper: float, *, epsilon: Price, neighbors: Neighbors = "replace-one"
) -> tuple[float, float]:
    """Bounds for the response, near its quartiles and within the stated ones, for epsilon; the price is for rows, not persons."""
    places = edges(lower, upper)
    index = _drawn(interval_scores(count_beyond(y, places), OUTSIDE, neighbors), epsilon)
    first, last = intervals()
    return float(places[first[index]]), float(places[last[index]])


def chance_with_private_bounds(
    setting: Setting, epsilon: float, *, bound: float = 10.0, count: int = 200, seed: int = SEED, jobs: int = 1
) -> float:
    """The chance of the right model from the loose |y| <= bound: part of epsilon buys bounds, the rest the choice. Replace-one."""
    share = bounds_share(setting.rows, epsilon)
    reduce = _ClipToPrivate(bound, share * epsilon)
    rehearsed = tables(setting, np.array(spread(setting, count, reduce, seed=seed, jobs=jobs)), BOUNDED_RADIUS)
    width = loss_range(1.0, BOUNDED_RADIUS, "replace-one")
    rest = (1 - share) * epsilon
    penalty = loss_penalty(width / rest, setting.rows, rehearsed.sizes.size)
    return rehearsed.chance(penalty, width, rest, "permute-and-flip")


@dataclass(frozen=True, slots=True)
class _ClipToPrivate:
    """Public. Products with the response clipped to a rehearsed private interval and scaled to [-1, 1]."""

    bound: float
    epsilon: float

    def __call__(self, X: Floats, y: Floats, noise: np.random.Generator) -> Floats:
        places = edges(-self.bound, self.bound)
        chosen = pretended(interval_scores(count_beyond(y, places), OUTSIDE, "replace-one"), self.epsilon, noise)
        first, last = intervals()
        lower, upper = places[first[chosen]], places[last[chosen]]
        half = (upper - lower) / 2
        return clipped_products(X, (y - (lower + upper) / 2) / half, -1.0, 1.0)


def pretended(scores: Scores, epsilon: float, noise: np.random.Generator) -> int:
    """A rehearsal of permute-and-flip, which is exponential noise (Ding et al. 2021): NumPy's, which protects nothing."""
    return int(np.argmin(scores.values - noise.exponential(scores.range / epsilon, scores.values.size)))


# R: the radius.


def radius_scores(moments: Moments, study: Study, rhos: Sequence[float], price: float) -> Scores:
    """The full model's loss with each radius, plus `price` times the range that the radius would cost: low is good.

    The radii are in units of the response's half range, losses with the response in [-1, 1]. A radius is worth its noise as
    long as the full model's loss falls by more than `price` times the growth of the range.

    Why the range is that of the largest radius: for every radius up to it, one record adds to the loss no less than
    max(|y| - largest, 0)^2 and no more than (|y| + largest)^2, so the proof of `loss_range` holds over radii as it does over
    candidates. The price is public and moves nothing.

    Source: ours, in place of the paper's private estimate of the largest ||b_M||_1, whose sensitivity has no bound.
    Tested: tests/paper/test_heuristics.py
    """
    full = CandidateList(len(moments.columns), ((1 << len(moments.columns)) - 1,))
    losses = [minimize_all(moments, full, rho) for rho in rhos]
    ranges = [loss_range(1.0, rho, study.neighbors, study.rows_per_person) for rho in rhos]
    costs = price * np.array(ranges)
    tolerance = max(each.tolerance for each in losses)
    values = np.array([each.values[0] for each in losses]) + costs
    error = tolerance + score_rounding(_largest_loss(moments, study), float(costs.max()))
    return Scores(values, certified_range(max(ranges), error), "radius")


def private_radius(
    moments: Moments, study: Study, *, epsilon: Price, choice_epsilon: Price, rhos: Sequence[float] = RADII
) -> float:
    """A radius for the coefficients: the one at which the full model's fit is no longer worth the noise of a later choice.

    `choice_epsilon` is what will be spent on that choice: its noise grows in proportion to the range over it, and matters
    times the logarithm of the number of candidates. The stated radius plays no part.
    """
    price = math.log(candidates_for(study).count + 1) / float(exact_epsilon(choice_epsilon))
    return rhos[_drawn(radius_scores(of_these(moments, study), study, rhos, price), epsilon)] * study.r


# Phi: the penalty.


def penalty_scores(moments: Moments, study: Study, penalties: Sequence[float], free: Sequence[int]) -> Scores:
    """How near each penalty is to what some column is worth: low is good, and lies in the widest gap.

    A column in `free` is worth its *drop*, by how much the full model's loss grows without it. A penalty should lie far from
    every drop and between 0 and the largest: its room is min(penalty, largest drop - penalty, |penalty - each drop|), and its
    score is minus that.

    Why the range is twice that of a loss, w: a drop is the difference of two candidates' losses, so it moves by at most w; so
    does each distance and the least of them, up or down. The solver's error counts twice in a drop.

    Source: ours, in place of the paper's gap between the best and the second best model, which idle columns make small.
    Tested: tests/paper/test_heuristics.py
    """
    width = len(moments.columns)
    full = (1 << width) - 1
    models = CandidateList(width, (full, *(full & ~(1 << j) for j in free)))
    losses = minimize_all(moments, models, study.rho)
    drops = losses.values[1:] - losses.values[0]
    asked = np.array(penalties)
    room = np.minimum(asked, drops.max() - asked)
    room = np.minimum(room, np.abs(asked[:, np.newaxis] - drops).min(axis=1))
    error = 2 * losses.tolerance + score_rounding(_largest_loss(moments, study), float(asked.max()))
    once = loss_range(1.0, study.rho, study.neighbors, study.rows_per_person)
    return Scores(-room, certified_range(2 * once, error), "penalty")


def private_penalty(moments: Moments, study: Study, *, epsilon: Price, choice_epsilon: Price) -> float:
    """A penalty in the widest gap between what the columns are worth, in squared units of the response.

    The candidates are multiples of the noise of the later choice, public by their formula.
    """
    models = candidates_for(study)
    once = loss_range(1.0, study.rho, study.neighbors, study.rows_per_person)
    default = balanced_penalty(once / float(exact_epsilon(choice_epsilon)) + 0.5, None, models.count)
    scaled = [multiple * default for multiple in PENALTIES]
    free = [j for j in range(models.width) if not (study.intercept == "always" and j == 0)]
    scores = penalty_scores(of_these(moments, study), study, scaled, free)
    return scaled[_drawn(scores, epsilon)] * study.r**2


def _largest_loss(moments: Moments, study: Study) -> float:
    """The largest loss there can be, where n is public; else of any table."""
    return float(moments.n if study.neighbors == "replace-one" else MAXIMUM_ROWS)


def _drawn(scores: Scores, epsilon: Price) -> int:
    """One private choice by permute-and-flip, at a pure price of epsilon."""
    return choose(scores, "permute-and-flip", float_below(exact_epsilon(epsilon)))
