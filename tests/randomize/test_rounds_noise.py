"""The noise of the rounds: units, the shape of a matrix, and a price that is what the lemma says."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpselect.assume.lemmas.rounds import PRODUCT_SHIFT, composed_is_within, largest_mu, query_sensitivity, release_bits
from dpselect.assume.queries import Gradient, Gram, Histograms, Norms, Rows, Standard
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.errors import StudyError
from dpselect.randomize import rounds_noise
from dpselect.randomize.rounds_noise import Answered, Rounds, add_noise, times_root_two, whole_mu

STUDY = Study(Numeric("y"), [Numeric("x")])
OWN = Standard(columns=(1,), centers=(0.0,), factors=(4096.0,), response_center=0.0, response_factor=4096.0)
ABOUT = {"family": "gaussian", "standard": OWN, "matrix": ((1.0, 0.0), (0.0, 1.0))}
GRAM = Gram(**ABOUT, radius=3.0)
GRADIENT = Gradient(**ABOUT, radius=3.0, center=(0.0, 0.0))
NORMS = Norms(**ABOUT, center=(0.0, 0.0), edges=(1.0, 2.0, 4.0), halves="response")


@pytest.fixture
def silent(monkeypatch):
    """No noise, so that what is under it is seen."""
    monkeypatch.setattr(rounds_noise, "invoke", lambda measurement, numbers: numbers)


def test_answers_come_back_in_natural_units(silent):
    bits = release_bits(GRADIENT)
    vector = add_noise(GRADIENT, (5 << bits, -(3 << bits)), STUDY, 0.1).noisy()
    assert vector.sums.tolist() == [5.0, -3.0] and vector.query == GRADIENT
    steps = 2 ** (release_bits(GRAM) + PRODUCT_SHIFT)
    whole = add_noise(GRAM, (7 * steps, -2 * steps, -2 * steps, 11 * steps), STUDY, 0.1).noisy().sums
    assert whole == pytest.approx(np.array([[7, -2], [-2, 11]]), abs=1e-6)
    assert add_noise(NORMS, (1, 2, 3, 4, 5, 6), STUDY, 0.1).noisy().sums.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert add_noise(Rows(), (17,), STUDY, 0.1).noisy().sums.tolist() == [17]


@pytest.mark.parametrize("mu", [0.01, 0.2])
def test_noise_has_the_stated_deviation(mu):
    """400 matrices of 2 x 2; each ratio of deviations is off by 20% with a chance below 1e-6 (chi-square, 400 degrees)."""
    drawn = [add_noise(GRAM, (0, 0, 0, 0), STUDY, mu).noisy() for _ in range(400)]
    stated = drawn[0].deviation
    assert stated == pytest.approx(math.sqrt(2) * 9 / mu, rel=1e-5)
    parts = np.array([each.sums for each in drawn])
    beside = parts[:, 0, 1].std()
    assert parts[:, 0, 0].std() == pytest.approx(stated, rel=0.2)
    assert beside == pytest.approx(stated / math.sqrt(2), rel=0.2)
    angle = np.array([math.cos(0.7), math.sin(0.7)])
    assert np.einsum("nij,i,j->n", parts, angle, angle).std() == pytest.approx(stated, rel=0.2)
    counts = [add_noise(Rows(), (0,), STUDY, mu).noisy() for _ in range(400)]
    assert np.std([each.sums[0] for each in counts]) == pytest.approx(1 / mu, rel=0.2)
    assert counts[0].deviation == pytest.approx(1 / mu, rel=1e-3)


def test_root_two_is_rounded_down_exactly():
    generator = np.random.default_rng(2)
    for number in [0, 1, -1, *map(int, generator.integers(-(2**62), 2**62, 300)), 2**72, -(2**72)]:
        made = times_root_two(number)
        # made <= sqrt(2) number / 2^shift < made + 1, in whole squares.
        for value, below in ((made, True), (made + 1, False)):
            left, right = value * 2**PRODUCT_SHIFT, number
            signed = (abs(left) * left, 2 * abs(right) * right)
            assert signed[0] <= signed[1] if below else signed[0] > signed[1]


def test_rounds_compose_to_the_price_that_was_asked():
    epsilon, delta = 0.65, 1e-6
    mu, shares = largest_mu(epsilon * (1 - 2.0**-30), delta * (1 - 2.0**-30)) * (1 - 2.0**-30), (0.1, 0.3, 0.6)
    look = Histograms(columns=(1,), edges=((0.0,),), response_edges=(0.0,), family="gaussian")
    queries = ((look, (0,) * 4), (GRAM, (0,) * 4), (GRADIENT, (0, 0)))
    drawn = [
        add_noise(query, sums, STUDY, mu * math.sqrt(share)).draw
        for (query, sums), share in zip(queries, shares, strict=True)
    ]
    assert composed_is_within([(draw.rho, draw.sensitivity) for draw in drawn], epsilon, delta)
    assert not composed_is_within([(draw.rho * 1.001, draw.sensitivity) for draw in drawn], epsilon, delta)
    assert [draw.sensitivity for draw in drawn] == [query_sensitivity(query, STUDY) for query, _ in queries]


def test_the_record_reads_back(silent):
    look = Histograms(columns=(1,), edges=((0.0, 1.5),), response_edges=(), family="gaussian")
    asks = (
        (add_noise(Rows(), (9,), STUDY, 0.1),),
        (add_noise(look, (1, 2, 3), STUDY, 0.1), add_noise(NORMS, (0,) * 6, STUDY, 0.1)),
    )
    record = Rounds(rows=None, mu=0.1, asks=asks)
    assert Rounds.from_json(record.to_json()) == record and len(record.draws) == 3
    assert record.noisy_rows == 9 and Rounds(rows=12, mu=0.1, asks=()).noisy_rows == 12
    assert Rounds(rows=None, mu=0.1, asks=()).noisy_rows == 1
    assert isinstance(record.draws[1], Answered) and Fraction(record.draws[1].noisy().sums[1]) == 2


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (1.0, 0.5), (0.0, 1e-6)])
def test_what_buys_no_gaussian_noise_is_refused(epsilon, delta):
    with pytest.raises(StudyError, match=r"need a delta|epsilon is"):
        whole_mu(epsilon, delta)
