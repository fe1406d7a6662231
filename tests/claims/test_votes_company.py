"""A column that merely goes along with a strong one is not voted in, in a short table either."""

import math
from decimal import Decimal

import numpy as np
import pytest

from dpselect.assume.budget import Budget
from dpselect.assume.recipe import Choice
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.use.check import Rehearsal

STUDY = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(6)])


@pytest.mark.parametrize(("rows", "epsilon", "most"), [(1000, 0.5, 0.2), (1000, 1.0, 0.1), (8000, 0.5, 0.1)])
def test_company_of_a_strong_column_is_left_out(rows, epsilon, most):
    """Six columns with correlations of .8, of which one matters: on average over tables the chosen model is that one."""
    chances = []
    for time in range(4):
        rng = np.random.default_rng([3, time])
        X = math.sqrt(0.2) * rng.standard_normal((rows, 6)) + math.sqrt(0.8) * rng.standard_normal((rows, 1))
        y = 1.5 * X[:, 0] + rng.standard_normal(rows)
        rehearsal = Rehearsal(STUDY, Choice("votes"), Budget(epsilon), run="select")
        seen = rehearsal.rehearse((X, y), rows=rows, dealings=1).at(Decimal(str(epsilon)), leading=1)
        chances.append(seen.inclusion)
    inside = np.mean(chances, axis=0)
    assert inside[0] > 0.95
    assert (
        inside[1:].mean() < most
    )  # 500 rows times epsilon are few: .17, where blocks that fit all columns had below .1
