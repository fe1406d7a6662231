"""Claims about PCPL's bound: it is valid, the tight form is never looser, and it fails with chance delta at most."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.candidates import all_subsets
from dpselect.assume.lemmas.sensitivity import profile_change, profile_rounding, profile_shift
from dpselect.minimize.losses.losses import Losses
from dpselect.penalize.scores import pcpl_scores

positive = st.floats(0.01, 1e4)


@settings(derandomize=True)
@given(st.integers(1, 10**6), positive, st.floats(0, 1e6), st.floats(0, 1e6), st.floats(-1, 1))
def test_no_loss_above_the_least_moves_its_logarithm_further(n, sensitivity, excess, above, share):
    least = sensitivity + excess
    bound = profile_change(least, n, sensitivity)
    loss = least + above
    there = loss + share * sensitivity
    if there > 0:
        assert abs(n * math.log(loss / there)) <= bound * (1 + 1e-9) + 1e-6


@settings(derandomize=True)
@given(st.integers(1, 10**6), positive, st.floats(0, 1e6))
def test_the_tight_form_is_never_looser_than_the_printed_one(n, sensitivity, excess):
    least = sensitivity + excess
    assert profile_change(least, n, sensitivity) <= profile_change(least, n, sensitivity, as_printed=True)


def test_the_bound_is_attained_by_the_least_loss():
    assert profile_change(10.0, 100, 4.0) == pytest.approx(100 * math.log(10 / 6))


@pytest.mark.parametrize("least", [4.0, 3.9, 0.0, -5.0, -math.inf, math.nan])
def test_without_room_the_bound_is_infinite(least):
    assert profile_change(least, 100, 4.0) == math.inf


@pytest.mark.parametrize("delta", [0.4, 0.1, 1e-3, 1e-6, 1e-12])
def test_the_noisy_least_loss_exceeds_the_true_one_with_chance_delta_at_most(delta):
    # m~ > m exactly when the Laplace variable exceeds the shift.
    chance = math.exp(-profile_shift(delta)) / 2
    assert chance <= delta
    assert chance == pytest.approx(delta, rel=1e-9)


@settings(derandomize=True)
@given(st.integers(2, 10**6), st.floats(1, 16), st.floats(0, 1), st.floats(0, 1e4))
def test_rounding_of_a_profile_score_is_within_its_bound(n, sensitivity, share, penalty):
    loss = max(sensitivity, share * n)
    computed = n * np.log(np.float64(loss) / n) + penalty
    reference = n * (log_of(Fraction(loss) / n)) + Fraction(penalty)
    assert abs(Fraction(float(computed)) - reference) <= Fraction(profile_rounding(n, sensitivity, penalty))


def log_of(value: Fraction) -> Fraction:
    """The logarithm to fifty digits, by Python's decimal arithmetic."""
    from decimal import Context, Decimal

    context = Context(prec=50)
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return Fraction(context.ln(quotient))


def test_scores_are_finite_whatever_the_losses():
    losses = Losses(np.array([0.0, 1e-300, 5.0]), 1e-7, all_subsets(2))
    scores = pcpl_scores(losses, np.zeros(3), 1.0, 10)
    assert np.isfinite(scores.values).all()
    assert scores.least_loss == 0.0


def test_a_bound_above_the_least_loss_changes_the_range_not_the_values():
    losses = Losses(np.array([50.0, 60.0, 70.0]), 1e-7, all_subsets(2))
    scores = pcpl_scores(losses, np.array([1.0, 2.0, 3.0]), 1.0, 100)
    assert scores.bounded(40.0).range > scores.bounded(50.0).range > 0
    assert scores.bounded(1.0).range == math.inf
    assert np.array_equal(scores.bounded(1.0).values, scores.values)


@pytest.mark.parametrize(
    "delta", [1e-100, 1e-6, 0.3, 0.49, 0.5 - 2.0**-20, 0.5 - 2.0**-40, 0.5 - 2.0**-52, 0.5 - 2.0**-54]
)
def test_the_shift_is_never_short_of_exact_arithmetic(delta):
    exact = -Context(prec=60).ln(Context(prec=1200).multiply(Decimal(2), Decimal(delta)))
    assert exact <= Decimal(profile_shift(delta)) <= exact * (1 + Decimal(2) ** -40)
