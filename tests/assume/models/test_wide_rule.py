"""The public rule of votes in wide tables: each number against what its docstring and docs/VOTES.md say of it."""

import math
from itertools import product

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import norm, poisson

from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.assume.power import needed_correlation, visible_in_wide
from dpselect.assume.vote_rule import lead_deviation
from dpselect.assume.wide_rule import (
    DUAL_ROWS,
    PAIR_ROWS,
    SecondLook,
    WideRule,
    clear_wide_directions,
    mean_vote,
    sample_share,
    speaking_blocks,
    speaking_share,
    wide_deviation,
    wide_rule,
)


def votes(rule, number):
    """A number of 64ths over all dealings, in votes a dealing."""
    return number / (WHOLE_VOTE * rule.partitions)


def above_chance(rule, columns):
    """What chance makes of so many idle columns, in votes a dealing: the largest of them, and half a deviation more."""
    return wide_deviation(rule, equal=True) * (math.sqrt(2 * math.log(columns)) + 0.5)


@pytest.mark.parametrize("correlation", [0.05, 0.3, 0.8])
def test_a_mean_vote_is_that_of_normal_columns(correlation):
    """Of pairs the vote is the sign by which both go together, over 400,000 of them: five of its deviations, 1 in 10^6."""
    x, other = np.random.default_rng(3).normal(size=(2, 400_000, 2))
    y = correlation * x + math.sqrt(1 - correlation**2) * other
    pairs = np.sign((x[:, 0] - x[:, 1]) * (y[:, 0] - y[:, 1]))
    assert mean_vote(correlation, PAIR_ROWS) == pytest.approx(pairs.mean(), abs=5 / math.sqrt(400_000))
    # Of others it is the sign of a normal number with one deviation, and a mean as large as the rows beside the first allow.
    assert mean_vote(correlation, DUAL_ROWS) == pytest.approx(2 * norm.cdf(correlation * math.sqrt(DUAL_ROWS - 1)) - 1)


@pytest.mark.parametrize("size", [PAIR_ROWS, DUAL_ROWS])
def test_the_correlation_that_is_needed_has_that_mean_vote(size):
    for correlation in (0.0, 0.16, 0.7):
        assert needed_correlation(mean_vote(correlation, size), size) == pytest.approx(correlation, abs=1e-9)
    assert needed_correlation(0.9999, size) <= 1 == needed_correlation(1.0, size) == needed_correlation(3.0, size)


def test_unequal_blocks_speak_where_chance_gives_them_two_rows():
    for size in (PAIR_ROWS, DUAL_ROWS):
        assert speaking_share(size, equal=False) == pytest.approx(poisson(size).sf(1))
        assert speaking_share(size, equal=True) == 1


def test_an_idle_column_leads_as_chance_lets_it():
    """One dealing has the variance of signs; of many that of the sample is left, for pairs that of Kendall's tau."""
    rows = 10**6
    kendall = 2 * (2 * rows + 5) / (9 * rows * (rows - 1))
    for size in (PAIR_ROWS, DUAL_ROWS):
        assert lead_deviation(90, sample_share(size), 1) == pytest.approx(math.sqrt(90))
    assert lead_deviation(rows / 2, sample_share(PAIR_ROWS), 10**9) == pytest.approx(
        math.sqrt(kendall) * rows / 2, rel=1e-4
    )
    assert lead_deviation(90, sample_share(DUAL_ROWS), 10**9) == pytest.approx(
        math.sqrt(90 * 2 / math.pi * 0.8), rel=1e-3
    )


def test_rows_are_dealt_as_often_as_they_are_few_and_work_allows():
    """Some 60,000 rows in all dealings, 8 to 32 of them; and never less than four, however many cells there are."""
    few, some, many, endless = (wide_rule(rows, 300, 300, 0.1).partitions for rows in (300, 3000, 60_000, 10**6))
    assert (few, some, many) == (32, 60_000 // 3000, 8) and endless == 4


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_a_lead_is_held_against_chance_and_blur_or_against_company(epsilon):
    """docs/VOTES.md: s (sqrt(2 log p) + 1/2) + 2 (5 price + 2)/epsilon, or what a correlation of .16 gives, if that is more."""
    held = set()
    for rows, columns in product((600, 2000, 5000, 30_000), (60, 300, 5000)):
        rule = wide_rule(rows, columns, columns, epsilon)
        company = speaking_blocks(rule, equal=True) * mean_vote(0.16, rule.size)
        blurred = above_chance(rule, columns) + 2 * (5 * rule.price + 2) / epsilon
        assert votes(rule, rule.threshold) == pytest.approx(max(company, blurred), rel=1e-3)
        odds = math.log((columns - 5) / 5)
        assert odds + 1 - 1e-9 <= rule.price <= odds + 2 + 1e-9
        if odds + 1 < rule.price < odds + 2:  # as much more as company asks for anyway
            assert blurred == pytest.approx(company)
        assert (rule.size == DUAL_ROWS) == (company >= blurred - 1e-9)
        held.add((rule.size, company > blurred))
    assert len(held) > 1


def test_a_second_look_is_held_above_chance_and_its_floor_tells_how_much_less_others_are_worth():
    for rows, columns, epsilon in ((4000, 300, 1.0), (20_000, 1000, 0.5), (200_000, 300, 2.0)):
        rule = wide_rule(rows, columns, columns, epsilon, again=1)
        look, floor = rule.second, votes(rule, rule.second.floor)
        company = speaking_blocks(rule, equal=True) * mean_vote(0.08, DUAL_ROWS)
        alone = votes(rule, rule.threshold) - floor
        assert alone == pytest.approx(max(company, above_chance(rule, columns)), rel=1e-3)
        # Beside a set: a block of n/b rows fits an intercept, the column and four others of one column each.
        size = rows / look.blocks
        sample = 2 / math.pi * size / (size + 1 + 4)
        spread = math.sqrt(look.blocks * (sample + (1 - sample) / look.partitions))
        assert votes(rule, look.threshold) - floor == pytest.approx(3.25 * spread, rel=2e-3)
        least = 2 * (5 * rule.price + 6) / epsilon
        assert votes(rule, look.threshold) == pytest.approx(max(least + 3.25 * spread, 0.33 * look.blocks), rel=2e-3)
        assert look.top == 12


@pytest.mark.parametrize("again", [0, 1])
def test_what_is_visible_outweighs_the_model_without_it(again):
    """A lead that share gives, less .84 deviations: it and what the empty model loses come to four times the nats over epsilon."""
    bounds = set()
    for rows, columns, epsilon, effects in product((3000, 20_000), (60, 1000), (0.5, 1.0, 8.0), (1, 9)):
        rule = wide_rule(rows, columns, columns, epsilon, again=again)
        share = visible_in_wide(rule, columns, epsilon, equal=True, effects=effects)
        if share == 1:
            continue
        deviation, bar = wide_deviation(rule, equal=True), votes(rule, rule.threshold)
        lead = speaking_blocks(rule, equal=True) * mean_vote(math.sqrt(share), rule.size) - 0.84 * deviation
        spare = bar - deviation * math.sqrt(2 * math.log(columns))
        if rule.second is not None:
            spare = min(spare, votes(rule, rule.second.floor))
        nats = effects * rule.price + 5 / math.e + math.log(4)
        assert min(lead - bar, spare) + lead - bar == pytest.approx(4 * nats / epsilon, rel=1e-6)
        bounds.add(lead - bar < spare)
    assert bounds == {True, False}


def test_directions_are_told_from_five_nats_above_what_they_weigh():
    """By the bound of the docstring: 2ck/e nats of new options for k = 5 terms of c columns in the mean, and five more."""
    rule = WideRule(size=DUAL_ROWS, blocks=100, partitions=4, threshold=1, price=1.0)
    for widths, mean in (((1,) * 20, 1), ((1, 3) * 10, 2)):
        lowest = math.ceil((2 * mean * 5 / math.e + 5) * rule.range / 2.0)
        told = [clear_wide_directions(replace(rule, threshold=t), widths, 2.0) for t in (lowest - 1, lowest)]
        assert told == [False, True]


def test_with_a_second_look_directions_are_told_of_terms_of_one_column_alone():
    second = SecondLook(blocks=50, partitions=4, threshold=9, floor=3, leaders=40, sets=9, top=12)
    rule = WideRule(size=DUAL_ROWS, blocks=100, partitions=4, threshold=10**6, price=9.0, crowd=41, second=second)
    assert clear_wide_directions(rule, (1,) * 50, 1.0)
    assert not clear_wide_directions(rule, (1, 2) * 25, 1.0) and not clear_wide_directions(rule, (), 1.0)
