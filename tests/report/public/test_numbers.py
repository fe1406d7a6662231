"""Numbers as people read them."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.report.public.numbers import listed, number, significant, span, ticks


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1, "1"),
        (0.5, "0.5"),
        (-2.25, "\N{MINUS SIGN}2.25"),
        (12345.678, "12,346"),
        (1850, "1850"),
        (0.000123456, "0.0001235"),
        (1.5e-7, "1.500e\N{MINUS SIGN}07"),
        (3e12, "3.000e+12"),
        (math.inf, "infinite"),
    ],
)
def test_number(value, text):
    assert number(value) == text


def test_an_open_end_is_said_to_be_open():
    assert span(1, 2) == "1 to 2"
    assert span(None, 2) == "below 2, open" and span(0.0, None) == "above 0, open"
    assert span(None, None) == "open on both sides"


@given(st.floats(-1e8, 1e8).filter(lambda value: abs(value) > 1e-4 or value == 0))
def test_a_number_reads_back_to_four_digits(value):
    back = float(number(value).replace(",", "").replace("\N{MINUS SIGN}", "-"))
    assert back == pytest.approx(value, rel=5.1e-4, abs=0)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_lie_inside_are_evenly_spaced_and_few(low, room):
    high = low + room
    if not high - low > 1e-9 * abs(low):
        return
    places = ticks(low, high)
    slack = 1e-6 * room
    assert 1 <= len(places) <= 7
    assert all(low - slack <= place <= high + slack for place in places)
    gaps = [after - before for before, after in itertools.pairwise(places)]
    assert all(gap == pytest.approx(gaps[0], rel=1e-6) for gap in gaps)


def test_ticks_of_nothing():
    assert ticks(1.0, 1.0) == [1.0]


def test_listed():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed([]) == "none"
    assert significant(66314, 2) == 66000
