"""No association, no finding: idle columns of skewed tables are not selected, alone or beside effects; a part of benchmarks.null.

Tables are made with fixed seeds and chances are exact given rows and dealing. The dealing is drawn afresh, so a mean of three
tables moves a little; each target is at least twice what was measured.
"""

import numpy as np
import pytest

from benchmarks.null import SETTINGS, expected_idle, most_idle

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
