from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.assume.study import Study
from dpselect.assume.variables import GRID, Numeric
from dpselect.errors import DataError
from dpselect.gather.grid import MAX_CHUNK_ROWS
from dpselect.gather.moments import MAX_CHUNKS, Moments, MomentSummary
from dpselect.gather.rows import gather
from dpselect.gather.summary import add_all

STUDY_STATED = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1), Numeric("b", 0, 5)])


def table(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.random.default_rng(seed).normal(size=(rows, 3))
    return values[:, :2], values[:, 2]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 999))
def test_adding_tables_is_stacking_rows(first, second, seed):
    (xa, ya), (xb, yb) = table(first, seed), table(second, seed + 1)
    pooled = gather((xa, ya), STUDY_STATED) + gather((xb, yb), STUDY_STATED)
    stacked = gather((np.vstack([xa, xb]), np.append(ya, yb)), STUDY_STATED)
    assert pooled.integers() == stacked.integers()


def test_integers_are_python_integers_and_symmetric():
    n, xtx, xty, yty = gather(table(50, 1), STUDY_STATED).integers()
    assert {type(value) for row in xtx for value in row} | {type(v) for v in xty} | {type(yty), type(n)} == {int}
    assert xtx == [list(row) for row in zip(*xtx, strict=True)]


def test_moments_under_different_assumptions_do_not_mix():
    other = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1), Numeric("b", 0, 6)])
    mine, theirs = gather(table(5, 1), STUDY_STATED), gather(table(5, 1), other)
    with pytest.raises(DataError, match="different assumptions"):
        mine + theirs
    with pytest.raises(DataError, match="other assumptions"):
        gather(mine, other)
    assert gather(mine, STUDY_STATED) is mine


def test_pooling_stops_at_the_most_rows_that_the_error_bounds_cover():
    half = Moments(2**31 + 1, np.zeros((1, 1), dtype=object), (), "hash")
    with pytest.raises(DataError, match="4,294,967,296 rows"):
        half + half


def test_only_moments_can_be_added():
    with pytest.raises(TypeError):
        gather(table(5, 1), STUDY_STATED) + 1


def test_scaled_products_are_the_integers_over_two_to_the_forty():
    moments = gather(table(50, 1), STUDY_STATED)
    exact = [[int(value) / 2**40 for value in row] for row in moments.products]
    assert (moments.scaled() == np.array(exact)).all()


def test_they_print_as_private():
    assert repr(gather(table(50, 1), STUDY_STATED)) == "Moments(columns=3, values=<private>)"


PLAIN = Study(Numeric("y", -1, 1), [Numeric("x", -1, 1)])


def added(batches, study=PLAIN):
    summary = MomentSummary(study)
    add_all(batches, study, summary)
    return summary.result()


def test_sums_beyond_64_bits_are_exact():
    # Every product is the largest there is, and there are more of them than a double or an int64 can add up.
    chunks = 2 * MAX_CHUNKS + 1
    ones = np.ones(MAX_CHUNK_ROWS)
    moments = added([{"x": ones, "y": -ones}] * chunks)
    total = chunks * MAX_CHUNK_ROWS * GRID**2
    assert total > 2**63
    assert moments.integers() == (chunks * MAX_CHUNK_ROWS, [[total] * 2] * 2, [-total] * 2, total)


@given(st.lists(st.integers(0, 3 * MAX_CHUNK_ROWS), min_size=1, max_size=5), st.integers(0, 2**31))
def test_batches_of_any_length_give_the_same_integers(cuts, seed):
    values = np.random.default_rng(seed).normal(size=(2, 3 * MAX_CHUNK_ROWS + 17))
    places = [0, *sorted(cuts), values.shape[1]]
    parts = [{"x": values[0, start:stop], "y": values[1, start:stop]} for start, stop in pairwise(places)]
    assert added(parts).integers() == added([{"x": values[0], "y": values[1]}]).integers()


def test_an_empty_table_is_refused_where_n_is_public_and_allowed_where_it_is_not():
    with pytest.raises(DataError, match="no rows"):
        added([])
    private = Study(PLAIN.response, PLAIN.predictors, neighbors="add-remove-one")
    assert added([], private).integers() == (0, [[0, 0], [0, 0]], [0, 0], 0)


def test_it_prints_nothing_private():
    summary = MomentSummary(PLAIN)
    add_all([{"x": np.array([0.25]), "y": np.array([0.5])}], PLAIN, summary)
    assert repr(summary) == "MomentSummary(values=<private>)"
