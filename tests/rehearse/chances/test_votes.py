"""The chances of votes by levels against those of the whole list, and against the draws of a release."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from dpselect.assume.candidates import CandidateList, SubsetRule
from dpselect.errors import StudyError
from dpselect.penalize.margins import Margins
from dpselect.randomize.draw import Draws
from dpselect.randomize.levels import families_of
from dpselect.rehearse.chances.votes import VoteChances, likely
from tests.examples import examples
from tests.randomize.listing import law, random_margins

MECHANISMS = ["permute-and-flip", "exponential"]
FALSE_ALARM = 1e-6
"""The chance with which right chances are rejected, in each test."""


def by_listing(margins, epsilon, mechanism):
    """Chances of models, of terms, and of columns to go up and down."""
    rule = margins.candidates
    models, ways = dict.fromkeys(rule, 0.0), np.zeros((2, rule.width))
    for candidate, chance in law(margins, epsilon, mechanism).items():
        models[rule.always | sum(option.mask for option in candidate)] += chance
        for option in candidate:
            if option.sign:
                ways[int(option.sign < 0), option.column] += chance
    terms = [sum(chance for mask, chance in models.items() if mask & term) for term in rule.terms]
    return models, terms, ways


@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(derandomize=True, max_examples=examples(150), deadline=None)
@given(seed=st.integers(0, 2**32), epsilon=st.sampled_from([0.01, 0.7, 3.0, 40.0]))
def test_chances_of_models_terms_and_directions_are_those_of_the_list(mechanism, seed, epsilon):
    margins = random_margins(np.random.default_rng(seed))
    models, terms, ways = by_listing(margins, epsilon, mechanism)
    found = VoteChances(margins, epsilon, mechanism)
    np.testing.assert_allclose([found.chance_of(mask) for mask in models], list(models.values()), atol=1e-9)
    np.testing.assert_allclose(found.listed(), list(models.values()), atol=1e-9)
    np.testing.assert_allclose(found.inclusion, terms, atol=1e-9)
    np.testing.assert_allclose(found.directions, ways, atol=1e-9)
    leading = found.leading(3)
    assert len({mask for mask, _ in leading}) == len(leading) == min(3, len(models))
    assert all(chance == pytest.approx(models[mask], abs=1e-9) for mask, chance in leading)
    if not margins.directions:
        best = sorted(models.values(), reverse=True)[:3]
        assert [chance for _, chance in leading] == pytest.approx(best, abs=1e-9)


@settings(derandomize=True, max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
def test_the_best_candidates_come_first_and_each_once(seed):
    margins = random_margins(np.random.default_rng(seed), most_terms=4, crowds=False)
    chances = law(margins, 1.0, "exponential")
    found = list(likely(families_of(margins)))
    assert sorted(found) == sorted(chances)
    assert all(chances[one] >= chances[other] * (1 - 1e-9) for one, other in pairwise(found))


def test_a_model_that_does_not_compete_has_no_chance():
    margins = Margins(np.array([3, 4]), 2, Fraction(0), SubsetRule(2, (1, 2), max_size=1), 4.0)
    assert VoteChances(margins, 1.0).chance_of(3) == 0


def test_where_nothing_competes_there_is_one_model():
    alone = VoteChances(Margins(np.array([3]), 2, Fraction(0), SubsetRule(1, (), 1), 4.0), 1.0)
    assert (alone.chance_of(1), alone.leading(5), alone.listed().tolist()) == (1.0, [(1, 1.0)], [1.0])
    assert alone.inclusion.size == 0


@pytest.mark.real_chance
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_thirty_terms_are_drawn_with_these_chances_and_not_with_others(mechanism):
    """Beyond every list, 3^30 candidates: the best model, and how often each term goes up or down.

    Right chances are rejected with FALSE_ALARM at most; that of a term which is in by half is not accepted if it is 10% off.
    """
    rng = np.random.default_rng(8)
    lead = np.concatenate([[70, -62, 44, -42, 41, 39], rng.integers(-8, 9, 24)])
    rule = SubsetRule(30, tuple(1 << j for j in range(30)), empty=True)
    margins = Margins(lead, 40, Fraction(1), rule, 8.0, directions=True)
    found, draws = VoteChances(margins, 8.0, mechanism), 6_000
    source = Draws(margins, Fraction(8))
    draw = source.exponential if mechanism == "exponential" else source.permute_and_flip
    drawn = [draw() for _ in range(draws)]
    signs = np.array([[option.sign for option in candidate] for candidate in drawn])
    for sign, chances in zip((1, -1), found.directions, strict=True):
        seen = (signs == sign).sum(axis=0).tolist()
        for count, chance in zip(seen, np.clip(chances, 0, 1).tolist(), strict=True):
            assert binomtest(count, draws, chance).pvalue > FALSE_ALARM / 60
    unsure = int(np.argmin(np.abs(found.inclusion - 0.6)))
    assert 0.5 < found.inclusion[unsure] < 0.7
    for off in (0.9, 1.1):
        assert binomtest(int((signs[:, unsure] != 0).sum()), draws, off * found.inclusion[unsure]).pvalue < FALSE_ALARM
    mask, chance = found.leading(1)[0]
    count = sum(sum(option.mask for option in candidate) == mask for candidate in drawn)
    assert binomtest(count, draws, chance).pvalue > FALSE_ALARM


def test_thousands_of_terms_have_chances_that_add_up():
    rng = np.random.default_rng(0)
    lead = np.concatenate([np.full(5, 900), rng.integers(-200, 200, 1995)])
    rule = SubsetRule(2000, tuple(1 << j for j in range(2000)), empty=True)
    found = VoteChances(Margins(lead, 500, Fraction(2), rule, 2.0, directions=True), 100.0)
    assert found.inclusion[:5] == pytest.approx(np.ones(5), abs=1e-9)
    assert found.inclusion[5:].sum() < 1e-6
    assert found.leading(1) == [(0b11111, pytest.approx(1.0, abs=1e-6))]
    vague = VoteChances(Margins(lead, 500, Fraction(2), rule, 2.0, directions=True), 0.01)
    sums = np.zeros(2000)
    for (_, chance), slot in zip(vague.options, vague.families[0].levels.slots, strict=True):
        sums[slot] += chance
    assert sums == pytest.approx(np.ones(2000), abs=1e-9)
    assert vague.inclusion.sum() > 1_000


@pytest.mark.parametrize("directions", [False, True])
def test_simulated_models_have_these_chances(directions):
    margins = Margins(np.array([9, -5, 4, 1]), 5, Fraction(1), SubsetRule(4, (1, 2, 4, 8), empty=True), 8.0, directions)
    found = VoteChances(margins, 3.0)
    drawn = found.simulate(np.random.default_rng(1), 4_000)
    shares = [np.mean([mask & term > 0 for mask in drawn]) for term in margins.candidates.terms]
    np.testing.assert_allclose(shares, found.inclusion, atol=0.03)
    assert np.mean([mask == 1 for mask in drawn]) == pytest.approx(found.chance_of(1), abs=0.03)


def test_lists_and_other_mechanisms_are_refused():
    listed = Margins(np.array([3, 4]), 2, Fraction(0), CandidateList(2, (1, 2)), 4.0)
    with pytest.raises(StudyError, match="need a rule"):
        VoteChances(listed, 1.0)
    ruled = Margins(np.array([3, 4]), 2, Fraction(0), SubsetRule(2, (1, 2)), 4.0)
    with pytest.raises(StudyError, match="permute-and-flip and exponential"):
        VoteChances(ruled, 1.0, "laplace")


def test_their_text_keeps_the_chances_private():
    ruled = Margins(np.array([3, 4]), 2, Fraction(0), SubsetRule(2, (1, 2)), 4.0)
    assert repr(VoteChances(ruled, 1.0)) == "VoteChances(values=<private>)"
    assert math.isclose(VoteChances(ruled, 1.0).listed().sum(), 1)
