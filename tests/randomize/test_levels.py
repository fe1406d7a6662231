"""The draw by levels follows the law of the exponential mechanism over all candidates, without listing them."""

from decimal import Context
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpselect.assume.models.candidates import SubsetRule
from dpselect.penalize.margins import Margins
from dpselect.randomize import levels as module
from dpselect.randomize.levels import draw_set, levels_of
from dpselect.rehearse.chances.all import selection_probabilities

pytestmark = pytest.mark.real_chance

FALSE_ALARM = 1e-6


def random_margins(rng, *, most_terms=7):
    widths = rng.integers(1, 4, rng.integers(1, most_terms + 1))
    terms, start = [], int(rng.integers(0, 2))
    for width in widths:
        terms.append(((1 << int(width)) - 1) << start)
        start += int(width)
    limit = None if rng.random() < 0.5 else int(rng.integers(0, start + 1))
    always = int(terms[0] & 1 == 0)  # column 0, where no term has it
    empty = bool(rng.random() < 0.5)
    try:
        rule = SubsetRule(start, tuple(terms), always, limit, empty)
    except ValueError:
        rule = SubsetRule(start, tuple(terms), always, limit, True)
    agreement = rng.integers(0, 15, len(terms))
    return Margins(agreement, int(rng.integers(0, 15)), Fraction(int(rng.integers(0, 4)), 2), rule, 4.0)


def listed_chances(margins, epsilon):
    """The law, by enumeration."""
    values = margins.scores().values
    chances = selection_probabilities(values, margins.range, epsilon, "exponential")
    return {margins.candidates.mask(i): chance for i, chance in enumerate(chances)}


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_the_classes_hold_every_candidate_once_with_its_weight(seed):
    margins = random_margins(np.random.default_rng(seed))
    found = levels_of(margins)
    assert sum(each.count for each in found.classes) == margins.candidates.count
    values = margins.scores().values
    listed = np.sort(values)
    classes = np.sort(
        np.concatenate([np.full(c.count, float(margins.step) * c.size - c.margin) for c in found.classes])
    )
    np.testing.assert_array_equal(classes, listed)


@pytest.mark.parametrize("seed", range(12))
def test_draws_follow_the_law(seed):
    rng = np.random.default_rng(seed)
    margins = random_margins(rng, most_terms=4)
    epsilon = Fraction(3, 2)
    law = listed_chances(margins, float(epsilon))
    draws = 4_000
    seen = dict.fromkeys(law, 0)
    for _ in range(draws):
        seen[draw_set(margins, epsilon)] += 1
    expected = np.array([law[mask] for mask in law]) * draws
    counts = np.array([seen[mask] for mask in law], float)
    few = expected < 5
    pooled = [np.append(each[~few], each[few].sum()) for each in (counts, expected)]
    kept = pooled[1] > 0
    if kept.sum() > 1:
        assert chisquare(pooled[0][kept], pooled[1][kept] * pooled[0][kept].sum() / pooled[1][kept].sum()).pvalue > (
            FALSE_ALARM
        )


def test_a_price_twenty_percent_off_would_be_caught():
    margins = Margins(np.array([15, 0, 9]), 5, Fraction(0), SubsetRule(3, (1, 2, 4), empty=True), 4.0)
    law = listed_chances(margins, 1.0)
    draws = 4_500
    for wrong in (Fraction(6, 5), Fraction(4, 5)):
        seen = dict.fromkeys(law, 0)
        for _ in range(draws):
            seen[draw_set(margins, wrong)] += 1
        assert chisquare(list(seen.values()), [law[m] * draws for m in seen]).pvalue < FALSE_ALARM


def test_the_enclosure_decides_only_what_is_certain():
    """With a coarse enclosure and few bits a draw is undecided rather than wrong."""
    low, high = [10, 10, 10], [12, 12, 12]
    decided = [module._decided(low, high, drawn, 6) for drawn in range(64)]
    assert {None, 0, 1, 2} == set(decided)
    for drawn, place in enumerate(decided):
        if place is not None:
            # Whatever the true weights are within their bounds, the number lies in that class.
            for weights in ([10, 10, 10], [12, 12, 12], [12, 10, 10], [10, 12, 10], [10, 10, 12]):
                total = sum(weights)
                below = sum(weights[:place])
                assert below * 64 <= drawn * total
                assert (drawn + 1) * total <= (below + weights[place]) * 64


def test_the_ends_of_a_class_belong_to_it():
    assert [module._decided([8, 8], [8, 8], drawn, 1) for drawn in (0, 1)] == [0, 1]


@pytest.mark.parametrize("digits", [40, 80])
def test_the_enclosure_holds_every_weight(digits):
    """Against four times as many digits: a weight lies between bounds that are three of its last digit apart."""
    margins = Margins(np.array([9, 2, 7]), 5, Fraction(1, 2), SubsetRule(3, (1, 2, 4), empty=True), 4.0)
    classes, rate = levels_of(margins).classes, Fraction(3, 7)
    low, high = module._enclosed(classes, rate, margins.step, digits)
    precise = Context(prec=4 * digits)
    exponents = [rate * (each.margin - margins.step * each.size) for each in classes]
    for each, exponent, below, above in zip(classes, exponents, low, high, strict=True):
        beside = exponent - max(exponents)
        weight = precise.exp(precise.divide(beside.numerator, beside.denominator)).scaleb(digits, precise)
        assert below <= each.count * Fraction(weight) <= above == below + 3 * each.count


def test_an_undecided_draw_asks_for_more_bits(monkeypatch):
    margins = Margins(np.array([9, 2]), 5, Fraction(0), SubsetRule(2, (1, 2), empty=True), 4.0)
    monkeypatch.setattr(module, "BITS", 4)  # with 1, one run in thirty would ask for 2^16 digits: minutes
    monkeypatch.setattr(module, "DIGITS", 1)
    law = listed_chances(margins, 1.0)
    seen = dict.fromkeys(law, 0)
    for _ in range(600):
        seen[draw_set(margins, Fraction(1))] += 1
    assert chisquare(list(seen.values()), [law[m] * 600 for m in seen]).pvalue > FALSE_ALARM


def test_two_hundred_terms_need_no_list():
    rng = np.random.default_rng(2)
    agreement = np.where(np.arange(200) < 5, 190, rng.integers(80, 120, 200))
    rule = SubsetRule(201, tuple(2 << j for j in range(200)), 1, None, False)
    margins = Margins(agreement, 150, Fraction(2), rule, 2.0)
    assert sum(each.count for each in levels_of(margins).classes) == 2**200
    assert draw_set(margins, Fraction(50)) == 0b111111
    limited = SubsetRule(201, tuple(2 << j for j in range(200)), 1, 3, False)
    few = draw_set(Margins(agreement, 150, Fraction(2), limited, 2.0), Fraction(5))
    assert few.bit_count() <= 4
    assert limited.count == sum(comb(200, k) for k in range(4))


def test_their_text_keeps_the_agreement_private():
    margins = Margins(np.array([97, 98]), 5, Fraction(0), SubsetRule(2, (1, 2), empty=True), 4.0)
    assert repr(levels_of(margins)) == "Levels(values=<private>)"
