"""Rehearsed effects are those of a release: the same path, sums and sizes of noise."""

import numpy as np
import pandas as pd
import pytest

import dpselect
from dpselect.rehearse.check.effects import EffectPreview
from dpselect.report.confidential import effect_rows

ROWS = 6000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(27)
    x = rng.normal(0, 1, (ROWS, 3))
    y = 2 * x[:, 0] + 0.15 * x[:, 1] + rng.normal(0, 1, ROWS)
    return np.clip(x, -4, 4), y


STUDY = dpselect.Study(
    dpselect.Numeric("y", -12, 12), [dpselect.Numeric(name, -4, 4) for name in ("large", "small", "idle")]
)


@pytest.fixture(scope="module")
def checked(table):
    return dpselect.check(table, STUDY, epsilon=2, delta="1e-6")


def test_what_is_large_is_told_and_covered(checked, table):
    effects = {each.name: each for each in checked.effects}
    assert effects["large"].told == 1
    assert effects["large"].lower < 2 < effects["large"].upper


def test_lengths_are_those_of_releases(checked, table):
    """The middle of 20 rehearsed lengths against that of 15 releases: within a quarter, where each varies by some percent."""
    released = [
        dpselect.estimate(table, ["large", "small"], study=STUDY, epsilon="1.3", delta="1e-6") for _ in range(15)
    ]
    lengths = [each["large"].upper - each["large"].lower for each in released]
    price = checked.preview.recipe.guarantee.epsilon
    assert 0 < price < 2  # the rest is for the coefficients
    length = {each.name: each for each in checked.effects}["large"].length
    assert length == pytest.approx(np.median(lengths), rel=0.25)


def test_weights_at_the_limit_are_no_weights(table):
    """Counts of weighted rows are whole numbers of 2^-10 already: taken for rows, they were a thousand times too many."""
    x, y = table
    frame = pd.DataFrame({"y": y, "large": x[:, 0], "small": x[:, 1], "idle": x[:, 2], "weight": 2.0})
    weighted = dpselect.Study(
        STUDY.response, STUDY.predictors, weights="weight", weight_limit=2.0, population=2.0 * ROWS
    )
    ours, theirs = (
        {each.name: each for each in dpselect.check(frame, study, epsilon=2, delta="1e-6").effects}["large"]
        for study in (weighted, dpselect.Study(STUDY.response, STUDY.predictors, rows=ROWS))
    )
    assert ours.told == theirs.told == 1
    assert ours.length == pytest.approx(theirs.length, rel=0.25)


def test_a_selection_has_no_effects(table):
    assert dpselect.check(table, STUDY, epsilon=2, run="select").effects == ()


def test_without_a_delta_there_are_no_rounds_to_rehearse(table):
    assert dpselect.check(table, STUDY, epsilon=2, delta=0).effects == ()


def test_what_is_drowned_is_said_to_be_hidden():
    rows = effect_rows([EffectPreview("x", 0.0, None, None), EffectPreview("z", 0.25, -1.0, None)])
    assert rows == [["x", "under 5%", "hidden by noise"], ["z", "25%", "above −1.0"]]  # noqa: RUF001


def test_nothing_private_is_printed(checked):
    assert "private" in repr(checked.effects[0]) and str(checked.effects[0].lower) not in repr(checked.effects[0])
