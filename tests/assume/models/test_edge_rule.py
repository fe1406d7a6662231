"""The public rule of edge votes: what it says, where it gives way, and that it is a function of public facts alone."""

import math

import numpy as np
import pytest

from benchmarks.null import beside_rare_causes, expected_idle
from dpselect import Numeric, Study, StudyError
from dpselect.assume import edge_rule as module
from dpselect.assume.candidates import CandidateList, SubsetRule, Subsets, candidates_for
from dpselect.assume.edge_rule import (
    EdgeRule,
    all_sets,
    clear_edge_directions,
    edge_rule,
    edge_rule_for,
    equal_blocks,
    listed_sets,
)
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, edge_range
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.vote_rule import VoteRule, expected_nats

GOOD = {"blocks": (5, 4), "ridges": (0.0, 0.1), "thresholds": (64, 80), "partitions": 2, "price": 0.5}


def study_of(columns, **stated):
    return Study(Numeric("y"), [Numeric(f"x{j}") for j in range(columns)], **stated)


@pytest.mark.parametrize(
    "wrong",
    [
        {"blocks": (5,)},
        {"blocks": (), "ridges": (), "thresholds": ()},
        {"blocks": (0, 4)},
        {"thresholds": (64, 2**31)},
        {"partitions": 0},
        {"ridges": (0.0, -0.1)},
        {"ridges": (0.0, math.nan)},
        {"price": 1.1e6},
    ],
)
def test_a_rule_that_cannot_be_is_refused(wrong):
    with pytest.raises(StudyError, match="rule for edge votes"):
        EdgeRule(**{**GOOD, **wrong})
    rule = EdgeRule(**GOOD)
    assert EdgeRule.from_dict(rule.to_dict()) == rule
    assert (rule.top, rule.range) == (1, edge_range(2))


@pytest.mark.parametrize("wrong", [(0, 3, 3, 1.0), (9, 0, 3, 1.0), (9, 3, 0, 1.0), (9, 3, 3, 0.0), (9, 3, 3, math.inf)])
def test_there_is_no_rule_for_nothing(wrong):
    with pytest.raises(StudyError):
        edge_rule(*wrong)


def test_blocks_grow_with_the_table_and_with_what_they_fit():
    """Like its root at least: what is left of a vote's bias falls with the block, and the bar with the table."""
    sizes = {rows: rows / edge_rule(rows, 8, 8, 1.0).blocks[4] for rows in (1000, 4000, 16_000, 64_000, 256_000)}
    for rows, longer in ((4000, 16_000), (16_000, 64_000), (64_000, 256_000)):
        assert sizes[longer] / sizes[rows] > 1.8
    blocks = edge_rule(5000, 16, 8, 1.0).blocks
    assert list(blocks) == sorted(blocks, reverse=True) and blocks[0] > blocks[-1]
    assert edge_rule(5000, 8, 8, 1.0, forced=3).blocks[0] < edge_rule(5000, 8, 8, 1.0).blocks[0]


def test_thresholds_are_above_chance_and_above_the_blur():
    for rows, epsilon in ((500, 1.0), (5000, 0.35), (50_000, 1.0)):
        rule = edge_rule(rows, 6, 6, epsilon)
        for blocks, bar in zip(rule.blocks, rule.thresholds, strict=True):
            votes = bar / WHOLE_VOTE / rule.partitions
            assert votes > 0.5 * math.sqrt(math.log(rows) * blocks / rule.partitions)
            assert votes > 2 * expected_nats(6)[1] / epsilon
    assert max(edge_rule(1000, 6, 6, 1e-9).thresholds) == 2**31 - 1


def test_by_itself_a_column_is_held_to_a_higher_bar_in_long_tables():
    """From three terms on: one that stands in for others needs two that it stands in for."""
    longer = edge_rule(20_000, 8, 8, 1.0)
    plain = 1.05 * math.sqrt(math.log(20_000))
    spread = module.idle_deviation(longer.blocks[0], 20_000 / longer.blocks[0], 2, longer.partitions)
    assert longer.thresholds[0] / (WHOLE_VOTE * longer.partitions) >= 1.3 * plain * spread * 0.999
    assert module._alone(2000, 8) == module._alone(20_000, 2) == 1.0 < module._alone(3000, 8) < module._alone(5000, 3)


def test_a_companion_does_not_stand_in_for_effects_that_are_too_weak():
    """With the same bar for all sets about half an idle column is selected here, in place of three rare effects."""
    tables = [beside_rare_causes(0.14)(np.random.default_rng([77, seed]), 20_000) for seed in range(2)]
    assert np.mean([expected_idle(table, 1.0) for table in tables]) < 0.05


def test_a_ridge_fades_as_blocks_have_rows_to_spare(monkeypatch):
    """Whole up to 1.5 rows for each column that is fitted, half at 1.8, none from 2.1 on. Where rows are dear, thrice as much."""
    nats = expected_nats(6)[1]

    def spared(affordable, a_column):
        monkeypatch.setattr(module, "rows_a_column", lambda affordable: a_column)
        monkeypatch.setattr(module, "_sizes", lambda rows, fitted, affordable: [20.0] * len(fitted))
        return edge_rule(round(affordable * 8 * (nats + 1)), 6, 6, 1.0).ridges[3] * 20 * (1 - 1 / 20) ** 16

    assert [spared(50, each) for each in (1.0, 1.5, 1.8, 2.1, 3.0)] == pytest.approx([2.25, 2.25, 2.25 / 2, 0, 0])
    dearest = [spared(affordable, 1.0) for affordable in (5, 7.9, 9, 10.1)]
    assert dearest == pytest.approx([7.5, 7.5, (7.5 + 2.25) / 2, 2.25], rel=0.02)  # rows are whole numbers


def test_where_a_long_table_buys_few_nats_chance_is_held_against_a_higher_bar():
    """By .12 of itself at a low price; where ten nats are bought, and in short tables, as it is."""
    for rows, epsilon, higher in ((20_000, 0.2, 1.12), (20_000, 1.0, 1.0), (2000, 1.0, 1.0)):
        rule = edge_rule(rows, 3, 3, epsilon)
        spread = module.idle_deviation(rule.blocks[1], rows / rule.blocks[1], 2 + 1, rule.partitions)
        votes = rule.thresholds[1] / (WHOLE_VOTE * rule.partitions)
        assert votes == pytest.approx(higher * module.against_chance(rows, spread), rel=1e-3)


def test_many_terms_in_a_long_table_and_what_would_take_too_long_go_to_whole_models(monkeypatch):
    assert edge_rule(1000, 12, 12, 1.0).top == 12
    assert 2 <= edge_rule(1000, 14, 14, 1.0).top < 14
    assert edge_rule(100_000, 14, 14, 1.0) is None
    assert edge_rule(1000, 17, 17, 1.0) is None
    monkeypatch.setattr(module, "MAX_WORK", 1e3)
    assert edge_rule(1000, 12, 12, 1.0) is None


def test_sums_fit_into_memory(monkeypatch):
    usual = edge_rule(50_000, 10, 10, 1.0)
    monkeypatch.setattr(module, "BYTES_FOR_SUMS", 4_000_000)
    small = edge_rule(50_000, 10, 10, 1.0)
    assert small.partitions <= usual.partitions and sum(small.blocks) < sum(usual.blocks)


def test_a_study_has_the_rule_of_its_terms_and_gives_way_where_no_block_could_centre():
    study = study_of(4)
    models = candidates_for(study)
    assert edge_rule_for(study, models, 1000, 1.0) == edge_rule(1000, 4, 4, 1.0)
    assert (
        edge_rule_for(study_of(4, intercept="candidate"), candidates_for(study_of(4, intercept="candidate")), 1000, 1.0)
        is None
    )
    forced = candidates_for(study, Subsets(always=("x0",)))
    assert edge_rule_for(study, forced, 1000, 1.0) == edge_rule(1000, 3, 3, 1.0, forced=1)
    only = candidates_for(study, Subsets(always=("x0", "x1", "x2", "x3")))
    assert edge_rule_for(study, only, 1000, 1.0) is None
    many = study_of(14)
    assert edge_rule_for(many, candidates_for(many, Subsets(at_least=13)), 1000, 1.0) is None
    assert isinstance(make_recipe(many, Choice(candidates=Subsets(at_least=13)), rows=1000, epsilon=1).votes, VoteRule)


def test_sets_are_listed_by_size_and_those_that_compete_found():
    assert all_sets(3, 2) == (0, 1, 2, 4, 3, 5, 6)
    rule = edge_rule(1000, 3, 3, 1.0)
    assert listed_sets(SubsetRule(4, (2, 4, 8), 1, at_least=2), rule) == [4, 5, 6, 7]
    assert listed_sets(CandidateList(4, (0b0001, 0b0011, 0b1111, 0b0101)), rule) == [0, 1, 2, 7]


def test_blocks_are_equal_as_long_as_their_labels_fit():
    rule = edge_rule(1000, 4, 4, 1.0)
    assert equal_blocks(rule, 1000) and not equal_blocks(rule, 10**7)


def test_directions_are_told_where_they_cost_nothing():
    for rows, epsilon, told in ((300, 1.0, False), (2000, 0.35, False), (2000, 1.0, True), (20_000, 0.35, True)):
        rule = edge_rule(rows, 6, 6, epsilon)
        nats = expected_nats(6)[1] + math.sqrt(6) * math.log(2)
        ratio = epsilon * rule.thresholds[2] / (rule.range * nats)  # beside sqrt(6) others
        assert clear_edge_directions(rule, (1,) * 6, epsilon) == told == (ratio >= 0.85)
    assert not clear_edge_directions(EdgeRule(**GOOD), (), 1.0)


def test_a_table_grows_long_from_2000_to_5000_rows():
    assert [module._longness(rows) for rows in (20, 2000, 5000, 10**6)] == pytest.approx([0, 0, 1, 1])
    assert module._longness(3162) == pytest.approx(0.5, abs=1e-4)  # their geometric mean
    assert (module._alone(5000, 2), module._alone(5000, 3)) == pytest.approx((1, 1.6))


@pytest.mark.parametrize(("columns", "terms", "forced"), [(2, 3, 0), (4, 2, -1)])
def test_there_is_no_rule_for_what_cannot_be(columns, terms, forced):
    with pytest.raises(StudyError, match="There is no rule for"):
        edge_rule(1000, columns, terms, 1.0, forced=forced)
