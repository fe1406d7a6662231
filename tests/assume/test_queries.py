"""How a query holds what is asked with it: on a grid that its sensitivity is proved for."""

import numpy as np
import pytest

from dpselect.assume.queries import MAX_COLUMN_SUM, center_of, rows_of


@pytest.mark.parametrize("held_as", [rows_of, lambda matrix: [center_of(column) for column in matrix]])
def test_entries_are_the_nearest_multiples_of_two_to_minus_sixteen(held_as):
    matrix = np.random.default_rng(4).normal(size=(40, 40))
    held = np.array(held_as(matrix))
    assert (held * 2**16 == np.floor(held * 2**16)).all()
    assert 0.9 < np.abs(held - matrix).max() * 2**17 <= 1  # half a step, and no finer grid


def test_no_column_has_more_than_its_sum_may_be():
    held = np.array(rows_of([[1e9, 1.0], [-1e9, 2.0], [3.0, 4.0]]))
    assert np.abs(held).sum(axis=0).max() <= MAX_COLUMN_SUM == 2.0**16
    assert held[:, 1].tolist() == [1, 2, 4] and held[2, 0] == 3  # what is sane is untouched
