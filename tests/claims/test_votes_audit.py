"""Block votes are epsilon-private: exact laws on neighbouring tables, given the assignment, and on average over all of them."""

from itertools import product

import numpy as np
import pytest
from tests.claims.test_margin_range import HOSTILE, Fixed

from dpselect.assume.models.budget import float_below
from dpselect.assume.models.choice import Choice
from dpselect.assume.models.recipe import make_recipe
from dpselect.assume.models.vote_rule import VoteRule
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Numeric
from dpselect.gather.block_table import gather_blocks
from dpselect.minimize.minimize import minimize
from dpselect.penalize.penalize import penalize
from dpselect.rehearse.chances.all import log_selection_probabilities

EPSILON = 0.8
STUDY = Assumptions(Numeric("y"), [Numeric("a"), Numeric("b")], missing="zero-row", rows=40)


def recipe_for(blocks, partitions, threshold, mechanism):
    from dataclasses import replace

    recipe = make_recipe(STUDY, Choice("votes", mechanism), rows=40, epsilon=EPSILON)
    rule = VoteRule(
        blocks=blocks, partitions=partitions, dead_zone=0.0, ridge=0.1, threshold=threshold, price=recipe.votes.price
    )
    return replace(recipe, votes=rule)


def log_law(table, places, recipe):
    """The exact law of the outcome, given who sits in which block."""
    rule = recipe.votes
    sums, _ = gather_blocks((table[:, :2], table[:, 2]), STUDY, rule.blocks, rule.partitions, assigner=Fixed(places))
    scores = penalize(minimize(sums, recipe), recipe).scores()
    return log_selection_probabilities(
        scores.values, scores.range, float_below(recipe.choice_epsilon), recipe.mechanism
    )


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("relation", ["replace", "add", "person"])
def test_no_outcome_is_more_than_a_factor_likelier(mechanism, relation):
    rng = np.random.default_rng(99)
    worst = 0.0
    for _ in range(250):
        blocks, partitions = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        rows, several = int(rng.integers(2, 24)), 4 if relation == "person" else 1
        recipe = recipe_for(blocks, partitions, int(rng.integers(1, blocks * partitions + 1)), mechanism)
        table = rng.normal(size=(rows + several, 3))
        table[:, 2] += table[:, 0] * rng.choice([0, 3])
        places = rng.integers(0, blocks, (partitions, rows + several))
        places[:, rows:] = places[:, rows : rows + 1]
        other = table.copy()
        other[rows:] = rng.choice(HOSTILE, (several, 3)) if rng.random() < 0.3 else 1e3 * rng.normal(size=(several, 3))
        if relation == "add":
            other, there = table[:rows], places[:, :rows]
        else:
            there = places
        change = log_law(table, places, recipe) - log_law(other, there, recipe)
        worst = max(worst, float(np.abs(change).max()))
    assert worst <= EPSILON * (1 + 1e-9)
    # The search comes near the limit, so that half the range would have been caught.
    assert worst > EPSILON * 0.55


def test_on_average_over_all_assignments_too():
    """The law itself, every assignment counted: what a stranger can see."""
    rng = np.random.default_rng(12)
    recipe = recipe_for(2, 1, 1, "permute-and-flip")
    table = rng.normal(size=(5, 3))
    other = table.copy()
    other[4] = [1e9, -1e9, 1e9]

    def law(rows):
        chances = [np.exp(log_law(rows, np.array([places]), recipe)) for places in product((0, 1), repeat=5)]
        return np.mean(chances, axis=0)

    here, there = law(table), law(other)
    assert np.abs(np.log(here / there)).max() <= EPSILON * (1 + 1e-9)
    assert here.sum() == pytest.approx(1)
    # The same rows in another order have the same law: nothing depends on a row's place.
    np.testing.assert_allclose(law(table[::-1]), here, atol=1e-12)
