"""Blocks are drawn alike for every row, afresh for every call, and together for a person."""

import numpy as np
import pytest
from scipy.stats import chisquare

from dpselect.gather.dealing import PersonAssigner, RowAssigner, fresh_assigner, spread

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
    first, second = (fresh_assigner(50, 1, "who").draw(persons, 1000) for _ in range(2))
    assert 1 < (first == second).sum() < 80  # 20 expected; outside less than once in a billion


def test_nothing_is_printed():
    assert "key" not in repr(PersonAssigner(3, 1, "who")) and "who" not in repr(PersonAssigner(3, 1, "who"))
    assert isinstance(fresh_assigner(3, 1, None), RowAssigner)
