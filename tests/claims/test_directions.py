"""Directions at the range of the plain choice, 4T: by brute force over votes and tables, attained and never exceeded; and the law.

Every rule is here that a candidate's score knows of: numbers, categories of several columns, groups of which one is in, and terms
that are excused from the threshold because they must be in.
"""

from fractions import Fraction

import numpy as np
import pytest
from msgspec.structs import replace

from dpselect.assume.budget import float_below
from dpselect.assume.candidates import SubsetRule, Subsets
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, margin_range
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.assume.vote_rule import VoteRule
from dpselect.gather.blocks import BlockSummary
from dpselect.gather.rows import gather
from dpselect.minimize.minimize import minimize
from dpselect.penalize.margins import Margins
from dpselect.penalize.penalize import penalize
from dpselect.rehearse.chances.scores import log_selection_probabilities
from tests.claims.test_margin_range import HOSTILE, Fixed
from tests.randomize.listing import listed

RULES = {
    "numbers": SubsetRule(3, (1, 2, 4), empty=True),
    "a category": SubsetRule(3, (1, 6), empty=True),
    "a group": SubsetRule(3, (1, 2, 4), one_of=((0, 1),)),
    "one at least": SubsetRule(3, (1, 2, 4), at_least=1),
    "two at most": SubsetRule(4, (1, 2, 12), max_size=2, empty=True),
}


def outcomes(margins):
    """The score of every outcome, by what is released of it: the columns, and the directions."""
    found = {}
    for candidate, score in listed(margins).items():
        found[tuple((option.mask, option.column, option.sign) for option in candidate)] = score
    return found


# A category and a group reach every branch; the others are the same law on longer lists.
@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(rule, marks=() if name in ("a category", "a group") else pytest.mark.thorough, id=name)
        for name, rule in RULES.items()
    ],
)
def test_the_range_is_never_exceeded_and_is_attained(rule):
    """8,000 pairs of votes in all, each as far apart as one block of each partition can make them."""
    rng = np.random.default_rng(2024)
    worst = {}
    for _ in range(8_000 // len(RULES)):
        partitions, blocks = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        step = WHOLE_VOTE if rng.random() < 0.8 else 1  # plain votes most of the time: with them the range is attained
        votes = step * rng.integers(-WHOLE_VOTE // step, WHOLE_VOTE // step + 1, (partitions, blocks, rule.width))
        changed = votes.copy()
        # Often all the way to the other side, as a row can make its blocks vote.
        far = np.where(votes[:, 0] > 0, -WHOLE_VOTE, WHOLE_VOTE)
        some = rng.integers(-WHOLE_VOTE, WHOLE_VOTE + 1, (partitions, rule.width))
        changed[:, 0] = np.where(rng.random(some.shape) < 0.7, far, some)
        threshold = step * int(rng.integers(0, WHOLE_VOTE // step * partitions * blocks + 1))
        here, there = (
            outcomes(Margins(each.sum(axis=(0, 1)), threshold, Fraction(0), rule, 1.0, directions=True))
            for each in (votes, changed)
        )
        change = np.array([there[outcome] - here[outcome] for outcome in here])
        assert here.keys() == there.keys()
        assert np.abs(change).max() <= margin_range(partitions) / 2
        worst[partitions] = max(worst.get(partitions, 0), change.max() - change.min())
    assert worst == {partitions: margin_range(partitions) for partitions in (1, 2, 3)}


EPSILON = 0.8
STUDY = Study(Numeric("y"), [Numeric("a"), Categorical("c", ["u", "v", "w"])], missing="zero-row", rows=40)
PLAIN, PICKED = Subsets(), Subsets(at_least=1)


def recipe_for(blocks, partitions, threshold, mechanism, subsets):
    recipe = make_recipe(STUDY, Choice("votes", mechanism, subsets), rows=40, epsilon=EPSILON)
    rule = VoteRule(blocks=blocks, partitions=partitions, ridge=0.1, threshold=threshold, price=recipe.votes.price)
    return replace(recipe, votes=rule, directions=True)


def log_law(table, places, recipe):
    """The exact law of columns and directions, given who sits in which block."""
    rule = recipe.votes
    rows = {"a": table[:, 0], "c": np.array(["u", "v", "w"])[table[:, 1].astype(int)], "y": table[:, 2]}
    sums = gather(rows, STUDY, BlockSummary(STUDY, rule.blocks, rule.partitions, Fixed(places)))
    scores = outcomes(penalize(minimize(sums, recipe), recipe))
    logs = log_selection_probabilities(
        np.array(list(scores.values())),
        float(margin_range(rule.partitions)),
        float_below(recipe.choice_epsilon),
        recipe.mechanism,
    )
    return dict(zip(scores, logs.tolist(), strict=True))


def settings():
    """All twelve; without the thorough ones six, in which every two of relation, rule and mechanism meet."""
    for place, relation in enumerate(["replace", "add", "person"]):
        for subsets, name in ((PLAIN, "free"), (PICKED, "one at least")):
            for mechanism in ("permute-and-flip", "exponential"):
                usual = (subsets is PLAIN) ^ (mechanism == "exponential") ^ (place == 1)
                marks = () if usual else pytest.mark.thorough
                yield pytest.param(mechanism, subsets, relation, marks=marks, id=f"{relation}-{name}-{mechanism}")


@pytest.mark.parametrize(("mechanism", "subsets", "relation"), list(settings()))
def test_no_direction_is_more_than_a_factor_likelier(mechanism, subsets, relation):
    """Through gather and minimize: hostile cells, a category, fewer rows than columns, whole persons."""
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(80):
        blocks, partitions = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        rows, several = int(rng.integers(2, 24)), 4 if relation == "person" else 1
        recipe = recipe_for(blocks, partitions, int(rng.integers(1, blocks * partitions + 1)), mechanism, subsets)
        table = rng.normal(size=(rows + several, 3))
        table[:, 1] = rng.integers(0, 3, rows + several)
        table[:, 2] += table[:, 0] * rng.choice([0, 3])
        places = rng.integers(0, blocks, (partitions, rows + several))
        places[:, rows:] = places[:, rows : rows + 1]
        other = table.copy()
        other[rows:, [0, 2]] = rng.choice(HOSTILE, (several, 2)) if rng.random() < 0.3 else 1e3 * rng.normal(size=2)
        other[rows:, 1] = rng.integers(0, 3, several)
        if relation == "add":
            other, there = table[:rows], places[:, :rows]
        else:
            there = places
        one, two = log_law(table, places, recipe), log_law(other, there, recipe)
        worst = max(worst, *(abs(one[outcome] - two[outcome]) for outcome in one))
    assert worst <= EPSILON * (1 + 1e-9)
    assert worst > EPSILON * 0.4  # so that half the range would have been caught


def test_the_law_comes_as_near_to_its_factor_as_it_may():
    """On leads that one row can make: both signs of one column, moved by 2T at once."""
    worst = 0.0
    for lead in range(-12, 13):
        for moved in (lead - 4, lead + 4):
            pair = [
                outcomes(Margins(np.array([each]), 6, Fraction(0), SubsetRule(1, (1,), empty=True), 8.0, True))
                for each in (lead, moved)
            ]
            logs = [
                log_selection_probabilities(np.array(list(each.values())), 8.0, EPSILON, "permute-and-flip")
                for each in pair
            ]
            worst = max(worst, float(np.abs(logs[0] - logs[1]).max()))
    assert 0.85 * EPSILON < worst <= EPSILON * (1 + 1e-9)
