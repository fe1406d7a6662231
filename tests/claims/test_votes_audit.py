"""Block votes are epsilon-private: exact laws on neighbouring tables, given the assignment, and on average over all of them."""

from itertools import product

import numpy as np
import pytest

from dpselect.assume.budget import float_below
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.assume.vote_rule import VoteRule
from dpselect.gather.blocks import BlockSummary
from dpselect.gather.rows import gather
from dpselect.minimize.minimize import minimize
from dpselect.penalize.penalize import penalize
from dpselect.rehearse.chances.scores import log_selection_probabilities
from tests.claims.test_margin_range import HOSTILE, Fixed

EPSILON = 0.8
STUDY = Study(Numeric("y"), [Numeric("a"), Numeric("b")], missing="zero-row", rows=40)


def recipe_for(blocks, partitions, threshold, mechanism):
    from msgspec.structs import replace

    recipe = make_recipe(STUDY, Choice("votes", mechanism), rows=40, epsilon=EPSILON)
    rule = VoteRule(blocks=blocks, partitions=partitions, ridge=0.1, threshold=threshold, price=recipe.votes.price)
    return replace(recipe, votes=rule)


def log_law(table, places, recipe):
    """The exact law of the outcome, given who sits in which block."""
    rule = recipe.votes
    sums = gather((table[:, :2], table[:, 2]), STUDY, BlockSummary(STUDY, rule.blocks, rule.partitions, Fixed(places)))
    scores = penalize(minimize(sums, recipe), recipe).scores()
    return log_selection_probabilities(
        scores.values, scores.range, float_below(recipe.choice_epsilon), recipe.mechanism
    )


@pytest.mark.parametrize(
    ("relation", "mechanism"),
    [
        ("replace", "permute-and-flip"),
        ("add", "exponential"),
        ("person", "permute-and-flip"),
        *(
            pytest.param(*each, marks=pytest.mark.thorough)
            for each in (("replace", "exponential"), ("add", "permute-and-flip"), ("person", "exponential"))
        ),
    ],
)
def test_no_outcome_is_more_than_a_factor_likelier(mechanism, relation):
    rng = np.random.default_rng(99)
    worst = 0.0
    for _ in range(250):
        blocks, partitions = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        rows, several = int(rng.integers(2, 24)), 4 if relation == "person" else 1
        recipe = recipe_for(blocks, partitions, int(rng.integers(1, WHOLE_VOTE * blocks * partitions + 1)), mechanism)
        table = rng.normal(size=(rows + several, 3))
        if rng.random() < 0.5:  # skewed, so that votes are soft
            table = np.exp(table) if rng.random() < 0.5 else (table > 1.0) * 1.0
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
    recipe = recipe_for(2, 1, WHOLE_VOTE, "permute-and-flip")
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
