import math

import numpy as np
import pytest

from dpselect.assume.candidates import all_subsets
from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS, TOLERANCE, loss_range
from dpselect.minimize.losses.losses import Losses
from dpselect.penalize.scores import pcls_range, pcls_scores, pcpl_scores

LOSSES = Losses(np.array([30.0, 20.0, 10.0]), 1e-6, all_subsets(2))
PENALTIES = np.array([5.0, 5.0, 10.0])


def test_the_pcls_score_is_loss_plus_penalty():
    scores = pcls_scores(LOSSES, PENALTIES, 1.0, "replace-one", 40)
    assert scores.values.tolist() == [35, 25, 20]
    assert scores.name == "pcls"


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
def test_the_range_pays_for_the_losses_the_solver_and_rounding(neighbors):
    exact = loss_range(1.0, 1.0, neighbors)
    paid = pcls_scores(LOSSES, PENALTIES, 1.0, neighbors, None).range
    rounding = 2.0**-52 * (MAXIMUM_ROWS + 10)
    assert paid == pytest.approx(exact + 4 * (1e-6 + rounding), rel=1e-12)
    assert paid >= exact + 4 * (1e-6 + rounding)


def test_a_public_number_of_rows_makes_the_range_smaller():
    private = pcls_range(TOLERANCE, PENALTIES, 1.0, "replace-one", None)
    assert pcls_range(TOLERANCE, PENALTIES, 1.0, "replace-one", 1000) < private


def test_the_pcpl_score_is_minus_twice_the_profile_likelihood_plus_penalty():
    scores = pcpl_scores(LOSSES, PENALTIES, 1.0, 40)
    assert scores.values == pytest.approx([40 * math.log(loss / 40) for loss in (30, 20, 10)] + PENALTIES)
    assert scores.least_loss == 10
    assert scores.sensitivity == pytest.approx(4 + 2e-6, rel=1e-12)
    assert scores.sensitivity >= 4 + 2e-6


def test_the_pcpl_range_is_twice_the_change():
    scores = pcpl_scores(LOSSES, PENALTIES, 1.0, 40)
    assert scores.bounded(9.0).range == pytest.approx(-2 * 40 * math.log(1 - scores.sensitivity / 9), rel=1e-9)
    printed = pcpl_scores(LOSSES, PENALTIES, 1.0, 40, as_printed=True)
    assert printed.bounded(9.0).range == pytest.approx(2 * 40 * scores.sensitivity / (9 - scores.sensitivity), rel=1e-9)
    assert printed.bounded(9.0).range > scores.bounded(9.0).range


def test_private_scores_print_no_value():
    for private in (
        pcls_scores(LOSSES, PENALTIES, 1.0, "replace-one", 40),
        pcpl_scores(LOSSES, PENALTIES, 1.0, 40),
        LOSSES,
    ):
        text = repr(private) + str(private)
        assert "<private>" in text
        assert not any(str(value) in text for value in (30.0, 20.0, 10.0, 35, 25))
