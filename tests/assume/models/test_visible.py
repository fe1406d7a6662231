"""A variable that explains as much as is said to be visible is found about four times in five."""

import math

import numpy as np
import pytest

from dpselect import Numeric, Study
from dpselect.assume.candidates import Subsets
from dpselect.assume.power import too_short, visible_in_wide, visible_share
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.gather.blocks import vote_summary
from dpselect.gather.rows import gather
from dpselect.minimize.minimize import minimize
from dpselect.penalize.penalize import penalize
from dpselect.rehearse.check.listed import score_probabilities
from tests.held import whole_models

STUDY = Study(Numeric("y", -4, 4), [Numeric(f"x{j}", -1, 1) for j in range(6)])


def recipe_for(method, rows, epsilon, study=STUDY):
    choice = Choice(method, candidates=Subsets(empty=True))
    return make_recipe(study, choice, rows=rows, epsilon=epsilon, delta="1e-6" if method == "pcpl" else 0)


def chance_of_x0(recipe, rows, share, rng):
    """The chance of x0 in a table where it explains that share, and the response's deviation is half its bound."""
    x = rng.uniform(-1, 1, (rows, 6))
    y = 2 * (math.sqrt(3 * share) * x[:, 0] + math.sqrt(1 - share) * rng.normal(size=rows))
    if recipe.votes is None:
        sums = gather((x, y), STUDY)
    else:
        sums = gather((x, y), STUDY, vote_summary(STUDY, recipe.votes, rows))
    chances = score_probabilities(penalize(minimize(sums, recipe), recipe), recipe)
    return chances[recipe.candidates.masks() & np.uint64(2) != 0].sum()


@pytest.mark.parametrize(
    ("method", "rows", "epsilon"),
    [("votes", 1500, 0.5), pytest.param("votes", 4000, 1, marks=pytest.mark.thorough), ("pcls", 4000, 2)],
)
@pytest.mark.parametrize("whole", [False, True])
def test_what_is_said_to_be_visible_is_found(method, rows, epsilon, whole):
    """What is said to be found with a chance of .8 is, and a fifth of it is not.

    Chances of single tables have deviations of at most .3 (.70 to .92 and .09 to .12 in the mean of 40), so that a mean of 20
    leaves these ends four deviations of its own away: once in ten thousand runs with other noise.
    """
    recipe, rng = recipe_for(method, rows, epsilon), np.random.default_rng([rows, 15])
    if whole and recipe.votes is not None:
        recipe = whole_models(recipe)
    share = visible_share(recipe, 1.0)
    found = {
        factor: np.mean([chance_of_x0(recipe, rows, factor * share, rng) for _ in range(20)]) for factor in (0.2, 1)
    }
    assert found[1] > 0.5
    assert found[0.2] < 0.4


def test_it_falls_with_the_price_and_the_rows():
    for method in ("votes", "pcls"):
        by_price = [visible_share(recipe_for(method, 5000, epsilon), 1.0) for epsilon in (0.1, 0.5, 2, 8)]
        by_rows = [visible_share(recipe_for(method, rows, 1), 1.0) for rows in (200, 2000, 20_000)]
        assert by_price == sorted(by_price, reverse=True)
        assert by_rows == sorted(by_rows, reverse=True)


def test_where_nothing_can_be_seen_it_is_one_and_where_rows_are_private_it_is_not_said():
    assert visible_share(recipe_for("pcpl", 300, 1), math.inf) == 1
    assert 0 < visible_share(recipe_for("pcpl", 5000, 2), 30.0) < 0.1
    assert visible_share(recipe_for("pcls", 20, 0.01), 1.0) == 1
    assert visible_share(recipe_for("votes", 20, 0.01), 1.0) == 1
    hidden = Study(STUDY.response, STUDY.predictors, neighbors="add-remove-one")
    assert visible_share(recipe_for("pcls", None, 1, hidden), 1.0) is None


def test_in_a_likelihood_a_share_is_worth_its_penalty_and_the_odds():
    """The share q lowers -2 log-likelihood by -n log(1 - q): by the cheapest penalty, and log 4 of the scale of the choice."""
    recipe = recipe_for("pcpl", 5000, 2)
    share = visible_share(recipe, 30.0)
    assert recipe.choice_epsilon < 2  # the bound has the other part
    scale = 30.0 / float(recipe.choice_epsilon)
    assert -5000 * math.log1p(-share) == pytest.approx(min(recipe.penalties) + math.log(4) * scale)


def test_a_wide_table_is_told_by_its_terms_and_its_rows_whether_counted_or_stated():
    wide = [Numeric(f"x{j}", -1, 1) for j in range(300)]
    counted, stated = Study(STUDY.response, wide), Study(STUDY.response, wide, rows=3000)
    for study, rows in ((counted, 3000), (stated, 2990)):
        recipe = recipe_for("votes", rows, 1, study)
        equal = study is counted
        assert visible_share(recipe, 1.0) == visible_in_wide(recipe.votes, 300, 1.0, equal=equal)
        assert too_short(recipe) is None
        assert too_short(recipe_for("votes", rows, "0.01", study)).startswith("3,000 rows are too few for 301 columns")
