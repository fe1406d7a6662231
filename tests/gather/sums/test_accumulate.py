from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import GRID, Numeric
from dpselect.errors import DataError
from dpselect.gather.sums.accumulate import CHUNK, CHUNKS_AT_ONCE, Accumulator

PLAIN = Assumptions(Numeric("y", -1, 1), [Numeric("x", -1, 1)])


def test_sums_beyond_64_bits_are_exact():
    # Every product is the largest there is, and there are more of them than a double or an int64 can add up.
    chunks = 2 * CHUNKS_AT_ONCE + 1
    accumulator = Accumulator(PLAIN)
    ones = np.ones(CHUNK)
    for _ in range(chunks):
        accumulator.add({"x": ones, "y": -ones})
    total = chunks * CHUNK * GRID**2
    assert total > 2**63
    assert accumulator.moments().integers() == (chunks * CHUNK, [[total] * 2] * 2, [-total] * 2, total)


@given(st.lists(st.integers(0, 3 * CHUNK), min_size=1, max_size=5), st.integers(0, 2**31))
def test_batches_of_any_length_give_the_same_integers(cuts, seed):
    values = np.random.default_rng(seed).normal(size=(2, 3 * CHUNK + 17))
    whole, parts = Accumulator(PLAIN), Accumulator(PLAIN)
    whole.add({"x": values[0], "y": values[1]})
    places = [0, *sorted(cuts), values.shape[1]]
    for start, stop in pairwise(places):
        parts.add({"x": values[0, start:stop], "y": values[1, start:stop]})
    assert parts.moments().integers() == whole.moments().integers()


def test_an_empty_table_is_refused_where_n_is_public_and_allowed_where_it_is_not():
    with pytest.raises(DataError, match="no rows"):
        Accumulator(PLAIN).moments()
    private = Assumptions(PLAIN.response, PLAIN.predictors, neighbors="add-remove-one")
    assert Accumulator(private).moments().integers() == (0, [[0, 0], [0, 0]], [0, 0], 0)


def test_it_prints_nothing_private():
    accumulator = Accumulator(PLAIN)
    accumulator.add({"x": np.array([0.25]), "y": np.array([0.5])})
    assert repr(accumulator) == "Accumulator(values=<private>)"
