import math

import numpy as np
import pytest

from dpselect.errors import StudyError
from dpselect.rehearse.planning.supposed import draw_supposed, suppose, suppose_sample
from dpselect.rehearse.simulate import Setting, clipped_products, draw


def test_left_out_effects_explain_half_the_variance_of_a_response_half_as_spread_as_its_bound():
    supposed = suppose(9, 4.0)
    effects = np.array(supposed.setting.effects)
    assert (effects != 0).sum() == 3
    assert (effects**2).sum() / 3 == pytest.approx(supposed.setting.deviation**2)
    assert math.sqrt((effects**2).sum() / 3 + supposed.setting.deviation**2) == pytest.approx(2.0)


def test_more_columns_than_can_be_planned_for_are_said_to_be_left_out():
    supposed = suppose(40, 1.0)
    assert supposed.width == 12
    assert "28 more idle columns" in supposed.words


def test_sums_by_the_normal_law_have_the_moments_of_sums_over_rows():
    """Against 400 tables drawn row by row; each entry's mean and deviation, to six standard errors."""
    supposed = suppose(2, 2.0, (1.0, 0.0), 1.0)
    n = 1500
    quick = draw_supposed(supposed, n, 4000, 1).products(-1.0, 1.5)
    seeds = np.random.SeedSequence(2).spawn(400)
    slow = []
    for seed in seeds:
        X, y = draw(Setting("s", n, (1.0, 0.0)), seed)
        slow.append(clipped_products(X, (y - 0.25) / 1.25, -1, 1))
    slow = np.array(slow)
    # The pilot's own error, of one in sqrt(20,000) deviations of a row, comes on top.
    error = slow.std(axis=0) * (6 / 20 + 6 * math.sqrt(n / 20_000))
    assert (np.abs(quick.mean(axis=0) - slow.mean(axis=0)) <= error).all()
    assert quick.std(axis=0) == pytest.approx(slow.std(axis=0), rel=0.25)
    assert (quick == quick.transpose(0, 2, 1)).all()


def test_a_sample_is_drawn_from_again_and_again_and_bic_says_what_is_right():
    X, y = draw(Setting("s", 300, (1.0, 0.0, 0.7)), np.random.SeedSequence(5))
    supposed = suppose_sample(X, y)
    assert supposed.truth == 0b101
    drawn, _ = supposed.rows(50, np.random.SeedSequence(1))
    assert {tuple(row) for row in drawn} <= {tuple(row) for row in X}
    assert suppose_sample(X, y, truth=[1]).truth == 0b010
    assert draw_supposed(supposed, 100, 3, 1).products(-1, 1).shape == (3, 4, 4)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: suppose(0, 1.0),
        lambda: suppose(13, 1.0, [1.0] * 13),
        lambda: suppose_sample(np.zeros((2, 3)), np.zeros(2)),
        lambda: suppose_sample(np.zeros((5, 2)), np.zeros(4)),
    ],
)
def test_impossible_suppositions_are_refused(wrong):
    with pytest.raises(StudyError):
        wrong()
