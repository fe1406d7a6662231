"""What a recipe makes of its numbers before a row is read."""

from decimal import Decimal
from fractions import Fraction

import pytest
from msgspec.structs import replace

from dpselect.assume.lemmas.sensitivity import margin_range
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.errors import StudyError

STUDY = Study(Numeric("y", 0, 1), [Numeric(f"x{j}", 0, 1) for j in range(6)])


@pytest.mark.parametrize("epsilon", ["0.35", "1", "7"])
def test_a_term_costs_its_price_in_nats(epsilon):
    """A step of the score is worth epsilon/range nats: so many steps are the price, to 2^-20 and rounded down."""
    recipe = make_recipe(STUDY, Choice("votes"), rows=1000, epsilon=epsilon)
    worth = Fraction(recipe.choice_epsilon) / margin_range(recipe.votes.partitions)
    assert recipe.choice_epsilon == recipe.guarantee.epsilon
    assert 0 <= Fraction(recipe.votes.price) - recipe.step * worth < worth / 2**20
    assert recipe.step.denominator <= 2**20


def test_a_step_stays_where_scores_are_exact():
    assert make_recipe(STUDY, Choice("votes"), rows=1000, epsilon="1e-8").step == 2**30


def test_votes_are_held_as_a_recipe_says_and_in_no_other_recipe():
    votes = make_recipe(STUDY, Choice("votes"), rows=1000, epsilon=1)
    with pytest.raises(StudyError, match="says how they are held"):
        replace(votes, votes=None)
    with pytest.raises(StudyError, match="no other recipe does"):
        replace(make_recipe(STUDY, Choice("pcls"), rows=1000, epsilon=1), votes=votes.votes)


@pytest.mark.parametrize("epsilon", ["0.3", "1", "0.12345678901234567"])
def test_half_of_epsilon_buys_the_bound_of_pcpl_and_the_other_half_the_choice(epsilon):
    recipe = make_recipe(STUDY, Choice("pcpl"), rows=1000, epsilon=epsilon, delta="1e-6")
    assert recipe.guarantee.epsilon == Decimal(epsilon)
    assert abs(Fraction(recipe.bound_epsilon) - Fraction(epsilon) / 2) < Fraction(epsilon) / 10**6
    assert recipe.bound_epsilon + recipe.choice_epsilon <= recipe.guarantee.epsilon


def test_how_votes_are_held_is_part_of_what_a_recipe_says_and_of_its_hash():
    votes = make_recipe(STUDY, Choice("votes"), rows=1000, epsilon=1)
    other = replace(votes, votes=replace(votes.votes, price=votes.votes.price + 1))
    assert votes.to_dict()["votes"] == votes.votes.to_dict() and votes.hash != other.hash
    assert "votes" not in make_recipe(STUDY, Choice("pcls"), rows=1000, epsilon=1).to_dict()
