"""The levels hold every candidate once, with its weight."""

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.candidates import SubsetRule
from dpselect.penalize.margins import Margins
from dpselect.randomize.levels import Weights, families_of
from tests.examples import examples
from tests.randomize.listing import listed, random_margins

RATE = Fraction(3, 7)


def by_level(margins):
    """Each family, and the listed candidates of each of its levels: that of the worst option that they take."""
    candidates = listed(margins)
    for levels in families_of(margins):
        place = {(slot, option): i for i, (slot, option) in enumerate(zip(levels.slots, levels.options, strict=True))}
        found = [[] for _ in levels.options]
        for candidate in candidates:
            terms = sum(option.mask > 0 for option in candidate)
            if terms == levels.fewest if levels.exact else terms >= levels.fewest:
                found[max(place[each] for each in enumerate(candidate))].append(candidate)
        yield levels, found


@settings(derandomize=True, max_examples=examples(70), deadline=None)
@given(st.integers(0, 2**32))
def test_each_level_weighs_what_its_candidates_do(seed):
    margins = random_margins(np.random.default_rng(seed), crowds=False)
    families, scores = families_of(margins), listed(margins)
    best = max(levels.best for levels in families)
    assert best == max(-Fraction(score) for score in scores.values())
    shares = Weights(families, RATE, best, 40).levels
    cumulated, places = 0.0, iter(range(10**6))
    for levels, found in by_level(margins):
        for candidates, fewest in zip(found, levels.fewest_terms, strict=True):
            sizes = [sum(option.mask > 0 for option in candidate) for candidate in candidates]
            assert fewest == min(sizes, default=None)
            cumulated += sum(math.exp(-RATE * (Fraction(scores[each]) + best)) for each in candidates)
            place = next(places)
            assert float(shares._low[place]) == pytest.approx(cumulated, rel=1e-12, abs=1e-12)
            assert float(shares._high[place]) == pytest.approx(cumulated, rel=1e-12, abs=1e-12)
    assert next(places) == len(shares._low)


@settings(derandomize=True, max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32))
def test_limits_are_counted_in_whole_numbers(seed):
    margins = random_margins(np.random.default_rng(seed), crowds=False)
    for levels, found in by_level(margins):
        for counted, candidates in zip(levels.sizes, found, strict=True):
            terms = [sum(option.mask > 0 for option in candidate) for candidate in candidates]
            if levels.exact or levels.rule.limit is not None:
                assert counted == {size: terms.count(size) for size in set(terms)}


def test_two_hundred_terms_are_counted_by_binomials():
    lead = np.concatenate([[0], np.arange(200)])
    rule = SubsetRule(201, tuple(2 << j for j in range(200)), 1, 3)
    for directions in (False, True):
        (levels,) = families_of(Margins(lead, 0, Fraction(2), rule, 2.0, directions))
        counts = {size: sum(sizes.get(size, 0) for sizes in levels.sizes) for size in range(5)}
        assert counts == {size: (1 + directions) ** size * comb(200, size) * (size < 4) for size in range(5)}


def test_who_must_be_in_is_excused_from_the_threshold():
    """Two at least: where one passes, the second is the best of the others, and the first is not given up for it."""
    lead = np.array([400, -90, 80, 70])
    plain = Margins(lead, 300, Fraction(5), SubsetRule(4, (1, 2, 4, 8), empty=True), 4.0)
    two = Margins(lead, 300, Fraction(5), SubsetRule(4, (1, 2, 4, 8), at_least=2), 4.0, directions=True)
    assert list(plain.candidates)[plain.scores().values.argmin()] == 0b1
    best = min(listed(two), key=listed(two).get)
    assert [option.sign for option in best] == [1, -1, 0, 0]
    scores = {}
    for candidate, score in listed(two).items():
        mask = sum(option.mask for option in candidate)
        scores[mask] = max(scores.get(mask, -math.inf), -score)
    assert scores[0b11] - scores[0b101] == 90 - 80  # another second
    assert scores[0b11] - scores[0b110] == 400 - 80  # the first given up for it
    assert scores[0b11] - scores[0b111] == (300 - 80) - (80 - 300) + 5  # a third that does not pass the threshold


def test_prices_beyond_every_double_are_enclosed():
    margins = Margins(np.array([2**30, -(2**30)]), 2**29, Fraction(2**30), SubsetRule(2, (1, 2), empty=True), 4.0, True)
    families = families_of(margins)
    low, high = Weights(families, Fraction(10**9), families[0].best, 40).levels.total
    assert 1 - 1e-12 < low <= high < 1 + 1e-12  # the best alone


def test_their_text_keeps_the_leads_private():
    margins = Margins(np.array([97, 98]), 5, Fraction(0), SubsetRule(2, (1, 2), empty=True), 4.0)
    assert repr(families_of(margins)[0]) == "Levels(values=<private>)"
