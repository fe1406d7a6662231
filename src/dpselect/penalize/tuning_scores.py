"""Private. Scores of radii and of penalties: what the paper suggests to tune, as choices among public candidates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS, certified_range, loss_range, score_rounding
from dpselect.assume.models.candidates import CandidateList
from dpselect.assume.study.assumptions import Assumptions
from dpselect.gather.sums.moments import Moments
from dpselect.minimize.minimize import minimize_all
from dpselect.penalize.scores import Scores


def radius_scores(moments: Moments, assumptions: Assumptions, rhos: Sequence[float], price: float) -> Scores:
    """The full model's loss with each radius, plus `price` times the range that the radius would cost: low is good.

    The radii are in units of the response's half range, losses with the response in [-1, 1]. A radius is worth its noise as
    long as the full model's loss falls by more than `price` times the growth of the range.

    Why the range is that of the largest radius: for every radius up to it, one record adds to the loss no less than
    max(|y| - largest, 0)^2 and no more than (|y| + largest)^2, so the proof of `loss_range` holds over radii as it does over
    candidates. The price is public and moves nothing.

    Source: ours, in place of the paper's private estimate of the largest ||b_M||_1, whose sensitivity has no bound.
    Tested: tests/claims/test_tuning_ranges.py
    """
    full = CandidateList(len(moments.columns), ((1 << len(moments.columns)) - 1,))
    losses = [minimize_all(moments, full, rho) for rho in rhos]
    ranges = [loss_range(1.0, rho, assumptions.neighbors, assumptions.rows_per_person) for rho in rhos]
    costs = price * np.array(ranges)
    tolerance = max(each.tolerance for each in losses)
    values = np.array([each.values[0] for each in losses]) + costs
    error = tolerance + score_rounding(_most(moments, assumptions), float(costs.max()))
    return Scores(values, certified_range(max(ranges), error), "radius")


def penalty_scores(
    moments: Moments, assumptions: Assumptions, penalties: Sequence[float], free: Sequence[int]
) -> Scores:
    """How near each penalty is to what some column is worth: low is good, and lies in the widest gap.

    A column in `free` is worth its *drop*, by how much the full model's loss grows without it. A penalty should lie far from
    every drop and between 0 and the largest: its room is min(penalty, largest drop - penalty, |penalty - each drop|), and its
    score is minus that.

    Why the range is twice that of a loss, w: a drop is the difference of two candidates' losses, so it moves by at most w; so
    does each distance and the least of them, up or down. The solver's error counts twice in a drop.

    Source: ours, in place of the paper's gap between the best and the second best model, which idle columns make small.
    Tested: tests/claims/test_tuning_ranges.py
    """
    width = len(moments.columns)
    full = (1 << width) - 1
    models = CandidateList(width, (full, *(full & ~(1 << j) for j in free)))
    losses = minimize_all(moments, models, assumptions.rho)
    drops = losses.values[1:] - losses.values[0]
    asked = np.array(penalties)
    room = np.minimum(asked, drops.max() - asked)
    room = np.minimum(room, np.abs(asked[:, np.newaxis] - drops).min(axis=1))
    error = 2 * losses.tolerance + score_rounding(_most(moments, assumptions), float(asked.max()))
    once = loss_range(1.0, assumptions.rho, assumptions.neighbors, assumptions.rows_per_person)
    return Scores(-room, certified_range(2 * once, error), "penalty")


def _most(moments: Moments, assumptions: Assumptions) -> float:
    """The largest loss there can be, where n is public; else of any table."""
    return float(moments.n if assumptions.neighbors == "replace-one" else MAXIMUM_ROWS)
