"""A column that merely goes along with a strong one is not voted in, in a short table either."""

import math

import numpy as np
import pytest

from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.gather.blocks import BlockSummary
from dpselect.gather.rows import gather
from dpselect.minimize.votes import count_votes
from dpselect.penalize.margins import margins
from dpselect.rehearse.chances.votes import VoteChances

STUDY = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(6)])


@pytest.mark.parametrize(("rows", "epsilon"), [(1000, 0.5), (1000, 1.0), (8000, 0.5)])
def test_company_of_a_strong_column_is_left_out(rows, epsilon):
    """Six columns with correlations of .8, of which one matters: on average over tables the chosen model is that one."""
    chances = []
    for time in range(4):
        rng = np.random.default_rng([3, time])
        X = math.sqrt(0.2) * rng.standard_normal((rows, 6)) + math.sqrt(0.8) * rng.standard_normal((rows, 1))
        y = 1.5 * X[:, 0] + rng.standard_normal(rows)
        recipe = make_recipe(STUDY, Choice(method="votes"), rows=rows, epsilon=epsilon)
        rule = recipe.votes
        sums = gather((X, y), STUDY, BlockSummary(STUDY, rule.blocks, rule.partitions))
        found = margins(count_votes(sums, ridge=rule.ridge), recipe)
        chances.append(VoteChances(found, epsilon, recipe.mechanism).inclusion)
    inside = np.mean(chances, axis=0)
    assert inside[0] > 0.95
    assert inside[1:].mean() < 0.1
