"""The private choice: its price, its distribution, its silence. Draws have no seed; false-alarm rates are stated."""

import builtins
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy_estimates import AttackResults, compute_eps_lo
from scipy.stats import chisquare

from dpselect.assume.recipe import MECHANISMS
from dpselect.errors import DataError, DpselectError, StudyError
from dpselect.penalize.scores import Scores
from dpselect.randomize.choice import choose, noise_scale
from dpselect.randomize.opendp_door import LAPLACE_ROUNDING, choice_measurement, choice_price, invoke
from dpselect.rehearse.chances.scores import selection_probabilities
from tests.examples import examples

pytestmark = pytest.mark.real_chance

FALSE_ALARM = 1e-6
RANGE, EPSILON = 3.0, 0.75  # scale 4
# One best candidate and many that share about as much chance: what a wrong scale moves most. With this many draws a scale
# that is 10% off goes unnoticed with a chance below 1e-6 (noncentral chi-square, 4 degrees of freedom).
SETTINGS = {"permute-and-flip": (200, 4.75, 1600), "exponential": (200, 5.5, 1700), "laplace": (30, 3.75, 4700)}


def in_groups(per_candidate):
    """The best candidate, which is in the middle, and four groups of the others."""
    best = per_candidate.size // 2
    return np.array([per_candidate[best], *(part.sum() for part in np.array_split(np.delete(per_candidate, best), 4))])


@pytest.fixture(
    scope="module",
    params=["permute-and-flip", "exponential", pytest.param("laplace", marks=pytest.mark.thorough)],  # of seconds
)
def sample(request):
    others, distance, draws = SETTINGS[request.param]
    values = np.full(others + 1, 17.0 + distance * RANGE / EPSILON)
    values[others // 2] = 17.0
    scores = Scores(values, RANGE, "test")
    drawn = [choose(scores, request.param, EPSILON) for _ in range(draws)]
    return request.param, values, np.bincount(drawn, minlength=values.size)


def p_value(sample, epsilon):
    mechanism, values, seen = sample
    stated = selection_probabilities(values, RANGE, epsilon, mechanism)
    return chisquare(in_groups(seen), in_groups(stated) * seen.sum()).pvalue


def test_draws_follow_the_stated_probabilities(sample):
    assert p_value(sample, EPSILON) > FALSE_ALARM


@pytest.mark.parametrize("wrong", [0.9, 1.1])
def test_a_scale_ten_percent_off_is_caught(sample, wrong):
    assert p_value(sample, EPSILON * wrong) < FALSE_ALARM


# Tied candidates, and a neighbour on which the first is worse by the whole range; and how many draws from each it takes
# to be sure (5.5 standard deviations, by simulation) that half the noise does not give epsilon = 2.
TIED_AND_DRAWS = {"permute-and-flip": (2, 2000), "exponential": (2, 2600), "laplace": (3, 3000)}


def estimated_epsilon(mechanism, range):
    """What privacy-estimates is sure of (a wrong bound with chance 1e-6) from guessing by whether the first was chosen."""
    tied, draws = TIED_AND_DRAWS[mechanism]
    here, there = (
        sum(choose(Scores(values, range, "test"), mechanism, 2.0) == 0 for _ in builtins.range(draws))
        for values in (np.zeros(tied), RANGE * (np.arange(tied) == 0))
    )
    counts = AttackResults(FN=draws - here, FP=there, TN=draws - there, TP=here)
    return compute_eps_lo(counts, delta=0.0, alpha=FALSE_ALARM, method="beta")


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_privacy_estimates_finds_no_violation(mechanism):
    assert estimated_epsilon(mechanism, RANGE) <= 2.0


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_privacy_estimates_finds_a_violation_at_half_the_noise(mechanism):
    assert estimated_epsilon(mechanism, RANGE / 2) > 2.0


@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(deadline=None, max_examples=examples(60))
@given(w=st.floats(1e-12, 1e12), epsilon=st.floats(1e-9, 1e9))
def test_the_price_read_back_is_within_epsilon_and_nothing_is_wasted(mechanism, w, epsilon):
    scale = noise_scale(mechanism, w, epsilon)
    assert choice_price(mechanism, scale, w) <= Fraction(epsilon) ** 2
    used = epsilon - (LAPLACE_ROUNDING if mechanism == "laplace" else 0)
    assert scale <= w / used * (1 + 2**-50)
    assert math.sqrt(choice_price(mechanism, scale, w)) >= used * (1 - 2**-50)


def test_the_exponential_mechanism_may_be_charged_epsilon_squared_over_eight():
    for epsilon in (0.1, 0.3, 1.0, 7.7):
        rho = choice_measurement("exponential", noise_scale("exponential", 3.7, epsilon)).map(3.7 / 2)
        assert Fraction(rho) <= Fraction(epsilon) ** 2 / 8
        assert rho == pytest.approx(epsilon**2 / 8, rel=1e-14)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_an_infinite_range_gives_the_uniform_choice(mechanism):
    values = np.array([0.0, 1e9, -1e9, 5.0])
    for w in (math.inf, 1e305):  # the second overflows when divided by epsilon
        seen = np.bincount([choose(Scores(values, w, "test"), mechanism, 1e-6) for _ in range(1500)], minlength=4)
        assert chisquare(seen).pvalue > FALSE_ALARM


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_range_of_zero_gives_the_least_score(mechanism):
    values = np.array([3.0, 2.0, 4.0])
    assert {choose(Scores(values, 0.0, "test"), mechanism, 1.0) for _ in range(20)} == {1}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_single_candidate_is_chosen(mechanism):
    assert choose(Scores(np.array([4.2]), 1.0, "test"), mechanism, 1.0) == 0


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2]),
        [1.0, 2.0],
        np.zeros((2, 2)),
        np.zeros(0),
        np.array([123.25, np.nan]),
        np.array([np.inf, 123.25]),
    ],
)
def test_scores_that_are_no_finite_vector_are_refused_without_a_number(values):
    with pytest.raises(DataError) as caught:
        choose(Scores(values, 1.0, "test"), "permute-and-flip", 1.0)
    assert not any(digit in str(caught.value) for digit in "0123456789")


def test_public_values_are_checked():
    scores = Scores(np.zeros(2), 1.0, "test")
    for epsilon in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(StudyError, match="epsilon is"):
            choose(scores, "permute-and-flip", epsilon)
    with pytest.raises(StudyError, match="'gumbel' is not known"):
        choose(scores, "gumbel", 1.0)
    for w in (-1.0, math.nan):
        with pytest.raises(StudyError, match="range"):
            choose(Scores(np.zeros(2), w, "test"), "permute-and-flip", 1.0)


def test_opendp_exceptions_do_not_get_out():
    def fails(private):
        raise ValueError(f"refused {private}")

    with pytest.raises(DpselectError) as caught:
        invoke(fails, 123.25)
    assert "123" not in str(caught.value)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_opendp_is_not_imported_with_the_package():
    import subprocess
    import sys

    code = "import sys, dpselect.randomize.choice, dpselect.randomize.choice; sys.exit('opendp' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, env={"PYTHONPATH": ":".join(sys.path)}).returncode
        == 0
    )


@pytest.mark.parametrize("epsilon", [5e-10, 1e-3, 1.0])
def test_laplace_leaves_room_for_the_rounding_of_its_noise(epsilon):
    w = 3.7
    scale = noise_scale("laplace", w, epsilon)
    # A threshold moves by w and by two units in the last place of noise of up to 2^10 scales.
    assert (Fraction(w) + Fraction(2) ** -51 * 2**10 * Fraction(scale)) / Fraction(scale) <= Fraction(epsilon)


def test_laplace_refuses_an_epsilon_that_rounding_could_spend():
    with pytest.raises(StudyError, match="laplace mechanism needs more"):
        noise_scale("laplace", 1.0, 0.99 * 2.0**-40)
