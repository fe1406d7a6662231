"""Draws by levels follow the laws of permute-and-flip and of the exponential mechanism over all candidates, none of them listed."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from dpselect.assume.candidates import SubsetRule
from dpselect.penalize.margins import Margins
from dpselect.randomize import digits
from dpselect.randomize.draw import Draws, draw_candidate
from tests.randomize.listing import law, random_margins

pytestmark = pytest.mark.real_chance

FALSE_ALARM = 1e-6
"""The chance with which a right sampler is rejected, in each test."""
MECHANISMS = ["permute-and-flip", "exponential"]


def p_value(margins, epsilon, mechanism, draws, expected):
    """The p-value of so many draws under expected chances; what is expected less than five times counts together."""
    seen = dict.fromkeys(expected, 0)
    source = Draws(margins, epsilon)
    draw = source.exponential if mechanism == "exponential" else source.permute_and_flip
    for _ in range(draws):
        seen[draw()] += 1
    counts, wanted = np.array(list(seen.values()), float), draws * np.array(list(expected.values()))
    few = wanted < 5
    counts, wanted = (np.append(each[~few], each[few].sum()) for each in (counts, wanted))
    kept = wanted > 0
    if kept.sum() < 2:
        return 1.0
    return chisquare(counts[kept], wanted[kept] * counts[kept].sum() / wanted[kept].sum()).pvalue


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(4, 24))]
)
def test_draws_follow_the_law(seed, mechanism):
    """Wide terms, limits, groups, directions and all."""
    margins = random_margins(np.random.default_rng(seed), most_terms=3)
    assert p_value(margins, Fraction(3, 2), mechanism, 2_000, law(margins, 1.5, mechanism)) > FALSE_ALARM


LEADS = np.array([0, 12, -12, 0])
SIGNED = Margins(LEADS, 5, Fraction(1, 2), SubsetRule(4, (2, 4, 8), 1), 8.0, directions=True)
LIMITED = Margins(LEADS, 5, Fraction(1, 2), SubsetRule(4, (2, 4, 8), 1, 2, at_least=1), 8.0, directions=True)


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("margins", [SIGNED, LIMITED], ids=["free", "limited"])
def test_a_price_that_is_ten_percent_off_is_caught_and_the_right_one_is_not(margins, mechanism):
    """Each is missed with a chance of about 1e-6 too: so far apart are the laws, .015 in chi-square a draw or more."""
    epsilon, draws = Fraction(2), 14_000
    right = law(margins, epsilon, mechanism)
    assert p_value(margins, epsilon, mechanism, draws, right) > FALSE_ALARM
    for wrong in (Fraction(11, 5), Fraction(9, 5)):
        assert p_value(margins, wrong, mechanism, draws, right) < FALSE_ALARM


def test_permute_and_flip_is_not_the_exponential_mechanism():
    """Their laws are told apart both ways, so the memory does its work."""
    laws = {mechanism: law(SIGNED, 2, mechanism) for mechanism in MECHANISMS}
    assert p_value(SIGNED, Fraction(2), "permute-and-flip", 4_000, laws["exponential"]) < FALSE_ALARM
    assert p_value(SIGNED, Fraction(2), "exponential", 4_000, laws["permute-and-flip"]) < FALSE_ALARM


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_draws_that_start_with_one_digit_follow_the_law(mechanism, monkeypatch):
    """Nearly all of them are undecided at first and ask for more digits of what they have."""
    monkeypatch.setattr(digits, "DIGITS", 1)
    monkeypatch.setattr(digits, "BITS_A_DIGIT", 2)
    for margins in (SIGNED, LIMITED):
        assert p_value(margins, Fraction(2), mechanism, 1_500, law(margins, 2, mechanism)) > FALSE_ALARM


def test_ties_are_drawn_evenly():
    """All alike: every candidate is the best."""
    margins = Margins(np.zeros(3, int), 0, Fraction(0), SubsetRule(3, (1, 2, 4), empty=True), 4.0, directions=True)
    assert len(law(margins, 1, "permute-and-flip")) == 27
    assert p_value(margins, Fraction(1), "permute-and-flip", 3_000, law(margins, 1, "permute-and-flip")) > FALSE_ALARM


def taken(candidate):
    return sum(option.mask for option in candidate)


def test_thousands_of_terms_need_no_list():
    rng = np.random.default_rng(2)
    lead = np.concatenate([[0, -990, -980, -970, -960, -950], rng.integers(-50, 50, 3995)])
    terms = tuple(2 << j for j in range(4000))
    for mechanism in MECHANISMS:
        margins = Margins(lead, 500, Fraction(2), SubsetRule(4001, terms, 1), 2.0, directions=True)
        drawn = draw_candidate(margins, Fraction(100), mechanism)
        assert taken(drawn) == 0b111110
        assert [option.sign for option in drawn[:6]] == [-1] * 5 + [0]
    few = draw_candidate(Margins(lead, 500, Fraction(2), SubsetRule(4001, terms, 1, 3), 2.0), Fraction(100))
    assert taken(few) == 0b1110  # those of the largest leads
    many = draw_candidate(Margins(lead, 500, Fraction(2), SubsetRule(4001, terms, 1, at_least=7), 2.0), Fraction(100))
    assert taken(many).bit_count() == 7
    assert taken(many) & 0b111110 == 0b111110


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(10**9)])
def test_prices_of_every_size_draw_something(epsilon):
    margins = Margins(np.array([2**30, -(2**30), 3]), 2**20, Fraction(7, 3), SubsetRule(3, (1, 2, 4)), 4.0, True)
    drawn = draw_candidate(margins, epsilon)
    assert epsilon < 1 or [(option.mask, option.sign) for option in drawn] == [(1, 1), (2, -1), (0, 0)]


def test_an_unknown_mechanism_is_not_drawn_as_another():
    with pytest.raises(KeyError):
        draw_candidate(random_margins(np.random.default_rng(1)), Fraction(1), "laplace")


def test_where_nothing_competes_nothing_is_drawn():
    assert draw_candidate(Margins(np.array([3]), 1, Fraction(0), SubsetRule(1, (), 1), 4.0), Fraction(1)) == ()
