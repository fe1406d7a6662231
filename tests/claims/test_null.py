"""No association, no finding: idle columns of skewed tables are not selected, alone or beside effects; a part of benchmarks.null.

Tables are made with fixed seeds and chances are exact given rows and dealing. The dealing is drawn afresh, so a mean of three
tables moves a little; each target is at least twice what was measured.
"""

import numpy as np
import pytest

from benchmarks.held import recipe_for, votes_of
from benchmarks.null import SETTINGS, expected_idle, most_idle
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric

HEAVY = (
    "lognormal, lognormal response",
    "rare dummies, zero-heavy count",
    "rare and lognormal, 5% yes",
    "beside strong rare",
)


def idle(label, rows, epsilon, tables):
    made = (SETTINGS[label](np.random.default_rng([57, rows, t]), rows) for t in range(tables))
    return float(np.mean([expected_idle(each, epsilon) for each in made]))


USUAL = (*HEAVY, "normal, normal response", "beside effects on 5% yes", "following strong rare, binary response")
"""Of each kind one: skewed and rare alone, beside strong effects, following them, and nothing out of the way."""


@pytest.mark.parametrize(
    "label",
    [
        label if label in USUAL else pytest.param(label, marks=pytest.mark.thorough)
        for label in SETTINGS
        if not label.startswith("24")
    ],
)
def test_idle_columns_are_not_selected(label):
    assert idle(label, 6000, 1.0, 3) <= most_idle(6000, 1.0)


@pytest.mark.parametrize("label", [HEAVY[0], *(pytest.param(each, marks=pytest.mark.thorough) for each in HEAVY[1:])])
def test_nor_at_a_lower_price(label):
    assert idle(label, 6000, 0.35, 3) <= 2 * most_idle(6000, 0.35)


@pytest.mark.parametrize("label", HEAVY)
def test_nor_in_a_longer_table(label):
    """What is left of a bias must not stay while the bar falls: signs of small blocks found four of nine idle columns here."""
    assert idle(label, 40_000, 1.0, 1) <= most_idle(40_000, 1.0)


def test_whole_models_find_nothing_either():
    assert idle("24 columns: lognormal", 6000, 1.0, 2) <= most_idle(6000, 1.0)


def test_blocks_of_fewer_rows_than_columns_do_not_lean():
    """24 rare columns, blocks of 12 rows: what 16 columns lead by that nothing goes along with, as a share of the bar.

    By the share of a block's rows that its columns leave, which is none, their skewness was taken for nothing: they led by -.6.
    """
    label, rows, shares = "24 columns: beside strong rare", 2000, []
    for turn in range(3):
        columns, response, _ = SETTINGS[label](np.random.default_rng([58, turn]), rows)
        recipe = recipe_for(Study(Numeric("y"), [Numeric(f"x{j}") for j in range(24)]), rows, 1.0)
        assert rows / recipe.votes.blocks < 24
        shares.append(votes_of((columns, response), recipe).leads[9:].mean() / recipe.votes.threshold)
    assert abs(np.mean(shares)) < 0.1


def test_effects_too_weak_to_be_found_have_no_stand_in():
    """Three rare effects, idle dummies that go along with all of them: with a bar 1.3 times as high alone, .48 were selected."""
    assert idle("beside three rare effects on 3% yes", 20_000, 0.35, 3) <= 2 * most_idle(20_000, 0.35)
