"""PCPL's noisy bound: its distribution, its price, its failure chance. Draws have no seed; false-alarm rates are stated."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, kstest, laplace

from dpselect.errors import DataError, StudyError
from dpselect.randomize import choice as module
from dpselect.randomize.choice import noisy_least_loss
from dpselect.randomize.opendp_door import number_measurement

pytestmark = pytest.mark.real_chance

FALSE_ALARM = 1e-6
LEAST_LOSS, SENSITIVITY, EPSILON, DELTA = 700.0, 16.0, 0.5, 0.05
CENTRE = LEAST_LOSS - SENSITIVITY / EPSILON * math.log(1 / (2 * DELTA))


@pytest.fixture(scope="module")
def draws():
    return np.array([noisy_least_loss(LEAST_LOSS, SENSITIVITY, EPSILON, DELTA) for _ in range(4000)])


def test_draws_follow_the_shifted_laplace_distribution(draws):
    assert kstest(draws, laplace(CENTRE, SENSITIVITY / EPSILON).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("wrong", [0.8, 1.25])
def test_a_wrong_scale_is_caught(draws, wrong):
    """Also by the distribution: the spread around the centre is tested from both sides."""
    spread = np.abs(draws - CENTRE)  # exponential with the same scale
    assert kstest(spread, "expon", args=(0, wrong * SENSITIVITY / EPSILON)).pvalue < FALSE_ALARM


def test_the_bound_is_too_high_with_chance_delta(draws):
    failures = int((draws > LEAST_LOSS).sum())
    assert binomtest(failures, draws.size, DELTA).pvalue > FALSE_ALARM
    assert binomtest(failures, draws.size, 2 * DELTA).pvalue < FALSE_ALARM


@settings(deadline=None)
@given(
    sensitivity=st.floats(1e-6, 1e6), epsilon=st.floats(1e-6, 1e3), delta=st.floats(1e-100, 0.49), m=st.floats(0, 1e12)
)
def test_rounding_never_raises_the_bound(sensitivity, epsilon, delta, m):
    """With Z at the quantile that delta allows, what is handed over does not exceed m."""
    check_at_the_quantile(m, sensitivity, epsilon, delta)


def test_rounding_never_raises_the_bound_where_doubles_grow_coarser():
    """The noise lifts m over a power of 2 and rounding lifts it further: plain subtraction would end above m."""
    check_at_the_quantile(2.0**51 - 0.25, sensitivity=1.0, epsilon=1.0, delta=0.3)


def check_at_the_quantile(m, sensitivity, epsilon, delta):
    seen = {}

    def at_the_quantile(measurement, private):
        scale = seen["scale"]
        noise = Fraction(scale) * Fraction(math.log(1 / (2 * delta)))
        return float(Fraction(private) + noise)

    def remember(price, sensitivity, epsilon):
        seen["scale"] = original_scale(price, sensitivity, epsilon)
        return seen["scale"]

    original_scale = module.scale_within
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "scale_within", remember)
        patch.setattr(module, "invoke", at_the_quantile)
        assert noisy_least_loss(m, sensitivity, epsilon, delta) <= m
    assert Fraction(number_measurement(seen["scale"]).map(sensitivity)) <= Fraction(epsilon)
    assert seen["scale"] <= sensitivity / epsilon * (1 + 2**-50)


def test_noise_that_no_double_holds_says_nothing():
    assert noisy_least_loss(1.0, 1e305, 1e-6, 1e-6) == -math.inf


def test_public_values_are_checked_and_the_loss_is_never_quoted():
    for epsilon in (0.0, math.nan):
        with pytest.raises(StudyError, match="epsilon is"):
            noisy_least_loss(1.0, 1.0, epsilon, 1e-6)
    for delta in (0.0, 0.5, math.nan):
        with pytest.raises(StudyError, match="delta is"):
            noisy_least_loss(1.0, 1.0, 1.0, delta)
    for sensitivity in (0.0, math.inf, math.nan):
        with pytest.raises(StudyError, match="sensitivity"):
            noisy_least_loss(1.0, sensitivity, 1.0, 1e-6)
    with pytest.raises(DataError) as caught:
        noisy_least_loss(math.inf, 1.0, 1.0, 1e-6)
    assert "inf" not in str(caught.value).split()
