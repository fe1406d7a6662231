"""What the last round leaves out, and when nothing is said."""

import numpy as np
import pytest

from dpselect.assume.lemmas.logistic import BITS
from dpselect.assume.variables import GRID
from dpselect.randomize.logistic_noise import Draw, Round
from dpselect.release.equations.findings import findings
from dpselect.release.equations.rounds import LEAST_EIGENVALUE, close_together, curved, last_fit


def round_of(gradient, gram, spread):
    """A round at no slopes whose noise happened to be zero."""
    width = len(gradient)
    upper = [gram[i][j] for i in range(width) for j in range(i, width)]

    def draw(numbers):
        return Draw(tuple(round(each * 2**BITS) for each in numbers), spread * 2**BITS, 1, 0.1)

    return Round((0,) * width, draw(gradient), draw(upper))


def test_no_step_no_curve_and_a_long_one_counts_by_its_fourth_power():
    gram = np.diag([100.0, 30.0])
    assert curved(np.zeros(2), gram, 2000) == 1
    short, long = (curved(np.array([0.0, each]), gram, 2000) - 1 for each in (0.1, 0.2))
    assert long == pytest.approx(16 * short)


def test_chances_near_a_half_curve_less_than_rare_ones():
    step, gram = np.array([0.3, 0.3]), np.diag([100.0, 30.0])
    half, rare = curved(step, gram, 405), curved(step, gram, 100_000)
    assert 1 < half < 1 + (rare - 1) / 15


@pytest.mark.parametrize("size", [0.05, 0.3])
def test_the_curve_that_is_counted_is_as_long_as_the_one_left_out(size):
    """The exact gradient of made-up rows, at a step away, against its line: within what `curved` says it may be."""
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(20_000), rng.uniform(-1, 1, (20_000, 2))])
    center, step = np.array([-3.0, 0.0, 0.0]), size * np.array([-1.0, 2.0, -1.5])
    p, q = (1 / (1 + np.exp(-x @ b)) for b in (center, center + step))
    gram = x.T @ (x * (p * (1 - p))[:, None])
    left_out = x.T @ (p - q) + gram @ step
    errors = float(left_out @ np.linalg.solve(gram, left_out)) ** 0.5
    counted = (2 * (curved(step, gram, 20_000) - 1)) ** 0.5
    assert 0.3 * counted < errors < 1.3 * counted


def test_a_gram_that_noise_drowns_determines_nothing():
    gram = [[2000.0, 0.0], [0.0, 600.0]]
    for loudness, seen in ((0.5 / LEAST_EIGENVALUE, True), (1.2 / LEAST_EIGENVALUE, False)):
        one = round_of([3.0, 200.0], gram, loudness * 600 / 2**0.5)
        assert last_fit(one, 0, 10_000).quiet is seen
    quiet = round_of([3.0, 200.0], gram, 5.0)
    found = findings(last_fit(quiet, 0, 10_000), np.eye(2), level=0.95)
    assert found[1].value == pytest.approx(1 / 3, abs=0.05) and one.at.tolist() == [0, 0]
    assert GRID == 2**20


def test_numbers_that_may_be_close_together_are_noticed_whatever_the_noise():
    """A fifth of half the range, two deviations below what is seen; weights that noise drowned count as close together."""
    for squares, noise, close in ((50.0, 0.0, False), (30.0, 0.0, True), (50.0, 8.0, True), (90.0, 8.0, False)):
        one = round_of(np.zeros(2), np.array([[1000.0, 500.0], [500.0, 250.0 + squares]]), noise)
        assert close_together(one, 0, [1]) is close
        assert close_together(one, 0, []) is False
    assert close_together(round_of(np.zeros(2), np.array([[-1.0, 0.0], [0.0, 9.0]]), 1.0), 0, [1])
    assert close_together(round_of(np.zeros(1), np.array([[9.0]]), 0.1), None, [0]) is False
