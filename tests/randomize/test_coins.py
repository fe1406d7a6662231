"""Permute-and-flip by coins: the law by brute force, each coin on both sides of its chance, and numbers at the ends of doubles.

The coins of most tests here are not drawn but stated, so that each way through the program is walked.
"""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpselect.randomize import coins, digits
from dpselect.randomize.coins import ROOM, near_chances, permute_and_flip
from dpselect.rehearse.chances.scores import selection_probabilities

HALF = 2**15


def by_brute_force(values, scale):
    """Every order of the candidates, and in each the chance that its first heads is a candidate's."""
    chances = [math.exp((min(values) - value) / scale) for value in values]
    found = np.zeros(len(values))
    orders = list(itertools.permutations(range(len(values))))
    for order in orders:
        left = 1.0
        for place in order:
            found[place] += left * chances[place] / len(orders)
            left *= 1 - chances[place]
    return found


def by_coins(values, scale):
    """Every set of heads, and each of its candidates with the same chance: what the head of coins.py claims to be the same."""
    chances = [math.exp((min(values) - value) / scale) for value in values]
    found = np.zeros(len(values))
    for heads in itertools.product((False, True), repeat=len(values)):
        weight = math.prod(chance if head else 1 - chance for head, chance in zip(heads, chances, strict=True))
        if weight:
            found += weight * np.array(heads) / sum(heads)
    return found


@pytest.mark.parametrize("values", [(0.0, 1.0, 2.0, 2.5, 6.0), (3.0, 3.0, 3.0), (5.0, -1.0, -1.0, 0.25), (2.0,)])
def test_one_of_the_heads_is_the_first_of_a_random_order(values):
    assert by_coins(values, 2.0) == pytest.approx(by_brute_force(values, 2.0), abs=1e-14)
    assert selection_probabilities(np.array(values), 2.0, 1.0, "permute-and-flip") == pytest.approx(
        by_coins(values, 2.0), abs=1e-12
    )


@pytest.fixture
def stated(monkeypatch):
    """The first sixteen bits of every coin, and all that follow; of the heads the last is taken."""

    def state(tossed, following=0):
        monkeypatch.setattr(coins.secrets, "token_bytes", lambda count: np.array(tossed, np.uint16).tobytes())
        monkeypatch.setattr(digits.secrets, "randbits", lambda count: following * ((1 << count) - 1))
        monkeypatch.setattr(coins, "one_of", lambda things: things[-1])

    return state


def test_a_coin_is_heads_up_to_its_chance_and_not_beyond(stated):
    """The two doubles beside log 2 have chances above and below a half that only digits beyond the first sixteen bits tell."""
    for gap, cells in (
        (math.nextafter(math.log(2), 0), {(HALF, 0): True, (HALF, 1): False, (HALF - 1, 1): True}),
        (math.nextafter(math.log(2), 1), {(HALF, 0): False, (HALF - 1, 0): True, (HALF - 1, 1): False}),
    ):
        for tossed, heads in ((0, True), (HALF - 2, True), (HALF + 1, False), (2**16 - 1, False)):
            stated([HALF, tossed])
            assert permute_and_flip(np.array([0.0, gap]), 1.0) == int(heads), tossed
        for (tossed, following), heads in cells.items():
            stated([HALF, tossed], following)
            assert permute_and_flip(np.array([0.0, gap]), 1.0) == int(heads), (gap, tossed, following)


def true_chance(gap):
    exponent = -Fraction(gap)
    with localcontext(prec=60, traps=[]):
        return (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()


@pytest.mark.parametrize("above", [False, True])
def test_a_chance_that_a_double_takes_for_the_end_of_a_cell_is_asked_for_its_digits(above, stated):
    """Where exp is rounded to k/2^16, the coin's digits decide in the cell on the side of the true chance."""
    cell = next(
        k
        for k in range(HALF, 2**16)
        if near_chances(np.array([0.0, -math.log(k / 2**16)]), 1.0)[1] == k / 2**16
        and (true_chance(-math.log(k / 2**16)) > Decimal(k) / 2**16) == above
    )
    values = np.array([0.0, -math.log(cell / 2**16)])
    for (tossed, following), heads in {
        (cell, 0): above,
        (cell, 1): False,
        (cell - 1, 0): True,
        (cell - 1, 1): above,
    }.items():
        stated([HALF, tossed], following)
        assert permute_and_flip(values, 1.0) == int(heads), (tossed, following)


@pytest.mark.parametrize("tossed", [0, HALF, 2**16 - 1])
def test_the_least_score_always_shows_heads(tossed, stated):
    stated([tossed, 2**16 - 1, tossed], following=1)
    assert permute_and_flip(np.array([3.0, 1e300, 3.0]), 1.0) == 2


def test_a_coin_of_zeros_is_asked_for_more_digits_until_one_of_them_is_none(monkeypatch, stated):
    """exp(-5000) begins with 7,213 zeros."""
    stated([0, 0])
    asked = []
    monkeypatch.setattr(digits.secrets, "randbits", lambda count: asked.append(count) or len(asked) == 5)
    assert permute_and_flip(np.array([0.0, 5000.0]), 1.0) == 0
    assert len(asked) == 5


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(values=st.lists(NUMBERS, min_size=2, max_size=5), scale=st.floats(2.0**-900, 1.7e308))
@example(values=[1.7e308, -1.7e308], scale=1.7e308)  # whose difference is no double
@example(values=[5e-324, 0.0], scale=2.0**-900)
@example(values=[1e300, 1e300 + 2e284, 1e300 + 4e285], scale=1e284)
def test_every_double_is_within_room_of_its_chance(values, scale):
    near = near_chances(np.array(values), scale)
    for value, found in zip(values, near, strict=True):
        true = true_chance((Fraction(value) - min(map(Fraction, values))) / Fraction(scale))
        assert abs(Fraction(float(found)) - Fraction(true)) < Fraction(ROOM) / 1000


@pytest.mark.real_chance
def test_a_long_list_is_drawn_by_its_law():
    """A best candidate and N - 1 others, of which K show heads: its chance is E 1/(1 + K) = (1 - (1 - p)^N)/(N p), here a half.

    400 draws are off by more than .15 with a chance of 2e-9, and a scale that is 20% off moves the half by more than .3.
    """
    many = 2**12
    values = np.full(many, 1.0)
    values[1_234] = 0.0
    scale = 1 / math.log(many / 1.5936)
    for used, least, most in ((scale, 0.35, 0.65), (1.2 * scale, 0, 0.35), (scale / 1.2, 0.65, 1)):
        assert least <= np.mean([permute_and_flip(values, used) == 1_234 for _ in range(400)]) <= most
