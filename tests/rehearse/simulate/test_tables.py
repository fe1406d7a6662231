import numpy as np
import pytest

from dpselect.rehearse.simulate.settings import FIRST, Setting
from dpselect.rehearse.simulate.tables import clipped_products, sizes_of, spread, unclipped_products

SMALL = Setting("small", 20, (1.0, 0.0))


def summary(X, y, noise):
    return float(X.sum()), float(y.sum()), float(noise.random())


def test_results_are_the_same_whatever_the_number_of_workers():
    alone = spread(SMALL, 60, summary, seed=5, jobs=1)
    assert spread(SMALL, 60, summary, seed=5, jobs=2) == alone
    assert spread(SMALL, 30, summary, seed=5) == alone[:30]
    assert spread(SMALL, 3, summary, seed=6) != alone[:3]


def test_tables_differ_from_each_other_and_from_their_noise():
    seen = spread(SMALL, 50, summary)
    assert len(set(seen)) == 50
    assert len({noise for _, _, noise in seen}) == 50


def test_products_are_those_of_the_clipped_centred_response():
    X, y = np.array([[1.0], [-0.5]]), np.array([7.0, 2.0])
    assert clipped_products(X, y, 1.0, 5.0).tolist() == [[1.25, 2.5], [2.5, 5.0]]  # responses 2 and -1
    products, largest = unclipped_products(X, y)
    assert largest == 7
    assert products[1, 1] == pytest.approx(53)


def test_sizes_count_the_columns_of_each_mask():
    assert sizes_of(3).tolist() == [0, 1, 1, 2, 1, 2, 2, 3]
    assert FIRST.truth == np.flatnonzero(sizes_of(6) == 3)[0]
