"""Sums of blocks are exact: the same numbers from C and NumPy, in any order, cut and merged in any way."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpselect.gather import block_numpy, blocks
from dpselect.gather.block_numpy import BINNED_CUBES, CUBE_UNIT, LOWEST, SLICES, WHOLE_CUBES
from dpselect.gather.blocks import BinnedSums, WholeSums, count_numbers

try:
    from dpselect.gather import _blocks
except ImportError:
    _blocks = None

compiled = pytest.mark.skipif(_blocks is None, reason="the C kernel was not built here")
TWINS = [pytest.param(_blocks, marks=compiled), block_numpy]
LARGEST = 2**20


def whole_rows(rng, rows, width):
    values = rng.integers(-LARGEST, LARGEST + 1, (rows, width))
    values[rng.random(values.shape) < 0.2] = LARGEST
    return values.astype(np.int32)


def open_rows(rng, rows, width):
    """From 1e-75 to 1e75 in one column, as they come in others, and zeros."""
    values = rng.normal(size=(rows, width)) * 10.0 ** rng.integers(-3, 4, (rows, width))
    values[:, 0] = rng.choice([-1.0, 1.0], rows) * 10.0 ** rng.uniform(-75, 75, rows)
    values[rng.random(values.shape) < 0.1] = 0
    return values


def add(twin, rows, ids, blocks, sums, cuts=1):
    starts, order = block_numpy.sort_rows(ids, blocks)
    name, tables = (
        ("add_whole", (sums.table[0],))
        if isinstance(sums, WholeSums)
        else ("add_binned", (sums.tops[0], sums.slices[0]))
    )
    edges = [blocks * i // cuts for i in range(cuts + 1)]
    for first, last in pairwise(edges):
        getattr(twin, name)(rows, order, starts, *tables, first, last)
    return sums


def empty(blocks, width, *, whole):
    shape = (1, blocks, count_numbers(width + 1, WHOLE_CUBES if whole else BINNED_CUBES))
    if whole:
        return WholeSums(np.zeros(shape, dtype=np.int64))
    return BinnedSums(np.full(shape, LOWEST, dtype=np.int8), np.zeros((1, blocks, SLICES, shape[2])))


def assert_same(left, right):
    for name in left.__slots__:
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))


@compiled
def test_rows_are_sorted_alike():
    ids = np.random.default_rng(0).integers(0, 30, 500).astype(np.uint32)
    for twin, mine in zip(blocks.sort_rows(ids, 30), block_numpy.sort_rows(ids, 30), strict=True):
        np.testing.assert_array_equal(twin, mine)


@compiled
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8, 13, 30])
@pytest.mark.parametrize("blocks", [1, 7, 200])
def test_twins_agree_to_the_last_bit(width, blocks, whole):
    rng = np.random.default_rng(width + blocks)
    rows = (whole_rows if whole else open_rows)(rng, 300, width)
    ids = rng.integers(0, blocks, 300).astype(np.uint32)
    left, right = (add(twin, rows, ids, blocks, empty(blocks, width, whole=whole)) for twin in (_blocks, block_numpy))
    assert_same(left, right)


@pytest.mark.parametrize("twin", TWINS)
def test_whole_sums_are_those_of_pythons_integers(twin):
    rng = np.random.default_rng(3)
    rows = whole_rows(rng, 5000, 3)
    ids = rng.integers(0, 2, 5000).astype(np.uint32)
    sums = add(twin, rows, ids, 2, empty(2, 3, whole=True))
    for block in range(2):
        own = np.column_stack([np.ones(5000, int), rows])[ids == block].astype(object)
        found = sums.table[0, block].tolist()
        assert found[:10] == (own.T @ own)[np.triu_indices(4)].tolist()
        cubes = [CUBE_UNIT * coarse + rest for coarse, rest in zip(found[10:13], found[13:], strict=True)]
        assert cubes == (own**3).sum(axis=0)[1:].tolist()


def bin_slices(product):
    """A product's whole multiples of each bin's unit, from above, as fractions: halves go to the even multiple."""
    rest, found = Fraction(float(product)), {}
    for place in range(23, -27, -1):
        unit = Fraction(2) ** (32 * place)
        found[place] = round(rest / unit) * unit
        rest -= found[place]
    return found


@pytest.mark.parametrize("twin", TWINS)
def test_binned_sums_are_those_of_fractions(twin):
    """Brute force: the slices of every product in every bin, of which the three from the highest that is not empty are kept."""
    rows = open_rows(np.random.default_rng(5), 40, 2)
    rows[:4, 1] = [2.0**31, 2.0**31 * (1 + 2**-50), -(2.0**-1), 3.0]
    sums = add(twin, rows, np.zeros(40, dtype=np.uint32), 1, empty(1, 2, whole=False))
    z = np.column_stack([np.ones(40), rows])
    terms = [z[:, j] * z[:, k] for j, k in zip(*np.triu_indices(3), strict=True)]
    for number, values in enumerate([*terms, *(rows * rows * rows).T]):
        slices = [bin_slices(value) for value in values]
        top = max(place for each in slices for place, value in each.items() if value)
        assert sums.tops[0, 0, number] == top
        expected = [sum(each[top - s] for each in slices) for s in range(SLICES)]
        assert [Fraction(float(value)) for value in sums.slices[0, 0, :, number]] == expected


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("place", [-20, -3, -1, 0, 1, 2, 7])
def test_half_the_next_units_size_is_still_in_a_bin(twin, place):
    for value, top in ((2.0**31, place), (2.0**31 * (1 + 2**-52), place + 1), (-(2.0**31), place), (0.0, LOWEST)):
        rows = np.array([[value * 2.0 ** (32 * place)]])
        sums = add(twin, rows, np.zeros(1, dtype=np.uint32), 1, empty(1, 1, whole=False))
        assert sums.tops[0, 0].tolist()[:2] == [0, top]
        assert sums.slices[0, 0, :, 1].sum() == rows[0, 0]


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("whole", [True, False])
def test_order_cuts_and_merging_change_nothing(twin, whole):
    rng = np.random.default_rng(11)
    rows, ids = (whole_rows if whole else open_rows)(rng, 400, 4), rng.integers(0, 5, 400).astype(np.uint32)
    once = add(twin, rows, ids, 5, empty(5, 4, whole=whole))
    for _ in range(5):
        order = rng.permutation(400)
        cut = rng.integers(0, 401)
        pieces = [order[:cut], order[cut:]]
        assert_same(once, add(twin, rows[order], ids[order], 5, empty(5, 4, whole=whole), cuts=3))
        parts = [add(twin, rows[piece], ids[piece], 5, empty(5, 4, whole=whole)) for piece in pieces]
        assert_same(once, parts[0] + parts[1])
        assert_same(once, parts[1] + parts[0])
        grown = empty(5, 4, whole=whole)
        for piece in pieces:
            add(twin, rows[piece], ids[piece], 5, grown)
        assert_same(once, grown)


@pytest.mark.parametrize("twin", TWINS)
def test_what_is_dropped_is_small(twin):
    rows = np.random.default_rng(2).normal(size=(1000, 1)) + 1e6
    sums = add(twin, rows, np.zeros(1000, dtype=np.uint32), 1, empty(1, 1, whole=False))
    exact = sum(Fraction(float(value)) for value in (rows * rows)[:, 0])
    found = sum(Fraction(float(value)) for value in sums.slices[0, 0, :, 2])
    assert abs(found - exact) <= 1000 * Fraction(float((rows**2).max())) / 2**64


@compiled
def test_a_long_block_is_summed_in_pieces():
    rows = np.full((10_000, 2), LARGEST, dtype=np.int32)
    sums = add(_blocks, rows, np.zeros(10_000, dtype=np.uint32), 1, empty(1, 2, whole=True))
    products = (1, 2**20, 2**20, 2**40, 2**40, 2**40)
    assert sums.table[0, 0].tolist() == [10_000 * value for value in (*products, 2**40, 2**40, 0, 0)]


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("rows", [1, 3, 4, 4096, 5001])
def test_cubes_of_whole_numbers_lose_no_digit(twin, rows):
    """60 bits each: of narrow columns far from the middle, where nearly all of a cube cancels, too."""
    rng = np.random.default_rng(rows)
    values = np.column_stack([LARGEST - rng.integers(0, 3, rows), rng.integers(-LARGEST, LARGEST + 1, rows)])
    sums = add(twin, values.astype(np.int32), np.zeros(rows, dtype=np.uint32), 1, empty(1, 2, whole=True))
    coarse, rests = sums.table[0, 0, 6:8].tolist(), sums.table[0, 0, 8:].tolist()
    for column, high, low in zip(values.T, coarse, rests, strict=True):
        assert CUBE_UNIT * high + low == sum(int(value) ** 3 for value in column)


@compiled
def test_arrays_that_do_not_fit_are_refused():
    rows, order, starts = np.zeros((4, 2), np.int32), np.arange(4, dtype=np.uint32), np.array([0, 4], np.uint32)
    table = np.zeros((1, 10), np.int64)
    _blocks.add_whole(rows, order, starts, table, 0, 1)
    wrong = [
        (rows.astype(np.int64), order, starts, table, 0, 1),
        (rows, order + np.uint32(1), starts, table, 0, 1),
        (rows, order, np.array([0, 5], np.uint32), table, 0, 1),
        (rows, order, np.array([3, 1], np.uint32), table, 0, 1),
        (rows, order, starts, table[:, :9].copy(), 0, 1),
        (rows, order, starts, table, 0, 2),
        (rows, order, starts, table, -1, 1),
    ]
    for arguments in wrong:
        with pytest.raises(ValueError, match="do not fit"):
            _blocks.add_whole(*arguments)
    with pytest.raises(ValueError, match="out of range"):
        _blocks.sort_rows(np.array([1], np.uint32), np.zeros(2, np.uint32), np.zeros(1, np.uint32))
