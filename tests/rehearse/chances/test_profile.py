"""PCPL's exact chances against adaptive quadrature over the noisy bound."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace

from dpselect.assume.lemmas.sensitivity import profile_change
from dpselect.assume.recipe import MECHANISMS
from dpselect.rehearse.chances.profile import NoisyBound, profile_probabilities
from dpselect.rehearse.chances.scores import selection_probabilities

B = 4.0
CASES = [  # n, least loss, price of the bound, delta; the threshold lies above, near and far below the kink at 0
    (100, 50.0, 0.5, 1e-6),
    (1000, 600.0, 0.5, 1e-6),
    (100, 50.0, 1.0, 1e-2),
    (100, 500.0, 3.0, 0.4),
    (100, 20.0, 1e-3, 1e-6),
    (50, 0.0, 1.0, 1e-6),
]


def profile_scores(n, least_loss):
    rng = np.random.default_rng(n)
    values = n * np.log((least_loss + 1 + rng.uniform(0, least_loss + 1, 6)) / n)
    values[3] += 1000  # a large penalty: its chance falls within a sliver of the threshold
    return values


def chance_by_quadrature(values, bound, range_of, mechanism, i):
    shift = np.log(1 / (2 * bound.delta))

    def integrand(noisy):
        z = (noisy - bound.least_loss) * bound.epsilon / bound.sensitivity + shift
        chance = selection_probabilities(values, range_of(noisy), 0.5, mechanism)[i]
        return np.exp(-abs(z)) / 2 * bound.epsilon / bound.sensitivity * chance

    scale = bound.sensitivity / bound.epsilon
    centre = bound.least_loss - shift * scale
    edges = np.unique(np.clip([centre + scale * z for z in (-30, -10, -3, -1, 0, 1, 3, 10, 30)], B, None))
    edges = np.unique([edges[0] + scale / 2, *edges[edges > edges[0]]])
    total = laplace.cdf(bound.threshold) / values.size
    if edges[0] - scale / 2 <= B:  # a logarithmic grid towards the threshold, where the integrand is not smooth
        total += quad(
            lambda q: integrand(B + np.exp(q)) * np.exp(q),
            -40 + np.log(scale),
            np.log(scale / 2),
            epsabs=1e-12,
            limit=400,
        )[0]
    else:
        edges = np.unique([edges[0] - scale / 2, *edges])
    return total + sum(quad(integrand, a, b, epsabs=1e-12, limit=200)[0] for a, b in itertools.pairwise(edges))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mechanism", MECHANISMS[:2])
@pytest.mark.parametrize("as_printed", [False, True])
def test_chances_equal_adaptive_quadrature(case, mechanism, as_printed):
    n, least_loss, epsilon, delta = case
    values = profile_scores(n, least_loss)
    bound = NoisyBound(least_loss, B, epsilon, delta)

    def range_of(noisy):
        return 2 * profile_change(noisy, n, B, as_printed=as_printed)

    chances = profile_probabilities(values, bound, range_of, 0.5, mechanism)
    assert chances.sum() == pytest.approx(1, abs=1e-10)
    for i in (0, 3):
        assert chances[i] == pytest.approx(chance_by_quadrature(values, bound, range_of, mechanism, i), abs=1e-9)


def test_laplace_is_integrated_the_same_way():
    n, least_loss, epsilon, delta = CASES[1]
    values, bound = profile_scores(n, least_loss), NoisyBound(least_loss, B, epsilon, delta)
    chances = profile_probabilities(values, bound, lambda noisy: 2 * profile_change(noisy, n, B), 0.5, "laplace")
    expected = chance_by_quadrature(values, bound, lambda noisy: 2 * profile_change(noisy, n, B), "laplace", 0)
    assert chances[0] == pytest.approx(expected, abs=1e-9)


def test_an_infinite_range_gives_the_uniform_choice():
    bound = NoisyBound(50.0, B, 1.0, 1e-6)
    chances = profile_probabilities(np.array([0.0, 5.0, 9.0]), bound, lambda _: np.inf, 0.5, "exponential")
    assert chances == pytest.approx(1 / 3, rel=1e-12)


@pytest.mark.parametrize("least_loss", [0.0, 40.0, 60.0, 5000.0])
def test_the_chance_of_an_infinite_range_is_the_laplace_distribution(least_loss):
    bound = NoisyBound(least_loss, B, 0.5, 1e-3)
    z = (B - least_loss) * 0.5 / B + np.log(1 / (2 * 1e-3))
    expected = 1 - np.exp(-z) / 2 if z > 0 else np.exp(z) / 2
    assert laplace.cdf(bound.threshold) == pytest.approx(expected, abs=1e-12)


def test_a_noisy_bound_prints_nothing_private():
    assert repr(NoisyBound(123.25, B, 0.5, 1e-3)) == "NoisyBound(epsilon=0.5, delta=0.001, values=<private>)"
