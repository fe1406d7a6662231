"""The public rule of block votes: numbers for any stated facts, in the shapes that were measured."""

import itertools
import math

import pytest
from msgspec.structs import replace

from dpselect.assume import vote_rule as module
from dpselect.assume.lemmas.sensitivity import margin_range
from dpselect.assume.vote_rule import (
    VoteRule,
    clear_directions,
    expected_nats,
    ridge_for,
    spread,
    threshold_share,
    vote_rule,
    wanted_size,
)
from dpselect.errors import StudyError


def size(rows: int, rule: VoteRule) -> float:
    return rows / rule.blocks


def share(rule: VoteRule) -> float:
    return rule.threshold_share


@pytest.mark.parametrize(
    ("rows", "columns", "terms", "epsilon"),
    list(itertools.product((1, 2, 7, 252, 36_337, 10**7, 10**10), (1, 2, 15, 201), (1, 2, 14, 200), (1e-4, 0.35, 1e4))),
)
def test_there_is_a_rule_for_any_facts(rows: int, columns: int, terms: int, epsilon: float) -> None:
    rule = vote_rule(rows, columns, terms, epsilon)
    assert 1 <= rule.blocks <= max(rows, 1)
    assert 2 <= rule.partitions <= 32
    assert 0 <= rule.ridge <= 2.4
    assert rule.threshold == 1 or 0 < rule.threshold_share <= 0.45
    assert rule.price >= 0
    assert math.isfinite(rule.price)
    assert size(rows, rule) <= 2**21


def test_the_paper_study_as_measured() -> None:
    rule = vote_rule(1000, 7, 6, 1.0)
    assert (rule.blocks, rule.partitions, rule.threshold) == (114, 25, 30_442)
    assert (rule.ridge, rule.price) == (pytest.approx(0.0816, abs=1e-4), pytest.approx(0.3712, abs=1e-4))


def test_ridge_is_for_small_blocks_alone_and_fades() -> None:
    assert ridge_for(7.0, 7) * (6 / 7) ** 4 == pytest.approx(0.0975)
    assert ridge_for(5.0, 50) * (4 / 5) ** 4 == pytest.approx(0.3)
    assert 0 < ridge_for(13.9, 7) < 0.001
    assert ridge_for(14.0, 7) == 0 == vote_rule(20_000, 7, 6, 0.5).ridge


def test_blocks_have_more_rows_than_columns_as_soon_as_they_can() -> None:
    sizes = [wanted_size(share * 10, 10) for share in (0.2, 0.8, 1.5, 3.0, 10.0, 1000.0)]
    assert sizes == sorted(sizes)
    assert sizes[:2] == [pytest.approx(2 / math.sqrt(1.4)), pytest.approx(0.8 * 10 / math.sqrt(2.6), rel=0.05)]
    assert sizes[2] == pytest.approx(7.5 + 4 / (1 + (1.15 / 1.5) ** 10)) == pytest.approx(11.24, abs=0.01)
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
    with pytest.raises(StudyError):
        vote_rule(*facts)


def test_a_choice_that_cannot_tell_terms_apart_takes_few_of_them() -> None:
    plain, _ = expected_nats(6)
    assert vote_rule(1000, 7, 6, 1.0).price == plain
    assert vote_rule(60, 7, 6, 0.35).price > plain + 1
    assert vote_rule(60, 7, 6, 0.01).price < plain + 4


def test_what_is_short_of_the_threshold_is_paid_by_the_terms_that_are_expected() -> None:
    for terms, few in ((2, 1.0), (3, 1.5), (6, math.sqrt(6))):
        rule = vote_rule(40, 7, terms, 0.2)
        price, nats = expected_nats(terms)
        shape = (40, 7, rule.blocks, rule.partitions, nats)
        share, short = threshold_share(*shape, 0.2)
        assert share == 0.4 and short > 0 and rule.price == pytest.approx(price + short / few)
        # A vote more or less in the mean is worth half of epsilon times the blocks, whatever the noise adds.
        votes = 0.4 - spread(*shape[:4]) / 2
        assert threshold_share(*shape, 0.1)[1] - short == pytest.approx(votes * rule.blocks * (0.2 - 0.1) / 2)
        # What the noise adds to it: three times the nats and 0.9, over epsilon times the blocks.
        assert short == pytest.approx((3 * shape[4] + 0.9) / 2 - votes * rule.blocks * 0.2 / 2)


def test_blocks_are_not_smaller_than_two_and_a_half_rows_and_some_are_as_small() -> None:
    assert vote_rule(100, 50, 49, 0.01).blocks == 40
    assert vote_rule(100, 50, 49, 0.01, smallest=10).blocks == 10


def test_memory_is_saved_by_partitions_first_and_none_is_left_unused(monkeypatch: pytest.MonkeyPatch) -> None:
    tight = vote_rule(5_000, 101, 100, 1.0)
    much = vote_rule(10**6, 201, 200, 1.0)
    for rule, columns in ((tight, 101), (much, 201)):
        used = rule.blocks * rule.partitions * (columns + 1) * (columns + 2) // 2 * 25
        assert 0.8 * 400_000_000 < used <= 400_000_000
    monkeypatch.setattr(module, "BYTES_FOR_SUMS", 10**15)
    free = vote_rule(5_000, 101, 100, 1.0)
    assert free.blocks == tight.blocks and free.partitions > tight.partitions > 2
    assert vote_rule(10**6, 201, 200, 1.0).blocks > much.blocks and much.partitions == 2


GOOD = {"blocks": 10, "partitions": 2, "ridge": 0.1, "threshold": 5, "price": 1.0}


@pytest.mark.parametrize(
    "wrong",
    [
        *({name: value} for name in ("blocks", "partitions", "threshold") for value in (0, -1, True, 1.5, "1", 2**31)),
        *({name: value} for name in ("ridge", "price") for value in (-0.1, math.nan, 1.1e6, True, "1")),
        {"statistic": 3},
        {"statistic": None},
    ],
)
def test_a_rule_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    """Rules come from reports too, which anybody may have edited."""
    with pytest.raises(StudyError, match="of a rule for votes"):
        VoteRule(**{**GOOD, **wrong})
    assert VoteRule(**GOOD).to_dict() == {"blocks_fit": "all terms", **GOOD}
    assert VoteRule(**GOOD, statistic="signs of X'y").to_dict() == {
        "blocks_fit": "all terms",
        **GOOD,
        "statistic": "signs of X'y",
    }


@pytest.mark.parametrize(
    ("rows", "epsilon", "told"), [(36_337, 1.0, True), (36_337, 0.05, False), (1000, 1.0, False), (4000, 5.0, True)]
)
def test_directions_are_told_where_they_cost_nothing(rows: int, epsilon: float, told: bool) -> None:
    rule = vote_rule(rows, 13, 12, epsilon)
    nats, few = expected_nats(12)[1], math.sqrt(12)
    ratio = epsilon * rule.threshold / (margin_range(rule.partitions) * (nats + few * math.log(2)))
    assert clear_directions(rule, (1,) * 12, epsilon) == told == (ratio >= 0.85)


def test_more_columns_a_term_ask_for_a_higher_threshold() -> None:
    rule = vote_rule(9000, 13, 12, 1.0)
    highest = [
        next(t for t in range(1, 10**5) if clear_directions(replace(rule, threshold=t), (width,) * 12, 1.0))
        for width in (1, 2, 8)
    ]
    assert highest == sorted(set(highest))
    assert not clear_directions(rule, (), 1.0)
