"""The exact chances against brute force: rational integration, adaptive quadrature, closed forms."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import logsumexp

from dpselect.assume.recipe import MECHANISMS
from dpselect.errors import StudyError
from dpselect.rehearse.chances.scores import log_selection_probabilities, selection_probabilities

RELATIVE = 1e-11
distances = st.lists(st.one_of(st.floats(0, 40), st.sampled_from([0.0, 1e-9, 500.0])), min_size=1, max_size=7)


def permute_and_flip_by_rational_integration(distance):
    """p_i times the integral of a polynomial, multiplied out and integrated in exact arithmetic."""
    p = [Fraction(float(np.exp(-each))) for each in distance]
    chances = []
    for i in range(len(p)):
        coefficients = [Fraction(1)]
        for j in range(len(p)):
            if j != i:
                longer = [*coefficients, Fraction(0)]
                for power, coefficient in enumerate(coefficients):
                    longer[power + 1] -= p[j] * coefficient
                coefficients = longer
        integral = sum(coefficient / (power + 1) for power, coefficient in enumerate(coefficients))
        chances.append(float(p[i] * integral))
    return np.array(chances)


def laplace_log_chance_by_quadrature(distance, i):
    """Density of one noisy score times the survival of the others, panel by panel between the kinks, in logarithms."""
    distance = np.asarray(distance)
    others = np.delete(distance, i)

    def log_integrand(z):
        ahead = z - others
        survival = np.where(ahead < 0, np.log1p(-np.exp(np.minimum(ahead, 0)) / 2), -ahead - np.log(2))
        return -abs(z - distance[i]) - np.log(2) + survival.sum()

    edges = np.unique([-45.0, -20.0, -8.0, -3.0, -1.0, *distance, *(distance[:, None] + [1, 3, 8, 20, 45]).ravel()])
    top = max(log_integrand(z) for z in edges)
    pieces = [
        quad(lambda z: np.exp(log_integrand(z) - top), low, high, epsabs=0, epsrel=1e-12)[0]
        for low, high in itertools.pairwise(edges)
    ]
    return top + np.log(sum(pieces))


@given(distances)
def test_permute_and_flip_equals_exact_rational_integration(distance):
    distance = np.array(distance) - min(distance)
    expected = permute_and_flip_by_rational_integration(distance)
    assert selection_probabilities(distance, 1.0, 1.0) == pytest.approx(expected, rel=RELATIVE, abs=0)


@pytest.mark.parametrize("ties", [2, 60, 8191])
def test_permute_and_flip_with_many_at_one_distance_has_a_closed_form(ties):
    """One best candidate and K others with p: P(best) = (1 - (1-p)^(K+1)) / ((K+1) p)."""
    p = 0.37
    values = np.r_[0.0, np.full(ties, -np.log(p))]
    best = -np.expm1((ties + 1) * np.log1p(-p)) / ((ties + 1) * p)
    assert selection_probabilities(values, 1.0, 1.0)[0] == pytest.approx(best, rel=RELATIVE)


@pytest.mark.parametrize(
    "distance",
    [
        [0, 0.3, 2.0, 2.0, 9.0],
        [0, 0, 0, 0],
        [0, 31.0, 33.0, 140.0],
        [0, 0.01, 0.02, 12.0, 12.5, 60.0],
        [0, 300.0, 301.0],
    ],
)
def test_laplace_equals_adaptive_quadrature(distance):
    logs = log_selection_probabilities(np.array(distance, dtype=float), 1.0, 1.0, "laplace")
    expected = [laplace_log_chance_by_quadrature(distance, i) for i in range(len(distance))]
    assert logs == pytest.approx(expected, rel=0, abs=1e-10)


@pytest.mark.parametrize("count", [66, 150])
def test_laplace_beyond_the_near_candidates_equals_adaptive_quadrature(count):
    """More candidates than have a panel of their own: the power series takes over."""
    distance = np.sort(np.random.default_rng(count).uniform(0, 12, count))
    distance -= distance[0]
    logs = log_selection_probabilities(distance, 1.0, 1.0, "laplace")
    for i in (0, 63, 64, count - 1):
        assert logs[i] == pytest.approx(laplace_log_chance_by_quadrature(distance, i), abs=1e-9)


@pytest.mark.parametrize("distance", [1e-6, 0.5, 3.0, 40.0, 400.0, 5000.0])
def test_two_candidates_have_closed_forms(distance):
    values = np.array([distance, 0.0])
    tail = {
        "exponential": -distance - np.log1p(np.exp(-distance)),
        "permute-and-flip": -distance - np.log(2),
        "laplace": -distance + np.log((2 + distance) / 4),
    }
    for mechanism in MECHANISMS:
        logs = log_selection_probabilities(values, 1.0, 1.0, mechanism)
        assert logs[0] == pytest.approx(tail[mechanism], rel=1e-13, abs=1e-12)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 30.0, 1e4])
def test_thousands_of_candidates_sum_to_one(mechanism, spread):
    values = np.random.default_rng(7).uniform(-spread, spread, (3, 8191))
    assert np.exp(logsumexp(log_selection_probabilities(values, 1.0, 1.0, mechanism), axis=1)) == pytest.approx(
        1, abs=1e-11
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_range_and_epsilon_enter_as_their_ratio_and_rows_are_independent(mechanism):
    rows = np.random.default_rng(3).normal(size=(4, 2, 9))
    ranges = np.array([[1.0, 2.0], [0.5, 4.0], [np.inf, 0.0], [1e-3, 1e3]])
    together = selection_probabilities(rows, ranges, 0.7, mechanism)
    for index in np.ndindex(4, 2):
        alone = selection_probabilities(rows[index], ranges[index] / 0.7, 1.0, mechanism)
        assert together[index] == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_limits(mechanism):
    values = np.array([4.0, 1.0, 1.0, 7.0])
    assert selection_probabilities(values, np.inf, 1.0, mechanism) == pytest.approx(0.25, rel=1e-12)
    assert selection_probabilities(values, 0.0, 1.0, mechanism) == pytest.approx([0, 0.5, 0.5, 0], rel=1e-12)
    assert selection_probabilities(values[:1], 1.0, 1.0, mechanism) == pytest.approx([1.0], rel=1e-12)


@given(st.lists(st.tuples(st.floats(0, 30), st.floats(-0.5, 0.5)), min_size=2, max_size=9), st.floats(0.05, 5))
def test_changes_of_range_one_cost_at_most_epsilon(scores_and_moves, epsilon):
    values, moves = np.array(scores_and_moves).T
    for mechanism in MECHANISMS:
        here, there = log_selection_probabilities(np.array([values, values + moves]), 1.0, epsilon, mechanism)
        assert np.abs(here - there).max() <= epsilon + 1e-10


@given(st.lists(st.floats(0, 30), min_size=2, max_size=9))
def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism(values):
    values = np.array(values)
    flipped, softened = (selection_probabilities(values, 1.0, 1.0, each) @ values for each in MECHANISMS[:2])
    assert flipped <= softened + 1e-9


def test_unknown_mechanism_and_price_are_refused():
    with pytest.raises(StudyError, match="'gumbel' is not known"):
        selection_probabilities(np.zeros(2), 1.0, 1.0, "gumbel")
    for epsilon in (0.0, -1.0, float("nan")):
        with pytest.raises(StudyError, match="is not a privacy cost"):
            selection_probabilities(np.zeros(2), 1.0, epsilon)
