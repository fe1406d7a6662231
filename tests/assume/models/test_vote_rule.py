"""The public rule of block votes: numbers for any stated facts, in the shapes that were measured."""

import itertools
import math

import pytest

from dpselect.assume.models.vote_rule import VoteRule, expected_nats, ridge_for, spread, vote_rule, wanted_size
from dpselect.errors import AssumptionError


def size(rows: int, rule: VoteRule) -> float:
    return rows / rule.blocks


def share(rule: VoteRule) -> float:
    return rule.threshold / (rule.blocks * rule.partitions)


@pytest.mark.parametrize(
    ("rows", "columns", "terms", "epsilon"),
    list(itertools.product((1, 2, 7, 252, 36_337, 10**7, 10**10), (1, 2, 15, 201), (1, 2, 14, 200), (1e-4, 0.35, 1e4))),
)
def test_there_is_a_rule_for_any_facts(rows: int, columns: int, terms: int, epsilon: float) -> None:
    rule = vote_rule(rows, columns, terms, epsilon)
    assert 1 <= rule.blocks <= max(rows, 1)
    assert 2 <= rule.partitions <= 32
    assert 0 <= rule.ridge <= 2.4
    assert 1 <= rule.threshold <= max(0.45 * rule.blocks * rule.partitions, 1)
    assert rule.price >= 0
    assert math.isfinite(rule.price)
    assert rule.dead_zone == 0
    assert size(rows, rule) <= 2**21


def test_the_paper_study_as_measured() -> None:
    rule = vote_rule(1000, 7, 6, 1.0)
    assert (rule.blocks, rule.partitions, rule.threshold) == (114, 25, 476)
    assert (rule.ridge, rule.price) == (pytest.approx(0.0816, abs=1e-4), pytest.approx(0.3712, abs=1e-4))


def test_ridge_is_for_small_blocks_alone_and_fades() -> None:
    assert ridge_for(7.0, 7) * (6 / 7) ** 4 == pytest.approx(0.0975)
    assert 0 < ridge_for(13.9, 7) < 0.001
    assert ridge_for(14.0, 7) == 0 == vote_rule(20_000, 7, 6, 0.5).ridge


def test_blocks_have_more_rows_than_columns_as_soon_as_they_can() -> None:
    sizes = [wanted_size(share * 10, 10) for share in (0.2, 0.8, 1.5, 3.0, 10.0, 1000.0)]
    assert sizes == sorted(sizes)
    assert sizes[:2] == [pytest.approx(2 / math.sqrt(1.4)), pytest.approx(0.8 * 10 / math.sqrt(2.6), rel=0.05)]
    assert sizes[2] == pytest.approx(11.5, rel=0.05)
    assert sizes[-2:] == [pytest.approx(100 / math.sqrt(21)), pytest.approx(10_000 / math.sqrt(2001))]
    assert vote_rule(3, 2, 1, 1e-300).blocks == 1
    assert vote_rule(10**10, 2, 1, 1e300).blocks > 1


def test_company_raises_the_threshold_of_small_blocks_alone() -> None:
    few, many = vote_rule(8_000, 101, 100, 1.0), vote_rule(200_000, 101, 100, 1.0)
    assert share(few) == pytest.approx(0.4, abs=0.001)
    assert share(many) < 0.2


def test_sums_fit_in_memory() -> None:
    for rows, columns in ((5_000, 101), (10**6, 201), (10**8, 60), (10**10, 14)):
        rule = vote_rule(rows, columns, columns - 1, 1.0)
        assert rule.blocks * rule.partitions * (columns + 1) * (columns + 2) // 2 * 25 <= 400_000_000


def test_long_tables_have_larger_blocks_less_ridge_and_fewer_partitions() -> None:
    rules = [vote_rule(rows, 14, 13, 1.0) for rows in (1_000, 10_000, 100_000, 10**6, 10**7)]
    sizes = [size(rows, rule) for rows, rule in zip((1_000, 10_000, 100_000, 10**6, 10**7), rules, strict=True)]
    assert sizes == sorted(sizes)
    assert [rule.ridge for rule in rules] == sorted((rule.ridge for rule in rules), reverse=True)
    assert [rule.partitions for rule in rules] == [25, 8, 3, 2, 2]


def test_the_threshold_is_above_chance_where_epsilon_is_large() -> None:
    for rows in (300, 1_000, 30_000):
        rule = vote_rule(rows, 7, 6, 100.0)
        assert share(rule) >= 0.99 * math.sqrt(math.log(rows)) * spread(rows, 7, rule.blocks, rule.partitions)


def test_a_term_is_dearer_among_many() -> None:
    prices, nats = zip(*(expected_nats(terms) for terms in (1, 2, 6, 14, 100, 1_000)), strict=True)
    assert prices[:2] == (pytest.approx(0.0), pytest.approx(math.log(1 / 1)))
    assert list(prices) == sorted(prices)
    assert list(nats) == sorted(nats)
    assert nats[1] == pytest.approx(2 * math.log(2))


@pytest.mark.parametrize(
    "facts",
    [(0, 2, 1, 1.0), (10, 0, 1, 1.0), (10, 2, 0, 1.0), (10, 2, 1, 0.0), (10, 2, 1, math.nan), (10, 2, 1, math.inf)],
)
def test_facts_that_cannot_be_are_refused(facts: tuple[int, int, int, float]) -> None:
    with pytest.raises(AssumptionError):
        vote_rule(*facts)


def test_a_choice_that_cannot_tell_terms_apart_takes_few_of_them() -> None:
    plain, _ = expected_nats(6)
    assert vote_rule(1000, 7, 6, 1.0).price == plain
    assert vote_rule(60, 7, 6, 0.35).price > plain + 1
    assert vote_rule(60, 7, 6, 0.01).price < plain + 4
