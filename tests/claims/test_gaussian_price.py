"""Claim: Gaussian noise on whole numbers is (epsilon, delta)-DP at the analytic price, to within a margin of 2^-36."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import common, privacy_loss_mechanism
from scipy.stats import norm

from dpselect.assume.lemmas.rounds import (
    ROUNDING_MARGIN,
    composed_is_within,
    discrete_is_within,
    gaussian_delta,
    largest_mu,
)

PRICES = [(0.1, 1e-6), (0.5, 1e-5), (1.0, 1e-6), (1.0, 1e-9), (5.0, 1e-6), (20.0, 1e-3), (1e-3, 1e-10)]


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_largest_mu_is_googles_analytic_gaussian(epsilon, delta):
    theirs = privacy_loss_mechanism.GaussianPrivacyLoss.from_privacy_guarantee(
        common.DifferentialPrivacyParameters(epsilon, delta)
    )
    assert 1 / largest_mu(epsilon, delta) == pytest.approx(theirs.standard_deviation, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_delta_is_the_formula_of_balle_and_wang_and_never_below(epsilon, delta):
    for mu in (largest_mu(epsilon, delta), 0.5, 2.0):
        exact = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        assert gaussian_delta(mu, epsilon) == pytest.approx(exact, rel=1e-5, abs=1e-14)
    assert (
        gaussian_delta(largest_mu(epsilon, delta), epsilon)
        <= delta
        < gaussian_delta(largest_mu(epsilon, delta) * 1.0001, epsilon)
    )


def test_extreme_prices_have_an_answer():
    for epsilon in (1e-9, 1e-3, 600.0, 1e9):
        for delta in (1e-100, 1e-18, 0.4):
            assert 0 <= gaussian_delta(largest_mu(epsilon, delta), epsilon) <= delta


def exact_delta(sigma2: Fraction, shift: tuple[int, ...], epsilon: float) -> float:
    """The exact delta of discrete Gaussian noise on whole numbers that move by `shift`, by summing over all outcomes."""
    s2 = float(sigma2)
    reach = int(12 * math.sqrt(s2)) + max(map(abs, shift))
    line = np.arange(-reach, reach + 1)
    mass = np.exp(-(line**2) / (2 * s2))
    mass /= mass.sum()
    # The privacy loss of outcome y is sum_i (shift_i^2 - 2 shift_i y_i) / (2 sigma^2), added up coordinate by coordinate.
    losses, chances = np.zeros(1), np.ones(1)
    for moved in shift:
        step = (moved**2 - 2 * moved * line) / (2 * s2)
        losses = np.add.outer(losses, step).ravel()
        chances = np.multiply.outer(chances, mass).ravel()
    above = losses > epsilon
    return float((chances[above] * -np.expm1(epsilon - losses[above])).sum())


@pytest.mark.parametrize("shift", [(3,), (25,), (4, 3), (15, -20), (5, 5, 5)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_noise_on_whole_numbers_costs_no_more_than_stated(shift, epsilon):
    """By brute force over all outcomes, with noise so narrow that whole numbers matter."""
    distance = math.isqrt(sum(s * s for s in shift) - 1) + 1
    for sigma2 in (Fraction(33), Fraction(81), Fraction(400)) if len(shift) < 3 else (Fraction(36),):
        rho = float(Fraction(distance**2) / (2 * sigma2)) * (1 + 1e-15)
        true = exact_delta(sigma2, shift, epsilon)
        assert not discrete_is_within(rho, distance, epsilon, true * 0.999)
        variance = float(sigma2 - 16)
        stated = gaussian_delta(distance / math.sqrt(variance) * (1 + 1e-9), epsilon * (1 - 1e-9)) * (1 + 1e-9)
        assert discrete_is_within(rho, distance, epsilon, stated)


def test_with_much_noise_the_discrete_price_is_the_continuous_one():
    sensitivity = 10 * 2**26
    for epsilon, delta in PRICES:
        spread = sensitivity / largest_mu(epsilon, delta)
        rho = sensitivity**2 / (2 * spread**2)
        assert discrete_is_within(rho * (1 - 1e-7), sensitivity, epsilon, delta)
        assert not discrete_is_within(rho * (1 + 1e-7), sensitivity, epsilon, delta)


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_the_whole_margin_is_taken_off_the_price_and_put_on_the_noise(epsilon, delta):
    """2^-36 of epsilon, of delta and of mu: what the C library may be wrong by. To a 64th of it."""
    sensitivity, kept = 10 * 2**26, 1 - ROUNDING_MARGIN
    mu = largest_mu(epsilon * kept, delta * kept) / (1 + ROUNDING_MARGIN)
    for factor, within in ((1 - 2.0**-42, True), (1 + 2.0**-42, False)):
        rho = float(1 / (2 * (1 / Fraction(mu * factor) ** 2 + Fraction(16, sensitivity**2))))
        assert discrete_is_within(rho, sensitivity, epsilon, delta) == within
        assert composed_is_within([(rho, sensitivity)], epsilon, delta) == within


def test_no_noise_to_speak_of_is_never_within():
    assert not discrete_is_within(1e6, 5, 1.0, 1e-6)
    assert discrete_is_within(0.0, 5, 1.0, 1e-6)


def test_several_releases_cost_as_one_whose_square_is_the_sum():
    sensitivity = 10 * 2**26
    for epsilon, delta in PRICES:
        mu = largest_mu(epsilon, delta)
        parts = [(share * mu**2 / 2, sensitivity) for share in (0.1, 0.2, 0.7)]
        less = [(rho * (1 - 1e-7), each) for rho, each in parts]
        more = [(rho * (1 + 1e-7), each) for rho, each in parts]
        assert composed_is_within(less, epsilon, delta) and not composed_is_within(more, epsilon, delta)
    assert not composed_is_within([(1e6, 5), (1e-9, 5)], 1.0, 1e-6)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_two_draws_are_two_coordinates(epsilon):
    """By brute force over all pairs of outcomes: a draw of 3 steps and one of 4, with noise so narrow that whole numbers matter."""
    sigma2 = Fraction(81)
    true = exact_delta(sigma2, (3, 4), epsilon)
    parts = [(float(Fraction(s * s) / (2 * sigma2)) * (1 + 1e-15), s) for s in (3, 4)]
    assert not composed_is_within(parts, epsilon, true * 0.999)
    stated = gaussian_delta(5 / math.sqrt(81 - 16) * (1 + 1e-9), epsilon * (1 - 1e-9)) * (1 + 1e-9)
    assert composed_is_within(parts, epsilon, stated)
