"""Margins of models that are named one by one, and of the limits of a rule: against the definition, model by model."""

from fractions import Fraction

import numpy as np
import pytest

from dpselect import AssumptionError, Assumptions, DataError, Numeric
from dpselect.assume.models.candidates import CandidateList, SubsetRule, columns_of, vote_units
from dpselect.assume.models.choice import Choice
from dpselect.assume.models.recipe import make_recipe
from dpselect.gather.block_table import gather_blocks
from dpselect.gather.table import gather_table
from dpselect.minimize.minimize import minimize
from dpselect.penalize.margins import Margins, margins
from dpselect.penalize.penalize import penalize


def defined(candidates, agreement, threshold, step):
    """Minus the least of (agreement - threshold) inside and (threshold - agreement) outside, plus the price of the terms."""
    units = vote_units(candidates)
    scores = []
    for mask in candidates:
        inside = [mask & unit == unit for unit in units]
        sides = [a - threshold if is_in else threshold - a for a, is_in in zip(agreement, inside, strict=True)]
        scores.append(float(step) * sum(inside) - (min(sides) if sides else 0))
    return scores


@pytest.mark.parametrize(
    "candidates",
    [
        CandidateList(4, (1, 2, 3, 7, 8)),
        CandidateList(4, (5, 13, 7)),  # the first and third column are in all, and not voted on
        CandidateList(3, (0b011, 0b101)),
        CandidateList(3, (0b110,)),  # nothing to vote on
        SubsetRule(5, (0b1, 0b110, 0b11000), max_size=3, empty=True),
        SubsetRule(5, (0b1, 0b110, 0b11000), max_size=4),
        SubsetRule(3, (0b10, 0b100), always=1),
    ],
    ids=range(7),
)
def test_every_score_is_the_definition(candidates):
    rng = np.random.default_rng(2)
    for _ in range(50):
        agreement = rng.integers(0, 30, len(vote_units(candidates)))
        threshold, step = int(rng.integers(1, 20)), Fraction(int(rng.integers(0, 2**22)), 2**20)
        scores = Margins(agreement, threshold, step, candidates, 2.0).scores()
        assert scores.values.tolist() == defined(candidates, agreement, threshold, step)
        assert len(scores.values) == candidates.count == len({tuple(columns_of(mask)) for mask in candidates})


def test_where_there_is_one_candidate_its_score_is_nought():
    alone = Margins(np.array([], np.int64), 7, Fraction(3), CandidateList(3, (0b110,)), 2.0)
    assert alone.scores().values.tolist() == [0.0]


def test_their_text_keeps_the_counts_private():
    shown = repr(Margins(np.array([97, 98]), 5, Fraction(0), SubsetRule(2, (1, 2), empty=True), 4.0))
    assert shown == "Margins(terms=2, range=4, values=<private>)"


def test_votes_in_other_blocks_than_the_recipe_says_are_refused():
    study = Assumptions(Numeric("y", 0, 1), [Numeric("x", 0, 1)])
    recipe = make_recipe(study, Choice("votes"), rows=200, epsilon=1)
    other = make_recipe(study, Choice("votes"), rows=20_000, epsilon=1)
    x = np.linspace(0, 1, 200)
    sums, _ = gather_blocks((x[:, None], x), study, recipe.votes.blocks, recipe.votes.partitions)
    votes = minimize(sums, recipe)
    assert isinstance(margins(votes, recipe), Margins)
    with pytest.raises(DataError, match="in other blocks than the recipe says"):
        margins(votes, other)


def test_a_penalty_beyond_every_double_is_refused():
    study = Assumptions(Numeric("y", -1e-100, 1e-100), [Numeric("x", 0, 1)])
    recipe = make_recipe(study, Choice("pcls", penalty=1e200), rows=10, epsilon=1)
    x = np.linspace(0, 1, 10)
    losses = minimize(gather_table((x[:, None], x), study), recipe)
    with pytest.raises(AssumptionError, match="too large for the response's range"):
        penalize(losses, recipe)
