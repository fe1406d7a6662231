"""A residual deviation and an R^2 that there can be, or none."""

import pytest

from dpselect.assume.lemmas.moments import moment_layout
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.randomize.noisy_moments import NoisyMoments, moment_noise
from dpselect.release.equations.findings import HIDDEN, fit, unexplained
from dpselect.release.equations.problem import problem


def noisy(values, rows=100):
    layout = moment_layout(Study(Numeric("y", 0, 1), [Numeric("x", 0, 1)]), (0, 1))
    noise = moment_noise(layout, 0.65, 0)
    return NoisyMoments(layout=layout, noise=noise, values=values, known_rows=rows)


IMPOSSIBLE = [
    (648215723, 483651329, -2961331463, 10861180070, 6108227406),
    (1310389232, -452613429, -2397069892, 11378613189, 5398894561),
    (1897375328, -346003825, -5030490154, 13536147516, 5794348047),
    (-921864269, 220681717, -2560173253, 11769581995, 6755330134),
]
"""A release that was once made of 100 rows, and others like it: squares below zero and products above all bounds."""


@pytest.mark.parametrize("values", IMPOSSIBLE)
def test_noise_that_leaves_no_possible_share_leaves_none_said(values):
    """The first once said an R^2 of -0.58, and `verify` could not compute it anew."""
    assert unexplained(fit(problem(noisy(values), (0, 1))), 0.95) == (HIDDEN, HIDDEN)


@pytest.mark.parametrize("rows", [1500, pytest.param(3000, marks=pytest.mark.thorough)])
def test_whatever_the_noise_is_an_amount_lies_in_its_interval_and_that_where_it_can_be(tables, rows):
    said = 0
    for seed in range(20):
        noisy, _ = tables.noisy(n=rows, seed=seed)
        for amount in unexplained(fit(problem(noisy, (0, 1))), 0.95):
            if amount.determined:
                said += 1
                assert 0 <= amount.lower <= amount.value <= amount.upper <= 1
    assert 0 < said < 40
