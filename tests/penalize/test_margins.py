"""Margins of models that are named one by one, and of the limits of a rule: against the definition, model by model."""

from fractions import Fraction

import numpy as np
import pytest

from dpselect import DataError, Numeric, Study, StudyError
from dpselect.assume.candidates import CandidateList, SubsetRule, columns_of, vote_units
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.gather.blocks import BlockSummary
from dpselect.gather.rows import gather
from dpselect.minimize.minimize import minimize
from dpselect.penalize.margins import Margins, margins
from dpselect.penalize.penalize import penalize
from tests.held import whole_models


def defined(candidates, agreement, threshold, step):
    """Minus the least of (agreement - threshold) inside and (threshold - agreement) outside, plus the price of the terms.

    Who must be in, because of a group or because there are no more than there must be, is worth the threshold and what it has.
    """
    units, fewest = vote_units(candidates), getattr(candidates, "fewest", -1)
    grouped = {place for group in getattr(candidates, "one_of", ()) for place in group}
    scores = []
    for mask in candidates:
        inside = [mask & unit == unit for unit in units]
        sides = []
        for place, (a, is_in) in enumerate(zip(agreement, inside, strict=True)):
            needed = any(part == place and inside[term] for term, part in getattr(candidates, "needs", ()))
            excused = place in grouped or needed or sum(inside) == fewest
            sides.append(threshold - a if not is_in else a + threshold if excused else a - threshold)
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
        SubsetRule(5, (0b1, 0b110, 0b11000), at_least=2),
        SubsetRule(5, (0b1, 0b10, 0b100, 0b11000), one_of=((0, 2),)),
        SubsetRule(5, (0b1, 0b10, 0b100, 0b11000), empty=True, needs=((3, 0), (3, 1))),
    ],
    ids=range(10),
)
def test_every_score_is_the_definition(candidates):
    rng = np.random.default_rng(2)
    for _ in range(50):
        lead = rng.integers(-30, 30, candidates.width)
        agreement = [max(abs(lead[j]) for j in columns_of(unit)) for unit in vote_units(candidates)]
        threshold, step = int(rng.integers(1, 20)), Fraction(int(rng.integers(0, 2**22)), 2**20)
        margins = Margins(lead, threshold, step, candidates, 2.0)
        assert margins.agreement.tolist() == agreement
        scores = margins.scores()
        assert scores.values.tolist() == defined(candidates, agreement, threshold, step)
        assert len(scores.values) == candidates.count == len({tuple(columns_of(mask)) for mask in candidates})


def test_where_there_is_one_candidate_its_score_is_nought():
    alone = Margins(np.array([1, 2, 3]), 7, Fraction(3), CandidateList(3, (0b110,)), 2.0)
    assert alone.scores().values.tolist() == [0.0]


def test_their_text_keeps_the_counts_private():
    shown = repr(Margins(np.array([97, 98]), 5, Fraction(0), SubsetRule(2, (1, 2), empty=True), 4.0))
    assert shown == "Margins(columns=2, range=4, values=<private>)"


def test_each_option_is_worth_what_its_leads_say():
    """A number, a category of two columns, and a group of two numbers."""
    rule = SubsetRule(5, (0b1, 0b110, 0b1000, 0b10000), one_of=((2, 3),))
    signed = Margins(np.array([40, -30, 20, 6, -9]), 25, Fraction(0), rule, 4.0, directions=True)
    number, category, group = signed.options()
    assert number == [(25 - 40, 0, -1, 0), (40 - 25, 0b1, 0, 1), (-40 - 25, 0b1, 0, -1)]
    assert category == [
        (25 - 30, 0, -1, 0),
        *[(-30 - 25, 0b110, 1, 1), (30 - 25, 0b110, 1, -1)],
        *[(20 - 25, 0b110, 2, 1), (-20 - 25, 0b110, 2, -1)],
    ]
    assert group == [
        *[(25 - 9, 0b1000, 3, 1), (min(25 - 6, 25 - 9), 0b1000, 3, -1)],
        *[(-9 + 25, 0b10000, 4, 1), (25 - 6, 0b10000, 4, -1)],
    ]
    excused = signed.options(excused=True)
    assert excused[0][1:] == [(40 + 25, 0b1, 0, 1), (-40 + 25, 0b1, 0, -1)]
    assert excused[2] == group
    plain = Margins(signed.lead, 25, Fraction(0), rule, 4.0).options()
    assert plain == [
        [(-15, 0, -1, 0), (15, 0b1, -1, 0)],
        [(-5, 0, -1, 0), (5, 0b110, -1, 0)],
        [(25 - 9, 0b1000, -1, 0), (25 - 6, 0b10000, -1, 0)],
    ]


def test_the_signs_of_the_votes_reach_the_margins():
    study = Study(Numeric("y"), [Numeric("a"), Numeric("b")])
    recipe = whole_models(make_recipe(study, Choice("votes"), rows=4000, epsilon=5))
    assert recipe.directions
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    blocks = BlockSummary(study, recipe.votes.blocks, recipe.votes.partitions)
    sums = gather((X, X @ [2, -2]), study, blocks)
    found = margins(minimize(sums, recipe), recipe)
    assert found.directions
    assert found.lead[1] > recipe.votes.threshold
    assert found.lead[2] < -recipe.votes.threshold


def test_votes_in_other_blocks_than_the_recipe_says_are_refused():
    study = Study(Numeric("y", 0, 1), [Numeric("x", 0, 1)])
    recipe = whole_models(make_recipe(study, Choice("votes"), rows=200, epsilon=1))
    other = whole_models(make_recipe(study, Choice("votes"), rows=20_000, epsilon=1))
    x = np.linspace(0, 1, 200)
    sums = gather((x[:, None], x), study, BlockSummary(study, recipe.votes.blocks, recipe.votes.partitions))
    votes = minimize(sums, recipe)
    assert isinstance(margins(votes, recipe), Margins)
    with pytest.raises(DataError, match="in other blocks than the recipe says"):
        margins(votes, other)


def test_a_penalty_beyond_every_double_is_refused():
    study = Study(Numeric("y", -1e-100, 1e-100), [Numeric("x", 0, 1)])
    recipe = make_recipe(study, Choice("pcls", penalty=1e200), rows=10, epsilon=1)
    x = np.linspace(0, 1, 10)
    losses = minimize(gather((x[:, None], x), study), recipe)
    with pytest.raises(StudyError, match="too large for the response's range"):
        penalize(losses, recipe)
