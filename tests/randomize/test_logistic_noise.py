"""What a price buys for all rounds, and each round's noise: wide enough, and never for numbers that overflow."""

import math

import pytest

from dpselect.assume.lemmas.gaussian_price import largest_mu
from dpselect.errors import StudyError
from dpselect.randomize import logistic_noise
from dpselect.randomize.logistic_noise import gaussian_draw, whole_mu

pytestmark = pytest.mark.real_chance


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (4.0, 1e-9)])
def test_what_all_rounds_may_spend_is_a_little_less_than_the_price_buys(epsilon, delta):
    """2^-30 for the roundings of its parts, and a little for those of the price."""
    assert 2.0**-30 < 1 - whole_mu(epsilon, delta) / largest_mu(epsilon, delta) < 1.1 * 2.0**-30


def test_the_spread_of_a_round_is_read_back_until_it_is_wide_enough(monkeypatch):
    """A library that prices its noise a little higher gets wider noise, not a higher price."""

    class Dearer:
        def __init__(self, spread):
            self.spread = spread

        def map(self, sensitivity):
            return (1 + 2.0**-30) * sensitivity**2 / (2 * self.spread**2)

    monkeypatch.setattr(logistic_noise, "gaussian_measurement", Dearer)
    spread, rho = logistic_noise.least_spread(1000, 1.0)
    assert rho == Dearer(spread).map(1000) and 1000**2 / (2 * rho) - 16 >= 1000**2


@pytest.mark.parametrize("delta", [-1e-6, 0, 0.5, 1, math.nan])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(StudyError, match="above 0 and below"):
        whole_mu(1.0, delta)


def test_numbers_that_no_sum_reaches_are_brought_to_the_ends():
    drawn = gaussian_draw([2**70, -(2**70), 2**62 - 2**60, 12], 1, 1.0)
    assert drawn.values == pytest.approx([2**62, -(2**62), 2**62 - 2**60, 12], rel=1e-15, abs=60)
    assert drawn.sensitivity == 1
