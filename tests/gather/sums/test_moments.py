import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Numeric
from dpselect.errors import DataError
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import gather_table

ASSUMPTIONS = Assumptions(Numeric("y", -1, 1), [Numeric("a", -1, 1), Numeric("b", 0, 5)])


def table(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.random.default_rng(seed).normal(size=(rows, 3))
    return values[:, :2], values[:, 2]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 999))
def test_adding_tables_is_stacking_rows(first, second, seed):
    (xa, ya), (xb, yb) = table(first, seed), table(second, seed + 1)
    pooled = gather_table((xa, ya), ASSUMPTIONS) + gather_table((xb, yb), ASSUMPTIONS)
    stacked = gather_table((np.vstack([xa, xb]), np.append(ya, yb)), ASSUMPTIONS)
    assert pooled.integers() == stacked.integers()


def test_integers_are_python_integers_and_symmetric():
    n, xtx, xty, yty = gather_table(table(50, 1), ASSUMPTIONS).integers()
    assert {type(value) for row in xtx for value in row} | {type(v) for v in xty} | {type(yty), type(n)} == {int}
    assert xtx == [list(row) for row in zip(*xtx, strict=True)]


def test_moments_under_different_assumptions_do_not_mix():
    other = Assumptions(Numeric("y", -1, 1), [Numeric("a", -1, 1), Numeric("b", 0, 6)])
    mine, theirs = gather_table(table(5, 1), ASSUMPTIONS), gather_table(table(5, 1), other)
    with pytest.raises(DataError, match="different assumptions"):
        mine + theirs
    with pytest.raises(DataError, match="other assumptions"):
        gather_table(mine, other)
    assert gather_table(mine, ASSUMPTIONS) is mine


def test_pooling_stops_at_the_most_rows_that_the_error_bounds_cover():
    half = Moments(2**31 + 1, np.zeros((1, 1), dtype=object), (), "hash")
    with pytest.raises(DataError, match="4,294,967,296 rows"):
        half + half


def test_only_moments_can_be_added():
    with pytest.raises(TypeError):
        gather_table(table(5, 1), ASSUMPTIONS) + 1


def test_scaled_products_are_the_integers_over_two_to_the_forty():
    moments = gather_table(table(50, 1), ASSUMPTIONS)
    exact = [[int(value) / 2**40 for value in row] for row in moments.products]
    assert (moments.scaled() == np.array(exact)).all()


def test_they_print_as_private():
    assert repr(gather_table(table(50, 1), ASSUMPTIONS)) == "Moments(columns=3, values=<private>)"
