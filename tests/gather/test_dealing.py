"""Blocks are drawn alike for every row, afresh for every call, and together for a person."""

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.errors import DataError
from dpselect.gather.dealing import NOWHERE, PersonAssigner, RowAssigner, Thinned, fresh_assigner, spread, weight_shares

pytestmark = pytest.mark.real_chance

FALSE_ALARM = 1e-6
ROWS = 200_000


def p_value(blocks, count):
    return chisquare(np.bincount(blocks, minlength=count)).pvalue


@pytest.mark.parametrize("count", [2, 7, 100, 1021])
def test_rows_are_spread_evenly_over_the_blocks(count):
    for own in RowAssigner(count, 3).draw({}, ROWS):
        assert p_value(own, count) > FALSE_ALARM


@pytest.mark.parametrize("count", [2, 7, 100])
def test_persons_are_spread_evenly_over_the_blocks(count):
    drawn = PersonAssigner(count, 2, "who").draw({"who": np.arange(ROWS // 4)}, ROWS // 4)
    for own in drawn:
        assert p_value(own, count) > FALSE_ALARM


def test_a_draw_that_favours_a_block_by_a_tenth_would_be_caught():
    words = np.random.default_rng(1).integers(0, 2**32, ROWS, dtype=np.uint32)
    assert p_value(spread(words, 7), 7) > FALSE_ALARM
    words[: ROWS // 70] = 0
    assert p_value(spread(words, 7), 7) < FALSE_ALARM


def test_partitions_do_not_repeat_each_other():
    first, second = RowAssigner(10, 2).draw({}, ROWS)
    assert chisquare(np.bincount(10 * first + second, minlength=100)).pvalue > FALSE_ALARM
    first, second = PersonAssigner(10, 2, "who").draw({"who": np.arange(ROWS // 4)}, ROWS // 4)
    assert chisquare(np.bincount(10 * first + second, minlength=100)).pvalue > FALSE_ALARM


def test_a_place_in_the_table_says_nothing_about_the_block():
    assigner = RowAssigner(2, 1)
    same = sum((assigner.draw({}, 1000) == assigner.draw({}, 1000)).sum() for _ in range(100))
    assert abs(same - 50_000) < 6 * np.sqrt(25_000)  # as often as chance has it: a billionth to be farther off


def test_a_words_block_is_its_share_of_all_words():
    words = np.array([0, 2**32 - 1, 2**31, 2**31 - 1], dtype=np.uint32)
    assert spread(words, 2).tolist() == [0, 1, 1, 0]
    assert spread(words, 2**31 - 1).max() == 2**31 - 2


@pytest.mark.parametrize("partitions", [1, 16, 17, 40])
def test_rows_of_a_person_meet_from_every_batch_and_type(partitions):
    assigner = PersonAssigner(50, partitions, "who")
    numbers = assigner.draw({"who": np.array([17, 4, 17, 9])}, 4)
    assert numbers.shape == (partitions, 4)
    assert (numbers[:, 0] == numbers[:, 2]).all()
    texts = assigner.draw({"who": np.array(["9", "17"], dtype=object)}, 2)
    assert (texts == numbers[:, [3, 0]]).all()


def test_another_release_draws_again():
    persons = {"who": np.arange(1000)}
    first, second = (fresh_assigner(study(person="who"), 50, 1).draw(persons, 1000) for _ in range(2))
    assert 1 < (first == second).sum() < 80  # 20 expected; outside less than once in a billion


def test_nothing_is_printed():
    assert "key" not in repr(PersonAssigner(3, 1, "who")) and "who" not in repr(PersonAssigner(3, 1, "who"))
    assert isinstance(fresh_assigner(study(), 3, 1), RowAssigner)
    weighted = fresh_assigner(study(weights="w", weight_limit=2, population=10), 3, 1)
    assert isinstance(weighted, Thinned) and repr(weighted) == "Thinned(<private>)"


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0, 7.9, 8.0, 9.0])
def test_a_row_takes_part_as_often_as_its_weight_over_the_limit(weight):
    """And blocks and partitions know nothing of it; each of the tests fails once in a million."""
    drawn = fresh_assigner(study(weights="w", weight_limit=8, population=10), 7, 3).draw(
        {"w": np.full(ROWS, weight)}, ROWS
    )
    inside = drawn != NOWHERE
    chance = min(weight / 8, 1)
    for own, part in zip(drawn, inside, strict=True):
        assert binomtest(int(part.sum()), ROWS, chance).pvalue > FALSE_ALARM
        assert chance == 0 or p_value(own[part], 7) > FALSE_ALARM
    if 0 < chance < 1:
        both = binomtest(int((inside[0] & inside[1]).sum()), ROWS, chance**2)
        assert both.pvalue > FALSE_ALARM  # a new thinning in each partition


def test_a_share_is_its_rows_own_number():
    weights = np.array([0.0, -0.0, 1e-300, 2.5, 5.0, 10.0, 10.0000001, 1e308, np.nan, -1.0, np.inf, -np.inf])
    shares = weight_shares(weights, 10.0, "zero-row", "w")
    assert shares.tolist() == [0, 0, 0, 2**30, 2**31, 2**32, 2**32, 2**32, 0, 0, 0, 0]
    alone = [weight_shares(weights[i : i + 1], 10.0, "zero-row", "w")[0] for i in range(len(weights))]
    assert alone == shares.tolist()
    assert weight_shares(np.array([1.0]), 3.0, "error", "w").tolist() == [round(2**32 / 3)]


@pytest.mark.parametrize("bad", [np.nan, -1e-9, np.inf, -np.inf])
def test_an_unusable_weight_is_refused_like_any_missing_cell_by_the_column_alone(bad):
    with pytest.raises(DataError, match="The weights 'w' have missing, negative or infinite values") as told:
        weight_shares(np.array([4.0, bad]), 10.0, "error", "w")
    assert "4" not in str(told.value)


def test_rows_of_a_cluster_go_together_whatever_the_person():
    stated = study(person="who", cluster="psu", neighbors="add-remove-one", rows=100)
    cells = {"who": np.arange(100), "psu": np.arange(100) // 10}
    drawn = fresh_assigner(stated, 1000, 2).draw(cells, 100).reshape(2, 10, 10)
    assert (drawn == drawn[:, :, :1]).all()
    assert len(np.unique(drawn[0, :, 0])) > 5


def study(**stated):
    return Study(Numeric("y"), [Numeric("x")], **stated)


def test_more_rows_than_were_counted_are_refused():
    """Rows that came last would be dealt by another law: one row could push another across that line (exact ratio 1.29 epsilon)."""
    from dpselect.gather.dealing import EqualAssigner

    dealt = EqualAssigner(2, 3, 8)
    assert dealt.draw({}, 8).shape == (3, 8)
    with pytest.raises(DataError, match="more rows now than when they were counted"):
        dealt.draw({}, 1)


def test_a_stated_number_of_rows_makes_no_equal_blocks():
    """It may be wrong, and must then cost accuracy and never privacy."""
    import dpselect
    from dpselect.assume.edge_rule import edge_rule
    from dpselect.gather.blocks import edge_families

    rule, predictors = edge_rule(500, 2, 2, 1.0), [dpselect.Numeric("a"), dpselect.Numeric("b")]
    for stated, expected in ((None, 500), (500, None)):
        families = edge_families(dpselect.Study(dpselect.Numeric("y"), predictors, rows=stated), rule, 500)
        assert {each._equal_rows for each in families._each} == {expected}
