"""Votes of blocks: right, the same from C and NumPy, and each block's own affair."""

from fractions import Fraction

import numpy as np
import pytest

from dpselect.gather.sums import block_numpy
from dpselect.gather.sums.block_numpy import LOWEST, SLICES
from dpselect.gather.sums.blocks import BinnedSums, BlockSums, WholeSums
from dpselect.minimize import votes as module
from dpselect.minimize.votes import _lanes, block_votes, count_votes
from dpselect.minimize.votes_numpy import _centred, _square

compiled = pytest.mark.skipif(module._votes is None, reason="the C kernel was not built here")
BACKENDS = [pytest.param("c", marks=compiled), "numpy"]
GRID = 2**20
NOTHING = {"dead_zone": 0.0, "ridge": 0.0}


def sums_of(rows, ids, blocks, *, whole, intercept="always"):
    """Block sums of rows (x, y) in one partition."""
    width = rows.shape[1]
    shape = (1, blocks, (width + 1) * (width + 2) // 2)
    starts, order = block_numpy.sort_rows(np.asarray(ids, dtype=np.uint32), blocks)
    if whole:
        sums = WholeSums(np.zeros(shape, dtype=np.int64))
        block_numpy.add_whole(rows.astype(np.int32), order, starts, sums.table[0], 0, blocks)
    else:
        sums = BinnedSums(np.full(shape, LOWEST, dtype=np.int8), np.zeros((1, blocks, SLICES, shape[2])))
        block_numpy.add_binned(rows.astype(float), order, starts, sums.tops[0], sums.slices[0], 0, blocks)
    names = tuple(f"x{j}" for j in range(width - 1))
    names = names if intercept == "none" else ("intercept", *names)
    return BlockSums(sums, len(rows), 1, blocks, names, intercept, "hash")


def table(seed, rows, columns, *, whole, dummies=True):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (rows, columns))
    if dummies and columns > 1:
        x[:, -1] = rng.random(rows) < 0.05
    y = x @ rng.normal(size=columns) * 0.2 + rng.normal(size=rows) * 0.2 if columns else rng.normal(size=rows) * 0.2
    together = np.column_stack([x, np.clip(y, -1, 1)])
    return np.round(together * GRID) if whole else together * 10.0 ** rng.integers(-3, 6, columns + 1)


def plain_votes(rows, ridge, dead_zone, intercept):
    """One block's votes by textbook formulas and NumPy's inverse."""
    x, y = rows[:, :-1].astype(float), rows[:, -1].astype(float)
    means = x.mean(axis=0), y.mean()
    if intercept != "none":
        x, y = x - means[0], y - means[1]
    size = np.sqrt((x**2).sum(axis=0))
    live = size > 1e-9 * np.abs(rows[:, :-1]).max(axis=0, initial=1e-300)
    z = np.where(live, x / np.where(live, size, 1), 0)
    share = ((z[:, live].T @ y) ** 2).mean() / (y @ y) if live.any() else 0.0
    inverse = np.linalg.inv(z.T @ z + (ridge * (1 - share) ** 4 + 1e-9) * np.eye(len(size)))
    b, hat = inverse @ (z.T @ y), inverse @ z.T @ z
    freedom = max(len(y) - (intercept != "none") - np.trace(2 * hat - hat @ hat.T), 0.3)
    variance = ((y - z @ b) ** 2).sum() / freedom
    statistic = np.where(live, b / np.sqrt(variance * np.maximum(np.diag(hat @ inverse), 1e-300)), 0)
    if intercept == "always":
        statistic = np.append(0, statistic)
    if intercept == "candidate":
        scaled = means[0] / np.where(live, size, np.inf)
        factor = 1 / len(y) + scaled @ hat @ inverse @ scaled
        statistic = np.append((means[1] - scaled @ b) / np.sqrt(variance * factor), statistic)
    return (statistic > dead_zone).astype(int) - (statistic < -dead_zone)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("intercept", ["always", "candidate", "none"])
@pytest.mark.parametrize(("ridge", "dead_zone"), [(0, 0), (0, 0.5), (0.1, 0), (0.2, 1.0), (0.05, 2.0)])
def test_votes_are_those_of_least_squares(backend, whole, intercept, ridge, dead_zone):
    rows = table(4, 1200, 5, whole=whole)
    ids = np.random.default_rng(1).integers(0, 60, 1200)
    votes = block_votes(
        sums_of(rows, ids, 60, whole=whole, intercept=intercept), dead_zone=dead_zone, ridge=ridge, backend=backend
    )
    expected = [plain_votes(rows[ids == block], ridge, dead_zone, intercept) for block in range(60)]
    np.testing.assert_array_equal(votes[0], expected)


@compiled
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("intercept", ["always", "candidate", "none"])
@pytest.mark.parametrize("columns", [0, 1, 2, 3, 5, 8, 13, 24])
def test_twins_agree_on_every_vote(columns, whole, intercept):
    if columns == 0 and intercept == "none":
        return
    rng = np.random.default_rng(columns)
    rows = table(columns, 500, columns, whole=whole)
    for blocks in (1, 6, 50, 130):  # far too few rows for the columns among them
        sums = sums_of(rows, rng.integers(0, blocks, 500), blocks, whole=whole, intercept=intercept)
        for dead_zone in (0.0, 0.5, 2.0):
            for ridge in (0.0, 0.1):
                one, other = (
                    block_votes(sums, dead_zone=dead_zone, ridge=ridge, backend=each) for each in ("c", "numpy")
                )
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("backend", BACKENDS)
def test_counts_are_those_of_the_blocks(backend):
    rows = table(2, 900, 4, whole=True)
    sums = sums_of(rows, np.arange(900) % 30, 30, whole=True)
    votes = block_votes(sums, dead_zone=0.3, ridge=0.0, backend=backend)
    counted = count_votes(sums, dead_zone=0.3, ridge=0.0, backend=backend)
    np.testing.assert_array_equal(counted.above, (votes == 1).sum(axis=(0, 1)))
    np.testing.assert_array_equal(counted.below, (votes == -1).sum(axis=(0, 1)))
    assert counted.above[0] == counted.below[0] == 0 and counted.above.max() > 20
    assert "private" in repr(counted)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("whole", [True, False])
def test_a_block_does_not_see_the_others(backend, whole):
    """Each block alone votes as it does among the others, in whichever lane, batch and thread it is."""
    rows = table(6, 700, 6, whole=whole)
    ids = np.random.default_rng(0).integers(0, 37, 700)
    sums = sums_of(rows, ids, 37, whole=whole)
    together = block_votes(sums, dead_zone=0.5, ridge=0.01, backend=backend)[0]
    threads = block_votes(sums, dead_zone=0.5, ridge=0.01, backend=backend, threads=3)[0]
    np.testing.assert_array_equal(threads, together)
    for block in range(37):
        alone = sums_of(rows[ids == block], np.zeros((ids == block).sum()), 1, whole=whole)
        np.testing.assert_array_equal(
            block_votes(alone, dead_zone=0.5, ridge=0.01, backend=backend)[0, 0], together[block]
        )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("whole", [True, False])
def test_a_block_that_cannot_be_fitted_abstains(backend, whole):
    rows = table(3, 60, 3, whole=whole, dummies=False)
    ids = np.repeat([0, 2, 3], [1, 29, 30])  # one row; none; all rows alike; an ordinary block
    rows[1:30] = rows[1]
    votes = block_votes(sums_of(rows, ids, 4, whole=whole), **NOTHING, backend=backend)[0]
    assert not votes[:3].any() and votes[3, 1:].all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", [GRID, 1, 0])
def test_a_constant_column_abstains_and_the_others_do_not(backend, value):
    rows = table(3, 40, 3, whole=True, dummies=False)
    rows[:, 1] = value
    votes = block_votes(sums_of(rows, np.zeros(40), 1, whole=True), **NOTHING, backend=backend)[0, 0]
    assert votes[2] == 0 and votes[1] and votes[3]
    rows = rows / 7e3
    votes = block_votes(sums_of(rows, np.zeros(40), 1, whole=False), **NOTHING, backend=backend)[0, 0]
    assert votes[2] == 0 and votes[1] and votes[3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_constant_response_gets_no_votes(backend):
    rows = table(3, 40, 3, whole=True)
    rows[:, -1] = 17
    assert not block_votes(sums_of(rows, np.zeros(40), 1, whole=True), **NOTHING, backend=backend).any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("offset", [2000.0, 1.7e9, 1e6])
def test_years_and_timestamps_do_not_cancel(backend, offset):
    rng = np.random.default_rng(8)
    spread = 1e7 if offset > 1e8 else 1.0
    moved = rng.normal(size=(400, 1)) * spread
    y = moved[:, 0] / spread * 0.5 + rng.normal(size=400)
    ids = np.arange(400) % 8
    near, far = (np.column_stack([moved + by, y]) for by in (0.0, offset))
    expected = block_votes(sums_of(near, ids, 8, whole=False), dead_zone=1.0, ridge=0.0, backend=backend)
    found = block_votes(sums_of(far, ids, 8, whole=False), dead_zone=1.0, ridge=0.0, backend=backend)
    np.testing.assert_array_equal(found, expected)
    assert expected.any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_units_do_not_matter(backend):
    rows = table(5, 300, 4, whole=False, dummies=False)
    ids = np.arange(300) % 10
    expected = block_votes(sums_of(rows, ids, 10, whole=False), dead_zone=0.5, ridge=0.1, backend=backend)
    for factor in (1e-60, 1e60):
        scaled = rows * np.array([factor, 1, 1 / factor, 1, factor])
        found = block_votes(sums_of(scaled, ids, 10, whole=False), dead_zone=0.5, ridge=0.1, backend=backend)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_columns_that_say_the_same_share_it_and_the_others_vote(backend):
    rng = np.random.default_rng(0)
    rows = table(5, 60, 4, whole=True, dummies=False)
    rows[:, 0] = np.where(rng.random(60) < 0.5, GRID, 0)
    rows[:, 1] = GRID - rows[:, 0]  # two levels, and none of the reference in this block
    rows[:, 4] = rows[:, 0] // 2 - GRID // 4 + rows[:, 2] // 4 + rng.integers(-1000, 1000, 60)
    votes = block_votes(sums_of(rows, np.zeros(60), 1, whole=True), dead_zone=0.5, ridge=0.0, backend=backend)[0, 0]
    assert votes[[1, 2, 3]].tolist() == [1, -1, 1]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("count", [2**22 + 1, 2**40, -5])
def test_a_block_that_is_too_long_abstains_whatever_its_sums_are(backend, count):
    sums = sums_of(table(3, 60, 3, whole=True), np.arange(60) % 2, 2, whole=True)
    usual = block_votes(sums, **NOTHING, backend=backend)[0]
    sums.sums.table[0, 0, 0] = count
    sums.sums.table[0, 0, 1:] = np.iinfo(np.int64).max
    votes = block_votes(sums, **NOTHING, backend=backend)[0]
    assert not votes[0].any()
    np.testing.assert_array_equal(votes[1], usual[1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, 1e308])
def test_strange_sums_raise_nothing_and_stay_in_their_block(backend, strange):
    sums = sums_of(table(3, 80, 3, whole=False), np.arange(80) % 4, 4, whole=False)
    usual = block_votes(sums, dead_zone=0.5, ridge=0.1, backend=backend)[0]
    sums.sums.slices[0, 1, :, 3:] = strange
    votes = block_votes(sums, dead_zone=0.5, ridge=0.1, backend=backend)[0]
    np.testing.assert_array_equal(votes[[0, 2, 3]], usual[[0, 2, 3]])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_block_with_one_row_too_many_abstains(backend):
    """Sums of the same rows over and over: the statistics would be as they were, but no longer exact."""
    sums = sums_of(table(3, 64, 3, whole=True, dummies=False), np.zeros(64), 1, whole=True)
    sums.sums.table[:] *= 2**16
    assert block_votes(sums, **NOTHING, backend=backend)[0, 0, 1:].all()
    sums.sums.table[0, 0, 0] += 1
    assert not block_votes(sums, **NOTHING, backend=backend).any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("sign", [-1, 1])
def test_one_step_in_thousands_of_rows_is_seen(backend, sign):
    """Sums of squares near 2^52, of which centring leaves less than one."""
    rows = np.full((5000, 2), GRID)
    rows[:, 1] = np.random.default_rng(1).integers(-1000, 1001, 5000)
    rows[77] = GRID - 1, -sign * GRID
    votes = block_votes(sums_of(rows, np.zeros(5000), 1, whole=True), dead_zone=2.0, ridge=0.0, backend=backend)
    assert votes[0, 0].tolist() == [0, sign]


@pytest.mark.parametrize("seed", range(5))
def test_centring_loses_nothing_that_is_left(seed):
    """Against fractions: of sums near 2^52 about a few hundred are left, and all their digits are right."""
    rows = GRID - np.random.default_rng(seed).integers(0, 2, (5000, 3))
    sums = sums_of(rows, np.zeros(5000), 1, whole=True)
    high, low = (_square(each, 4) for each in _lanes(sums.sums.table[0]))
    _, centred = _centred(high, low, high[0, 0])
    exact = [[Fraction(int(value)) for value in line] for line in np.column_stack([np.ones(5000, int), rows]).T]
    for j in range(3):
        for k in range(j, 3):
            both = sum(int(a) * int(b) for a, b in zip(rows[:, j], rows[:, k], strict=True))
            expected = both - sum(exact[j + 1]) * sum(exact[k + 1]) / 5000
            assert abs(Fraction(float(centred[j, k, 0])) - expected) <= abs(expected) / 2**50
