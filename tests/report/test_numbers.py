"""Numbers as people read them: rounded to their error, ends outward, never to or across zero."""

import itertools
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.report.numbers import (
    MINUS,
    error_place,
    estimate_text,
    interval_place,
    interval_text,
    number,
    percent,
    power_of_ten,
    ratio_ticks,
    rounded,
    significant,
    ticks,
    unit_power,
    written,
)


def read(text: str) -> float:
    return float(text.replace(",", "").replace(MINUS, "-").replace("+", ""))


@pytest.mark.parametrize(
    ("value", "ends", "said"),
    [
        (-6.273, (-9.001, -4.556), ("-6.3", "-9.1 to -4.5")),
        (1.397, (1.267, 1.527), ("+1.40", "1.26 to 1.53")),
        (1930.4, (1790.2, 2070.8), ("+1,930", "1,790 to 2,080")),
        (0.04, (0.0004, 0.0796), ("+0.04", "0.0004 to 0.08")),
        (-0.04, (-0.0796, -0.0004), ("-0.04", "-0.08 to -0.0004")),
        (12345678.0, (12300000.0, 12400000.0), ("+12,350,000", "12,300,000 to 12,400,000")),
        (3.1e-9, (2.0e-9, 4.2e-9), ("+3.1 x 10⁻⁹", "2.0 x 10⁻⁹ to 4.2 x 10⁻⁹")),
        (2.0, (None, 3.4), ("+2.0", "below 3.4")),
        (2.0, (0.6, None), ("+2.0", "above 0.6")),
        (2.0, (None, None), ("+2.0", "unbounded")),
    ],
)
def test_an_effect_is_rounded_to_its_error(value, ends, said):
    written_so = estimate_text(value, *ends), interval_text(*ends, value)
    assert tuple(each.replace(MINUS, "-").replace("\N{MULTIPLICATION SIGN}", "x") for each in written_so) == said


def test_an_interval_without_an_estimate_has_two_digits():
    assert interval_text(None, 28.8) == "below 29"
    assert interval_text(-2.13, 0.27) == f"{MINUS}2.2 to 0.3"
    assert interval_text(None, None) == "unbounded"


FINITE = st.floats(-1e6, 1e6).filter(lambda value: abs(value) > 1e-6)


@given(FINITE, st.floats(1e-5, 1e6), st.floats(0, 1))
def test_rounding_makes_no_interval_shorter_and_moves_no_end_across_zero(middle, length, part):
    lower, upper = middle - part * length, middle + (1 - part) * length
    if not upper > lower:
        return
    low, high = map(read, interval_text(lower, upper).split(" to "))
    assert low <= lower and upper <= high
    assert (low > 0) == (lower > 0) or lower == 0
    assert (high < 0) == (upper < 0) or upper == 0
    # Not by more than one unit of the last place that the length supports, but where zero is near.
    if lower * upper < 0 or min(abs(lower), abs(upper)) > length:
        assert lower - low <= 0.31 * length and high - upper <= 0.31 * length


@given(FINITE, st.integers(-6, 6))
def test_a_rounded_number_keeps_its_sign(value, place):
    found = rounded(value, place)
    assert found != 0 and (found > 0) == (value > 0)


def test_zero_is_zero():
    assert interval_place(1.0, 2.0, 2.0) == error_place(1.0)  # an interval of no length, beside its value
    assert rounded(0.0, 0) == Decimal(0)
    assert written(rounded(0.0, -1)) == "0.0"


@pytest.mark.parametrize(
    ("size", "most", "power"), [(0.071, None, 1), (0.1, None, 0), (0.0009, 1e9, 3), (0.03, 8.0, 0), (0.0, None, 0)]
)
def test_a_unit_is_scaled_by_tens_within_its_range(size, most, power):
    assert unit_power(size, most) == power


def test_percentages_and_powers():
    shown = [percent(share) for share in (0, 1e-5, 0.027, 0.1, 0.2319, 0.986, 0.992, 0.9995, 1)]
    assert shown == ["0%", "under 0.1%", "2.7%", "10%", "23%", "99%", "over 99%", "over 99.9%", "over 99.9%"]
    assert [power_of_ten(text) for text in ("0", "0.01", "1e-6", "9e-6")] == [
        "0", "0.01", "10⁻⁶", "9 \N{MULTIPLICATION SIGN} 10⁻⁶"
    ]  # fmt: skip


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
def test_a_stated_number(value, text):
    assert number(value) == text


@given(st.floats(-1e8, 1e8).filter(lambda value: abs(value) > 1e-4 or value == 0))
def test_a_number_reads_back_to_four_digits(value):
    assert read(number(value)) == pytest.approx(value, rel=5.1e-4, abs=0)


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


def test_ticks_of_nothing_and_of_ratios():
    assert ticks(1.0, 1.0) == [1.0]
    assert ticks(0, 40, 6) == [0, 10, 20, 30, 40]
    assert ratio_ticks(0.5, 2, 8) == pytest.approx([0.5, 0.7, 1, 1.2, 1.5, 2])
    assert ratio_ticks(0.1, 30, 8) == pytest.approx([0.1, 0.2, 0.5, 1, 2, 5, 10, 20])
    assert ratio_ticks(1e-9, 1e12, 5) == pytest.approx([1e-5, 1, 1e5, 1e10])  # each fifth of 22 powers


def test_significant_digits():
    assert significant(66314, 2) == 66000


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((0.901, 0.9996), "0.90 to 0.9996"),
        ((0.853, 0.9996), "0.85 to 0.9996"),
        ((1.0004, 1.2), "1.0004 to 1.20"),
        ((0.853, 1.0), "0.85 to 1.00"),
        ((0.9, 1.004), "0.90 to 1.01"),
        ((0.003, 1.4), "0.003 to 1.4"),
        ((1.000000001, 1.5), "1.0000000 to 1.50"),  # closer to 1 than any digit that is written
        ((None, 0.9996), "below 0.9996"),
        ((1.0004, None), "above 1.0004"),
    ],
)
def test_an_end_of_a_ratio_is_not_rounded_to_one_or_across_it(ends, text):
    written_so = interval_text(*ends, ratio=True)
    assert written_so == text


def test_a_ratio_is_not_rounded_to_one_and_other_numbers_may_be():
    assert estimate_text(0.9961, 0.86, 0.9996, sign=False, ratio=True) == "0.996"
    assert estimate_text(0.9961, 0.86, 0.9996, sign=False) == "1.00"
