"""Public. Whether the paper's scores would do better than votes: only where they win in every supposed world, by a margin."""

from __future__ import annotations

from itertools import product

import numpy as np

from dpselect.assume.lemmas.sensitivity import loss_range
from dpselect.assume.penalty import loss_penalty
from dpselect.assume.study import Study
from dpselect.rehearse.chances.all import selection_probabilities
from dpselect.rehearse.planning.forecast import Forecast, Worth, bic_model
from dpselect.rehearse.planning.worlds import Layout, World

RIVAL_MARGIN = 0.05
MAX_RIVAL_TERMS = 8
SPREAD = 0.5
"""The response's standard deviation is supposed to be half the half range of its stated bounds."""


def better_method(study: Study, layout: Layout, votes: list[tuple[World, Forecast]], rows: int, epsilon: float) -> str:
    """The name of the method: pcls where it says more than votes by a margin in all worlds, looked at up to a few terms."""
    if study.unbounded or len(layout.widths) > MAX_RIVAL_TERMS or study.neighbors != "replace-one":
        return "votes"
    for world, ours in sorted(votes, key=lambda pair: -pair[1].kept):
        theirs = forecast_losses(world, rows, epsilon)
        if not (theirs.informed and theirs.kept >= ours.kept + RIVAL_MARGIN):
            return "votes"
    return "pcls"


def forecast_losses(world: World, rows: int, epsilon: float) -> Forecast:
    """What PCLS gives with its defaults, were every loss its expectation: a little more than in a sample."""
    worth, bic = Worth(world), bic_model(world, rows)
    sets = np.array(list(product((False, True), repeat=len(world.layout.widths))), dtype=bool)
    shares = np.array([worth(taken) for taken in sets])
    width = loss_range(1.0, 1.0, "replace-one")
    price = loss_penalty(width / epsilon, rows, len(sets))
    scores = rows * SPREAD**2 * (1 - world.r2 * shares) + price * sets.sum(axis=1)
    chances = selection_probabilities(scores, width, epsilon, "permute-and-flip")
    inside = chances @ sets
    others = inside[~bic].mean() if (~bic).any() else 0.0
    right = chances[(sets == bic).all(axis=1)].sum()
    return Forecast(*map(float, (right, min(chances @ shares / worth(bic), 1.0), inside[bic].mean(), others)))
