"""The noise with a seed that most tests have in the place of OpenDP's: the same laws, and the same numbers on every run."""

import numpy as np
import pytest
from scipy.stats import chisquare, kstest, laplace, norm

from dpselect.assume.recipe import MECHANISMS
from dpselect.penalize.scores import Scores
from dpselect.randomize.choice import choose
from dpselect.randomize.opendp_door import integer_measurement, number_measurement
from dpselect.rehearse.chances.scores import selection_probabilities

DRAWS, WRONG = 4000, 1e-6


@pytest.mark.parametrize(
    "mechanism",
    [each if each == "exponential" else pytest.param(each, marks=pytest.mark.thorough) for each in MECHANISMS],
)
def test_choices_follow_the_mechanism(mechanism, fixed_chance):
    scores = Scores(np.array([0.0, 1.0, 2.0, 2.5, 6.0]), 3.0, "loss")
    assert not fixed_chance.real
    drawn = np.bincount([choose(scores, mechanism, 0.75) for _ in range(DRAWS)], minlength=5)
    assert chisquare(drawn, DRAWS * selection_probabilities(scores.values, 3.0, 0.75, mechanism)).pvalue > WRONG
    narrower = selection_probabilities(scores.values, 3.0, 1.5, mechanism)
    assert chisquare(drawn, DRAWS * narrower).pvalue < WRONG


@pytest.mark.parametrize(("noise", "law"), [("laplace", laplace), ("gaussian", norm)])
def test_numbers_follow_the_noise(noise, law, fixed_chance):
    drawn = np.array(fixed_chance.invoke(integer_measurement(noise, 1000.0), [7] * DRAWS)) - 7.0
    assert kstest(drawn, law(scale=1000).cdf).pvalue > WRONG
    assert kstest(drawn, law(scale=1300).cdf).pvalue < WRONG


def test_one_number_is_one_number(fixed_chance):
    drawn = [float(fixed_chance.invoke(number_measurement(3.0), 700.0)) for _ in range(DRAWS)]
    assert kstest(drawn, laplace(700, 3.0).cdf).pvalue > WRONG


def test_a_test_has_its_own_numbers_again_and_again(fixed_chance):
    def drawn(name):
        fixed_chance.start(name, real=False)
        bits = fixed_chance.urandom(8), fixed_chance.randbits(64), fixed_chance.randbelow(2**64)
        return *bits, fixed_chance.numbers.normal()

    first = drawn("one")
    assert not set(first) & set(drawn("two"))
    assert first == drawn("one")
