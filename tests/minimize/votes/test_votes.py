"""Votes of blocks: right, the same from C and NumPy, and each block's own affair."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpselect.gather import block_numpy
from dpselect.gather.block_numpy import BINNED_CUBES, LOWEST, SLICES, WHOLE_CUBES
from dpselect.gather.blocks import BinnedSums, BlockSums, WholeSums, count_numbers, lanes_of
from dpselect.minimize.votes import votes as module
from dpselect.minimize.votes.lanes import _about, mean_of_idle
from dpselect.minimize.votes.votes import block_votes, count_votes

compiled = pytest.mark.skipif(module._votes is None, reason="the C kernel was not built here")
BACKENDS = [pytest.param("c", marks=compiled), "numpy"]
GRID = 2**20


def sums_of(rows, ids, blocks, *, whole, intercept="always"):
    """Block sums of rows (x, y) in one partition."""
    width = rows.shape[1]
    shape = (1, blocks, count_numbers(width + 1, WHOLE_CUBES if whole else BINNED_CUBES))
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


def skewed(seed, rows, columns, *, whole):
    """Rare dummies, long tails and normal columns; the response is rare, or has a long tail."""
    rng = np.random.default_rng(seed)
    x = [
        rng.normal(size=rows)
        if j % 3 == 0
        else np.exp(rng.normal(size=rows))
        if j % 3 == 1
        else rng.random(rows) < 0.15
        for j in range(columns)
    ]
    y = np.exp(rng.normal(size=rows)) if seed % 2 else (rng.random(rows) < 0.2)
    together = np.column_stack([*x, y]).astype(float)
    together[:, -1] += 0.3 * together[:, 0]
    return np.round(together / np.abs(together).max(axis=0) * GRID) if whole else together


def plain_votes(rows, ridge, intercept):
    """One block's votes by textbook formulas, NumPy's inverse and its exponential."""
    x, y = rows[:, :-1].astype(float), rows[:, -1].astype(float)
    n, centred = len(y), intercept != "none"
    means = (x.mean(axis=0), y.mean()) if n else (0, 0)
    if centred:
        x, y = x - means[0], y - means[1]
    if n < 1 + centred or not y @ y > 1e-18 * (rows[:, -1] @ rows[:, -1]):
        return np.zeros(x.shape[1] + centred, int)
    size = np.sqrt((x**2).sum(axis=0))
    live = size > 1e-9 * np.abs(rows[:, :-1]).max(axis=0, initial=1e-300)
    z, u = np.where(live, x / np.where(live, size, 1), 0), y / np.sqrt(y @ y)
    cross, d = z.T @ u, live.sum()
    own = ridge * (1 - (cross @ cross) / max(d, 1)) ** 4 + 1e-6
    inverse = np.linalg.inv(z.T @ z + own * np.eye(len(size)))
    b, noise = inverse @ cross, np.diag(inverse @ z.T @ z @ inverse)
    base = n - centred
    explained = b @ cross
    theta = max(0.0, 1 - (1 - explained) * base / (base - d)) if base - d >= 1 else 0.0
    residual = u - theta * z @ b
    variance = max(residual @ residual, 1e-18) / max(base - theta * d, 0.5)
    statistic = np.where(live, b / np.sqrt(np.where(live, noise, 1) * variance), 0)
    gamma, gamma_y = (z**3).sum(axis=0), (u**3).sum()
    weights = z @ inverse  # of the responses, for each coefficient
    alike = (weights * z).sum(axis=0) ** 2 / np.where(live, (weights**2).sum(axis=0), 1)
    share = np.clip(np.maximum(alike, 1 - d / n), 0, 1)
    kappa = 1.4 * gamma * gamma_y * share**1.5 * (n * np.sqrt(base) / (base - 1) if base > 1 else 0)
    c = 1.5 * np.minimum(1, np.abs(kappa))
    mu = -0.133 * kappa * np.exp(-(c**2) / 2) * (1 + 0.6 * kappa**2 / (1 + kappa**2)) / (1 + kappa**2 * c**1.4 / 8.76)
    soft = (np.clip(statistic / np.maximum(c, 0.02), -1, 1) - mu) / (1 + np.abs(mu))
    votes = np.where(live, np.where(c < 0.02, np.sign(b), soft), 0)
    if intercept == "always":
        votes = np.append(0, votes)
    if intercept == "candidate":
        scaled = means[0] / np.where(live, size, np.inf)
        votes = np.append(np.sign(means[1] / np.sqrt(y @ y) - scaled @ b), votes)
    return np.rint(64 * votes).astype(int)


def settings():
    """All; without the thorough ones a third, in which every two of three values meet in tables of both kinds."""
    intercepts, ridges, blocks = ["always", "candidate", "none"], [0, 0.1, 0.3], [20, 60, 200, 400]  # 60, 20, 6, 3 rows
    for (i, intercept), (j, ridge), (k, count) in product(enumerate(intercepts), enumerate(ridges), enumerate(blocks)):
        if count == 400 and ridge == 0:
            continue  # a block of fewer rows than columns has a ridge
        for make, whole in product([table, skewed], [True, False]):
            marks = () if (i + j + k + whole) % 3 == 0 else pytest.mark.thorough
            name = f"{make.__name__}-{count}-{ridge}-{intercept}-{whole}"
            yield pytest.param(make, count, ridge, intercept, whole, marks=marks, id=name)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("make", "blocks", "ridge", "intercept", "whole"), list(settings()))
def test_votes_are_as_the_formulas_say(backend, whole, intercept, ridge, blocks, make):
    rows = make(4, 1200, 5, whole=whole)
    ids = np.random.default_rng(1).integers(0, blocks, 1200)
    votes = block_votes(sums_of(rows, ids, blocks, whole=whole, intercept=intercept), ridge=ridge, backend=backend)
    expected = np.array([plain_votes(rows[ids == block], ridge, intercept) for block in range(blocks)])
    # Where a coefficient is zero but for rounding, its sign is anything's guess; and halves of a 64th are.
    different = votes[0] != expected
    assert different.mean() < 0.002
    if make is skewed:
        assert len(np.unique(votes[0])) > 20


@compiled
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("intercept", ["always", "candidate", "none"])
@pytest.mark.parametrize("columns", [0, 1, 2, 3, 5, 8, 13, 24])
def test_twins_agree_on_every_vote(columns, whole, intercept):
    if columns == 0 and intercept == "none":
        return
    rng = np.random.default_rng(columns)
    for rows in (table(columns, 500, columns, whole=whole), skewed(columns, 500, max(columns, 1), whole=whole)):
        for blocks in (1, 6, 50, 130):  # far too few rows for the columns among them
            sums = sums_of(rows, rng.integers(0, blocks, 500), blocks, whole=whole, intercept=intercept)
            for ridge in (0.0, 0.1):
                one, other = (block_votes(sums, ridge=ridge, backend=each) for each in ("c", "numpy"))
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("backend", BACKENDS)
def test_leads_are_the_sums_of_votes(backend):
    rows = table(2, 900, 4, whole=True)
    sums = sums_of(rows, np.arange(900) % 30, 30, whole=True)
    votes = block_votes(sums, ridge=0.0, backend=backend)
    counted = count_votes(sums, ridge=0.0, backend=backend)
    assert counted.leads.tolist() == votes.astype(int).sum(axis=(0, 1)).tolist()
    assert counted.leads[0] == 0 and np.abs(counted.leads).max() > 20 * 64
    assert "private" in repr(counted)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("whole", [True, False])
def test_a_block_does_not_see_the_others(backend, whole):
    """Each block alone votes as it does among the others, in whichever lane, batch and thread it is."""
    rows = skewed(6, 700, 6, whole=whole)
    ids = np.random.default_rng(0).integers(0, 37, 700)
    sums = sums_of(rows, ids, 37, whole=whole)
    together = block_votes(sums, ridge=0.01, backend=backend)[0]
    threads = block_votes(sums, ridge=0.01, backend=backend, threads=3)[0]
    np.testing.assert_array_equal(threads, together)
    for block in range(37):
        alone = sums_of(rows[ids == block], np.zeros((ids == block).sum()), 1, whole=whole)
        np.testing.assert_array_equal(block_votes(alone, ridge=0.01, backend=backend)[0, 0], together[block])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("whole", [True, False])
def test_a_block_that_cannot_be_fitted_abstains(backend, whole):
    rows = table(3, 60, 3, whole=whole, dummies=False)
    ids = np.repeat([0, 2, 3], [1, 29, 30])  # one row; none; all rows alike; an ordinary block
    rows[1:30] = rows[1]
    votes = block_votes(sums_of(rows, ids, 4, whole=whole), ridge=0.0, backend=backend)[0]
    assert not votes[:3].any() and votes[3, 1:].all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", [GRID, 1, 0])
def test_a_constant_column_abstains_and_the_others_do_not(backend, value):
    rows = table(3, 40, 3, whole=True, dummies=False)
    rows[:, 1] = value
    votes = block_votes(sums_of(rows, np.zeros(40), 1, whole=True), ridge=0.0, backend=backend)[0, 0]
    assert votes[2] == 0 and votes[1] and votes[3]
    rows = rows / 7e3
    votes = block_votes(sums_of(rows, np.zeros(40), 1, whole=False), ridge=0.0, backend=backend)[0, 0]
    assert votes[2] == 0 and votes[1] and votes[3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_constant_response_gets_no_votes(backend):
    rows = table(3, 40, 3, whole=True)
    rows[:, -1] = 17
    assert not block_votes(sums_of(rows, np.zeros(40), 1, whole=True), ridge=0.0, backend=backend).any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("offset", [2000.0, 1.7e9, 1e5, 1e6])
def test_years_and_timestamps_do_not_cancel(backend, offset):
    rng = np.random.default_rng(8)
    spread = 1e7 if offset > 1e8 else 1.0
    moved = rng.normal(size=(400, 1)) * spread
    y = moved[:, 0] / spread * 0.5 + rng.normal(size=400)
    ids = np.arange(400) % 8
    near, far = (np.column_stack([moved + by, y]) for by in (0.0, offset))
    expected = block_votes(sums_of(near, ids, 8, whole=False), ridge=0.0, backend=backend)
    found = block_votes(sums_of(far, ids, 8, whole=False), ridge=0.0, backend=backend)
    if offset == 1e6:  # of the cubes no digit is left, and votes are softer than they might be
        assert (np.sign(found) == np.sign(expected)).all() and np.abs(found - expected).max() < 16
    else:
        np.testing.assert_array_equal(found, expected)
    assert expected.any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_units_do_not_matter(backend):
    rows = table(5, 300, 4, whole=False, dummies=False)
    ids = np.arange(300) % 10
    expected = block_votes(sums_of(rows, ids, 10, whole=False), ridge=0.1, backend=backend)
    for factor in (1e-60, 1e60):
        scaled = rows * np.array([factor, 1, 1 / factor, 1, factor])
        found = block_votes(sums_of(scaled, ids, 10, whole=False), ridge=0.1, backend=backend)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_columns_that_say_the_same_share_it_and_the_others_vote(backend):
    rng = np.random.default_rng(0)
    rows = table(5, 60, 4, whole=True, dummies=False)
    rows[:, 0] = np.where(rng.random(60) < 0.5, GRID, 0)
    rows[:, 1] = GRID - rows[:, 0]  # two levels, and none of the reference in this block
    rows[:, 4] = rows[:, 0] // 2 - GRID // 4 + rows[:, 2] // 4 + rng.integers(-1000, 1000, 60)
    votes = block_votes(sums_of(rows, np.zeros(60), 1, whole=True), ridge=0.0, backend=backend)[0, 0]
    assert votes[1] > 32 and votes[2] < -32 and votes[3] == 64


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("count", [2**22 + 1, 2**40, -5])
def test_a_block_that_is_too_long_abstains_whatever_its_sums_are(backend, count):
    sums = sums_of(table(3, 60, 3, whole=True), np.arange(60) % 2, 2, whole=True)
    usual = block_votes(sums, ridge=0.0, backend=backend)[0]
    sums.sums.table[0, 0, 0] = count
    sums.sums.table[0, 0, 1:] = np.iinfo(np.int64).max
    votes = block_votes(sums, ridge=0.0, backend=backend)[0]
    assert not votes[0].any()
    np.testing.assert_array_equal(votes[1], usual[1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, 1e308])
def test_strange_sums_raise_nothing_and_stay_in_their_block(backend, strange):
    sums = sums_of(table(3, 80, 3, whole=False), np.arange(80) % 4, 4, whole=False)
    usual = block_votes(sums, ridge=0.1, backend=backend)[0]
    sums.sums.slices[0, 1, :, 3:] = strange
    votes = block_votes(sums, ridge=0.1, backend=backend)[0]
    np.testing.assert_array_equal(votes[[0, 2, 3]], usual[[0, 2, 3]])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_block_with_one_row_too_many_abstains(backend):
    """Sums of the same rows over and over: the statistics would be as they were, but no longer exact."""
    sums = sums_of(table(3, 64, 3, whole=True, dummies=False), np.zeros(64), 1, whole=True)
    sums.sums.table[:] *= 2**16
    assert block_votes(sums, ridge=0.0, backend=backend)[0, 0, 1:].all()
    sums.sums.table[0, 0, 0] += 1
    assert not block_votes(sums, ridge=0.0, backend=backend).any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("sign", [-1, 1])
def test_one_step_in_thousands_of_rows_is_seen(backend, sign):
    """Sums of squares near 2^52, of which centring leaves less than one."""
    rows = np.full((5000, 2), GRID)
    rows[:, 1] = np.random.default_rng(1).integers(-1000, 1001, 5000)
    rows[77] = GRID - 1, -sign * GRID
    votes = block_votes(sums_of(rows, np.zeros(5000), 1, whole=True), ridge=0.0, backend=backend)
    assert votes[0, 0, 1] * sign > 32


@pytest.mark.parametrize("seed", range(5))
def test_centring_loses_nothing_that_is_left(seed):
    """Against fractions: of sums near 2^52 about a few hundred are left, and all their digits are right."""
    rows = GRID - np.random.default_rng(seed).integers(0, 2, (5000, 3))
    sums = sums_of(rows, np.zeros(5000), 1, whole=True)
    high, low = lanes_of(sums.sums.table[0], 4)
    _, centred, thirds = _about(high, low, 4, high[0], centred=True)
    exact = [[Fraction(int(value)) for value in line] for line in np.column_stack([np.ones(5000, int), rows]).T]
    for j in range(3):
        for k in range(j, 3):
            both = sum(int(a) * int(b) for a, b in zip(rows[:, j], rows[:, k], strict=True))
            expected = both - sum(exact[j + 1]) * sum(exact[k + 1]) / 5000
            assert abs(Fraction(float(centred[j, k, 0])) - expected) <= abs(expected) / 2**50
        mean = sum(exact[j + 1]) / 5000
        third = sum((value - mean) ** 3 for value in exact[j + 1])
        assert abs(Fraction(float(thirds[j, 0])) - third) <= abs(third) / 2**20


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("whole", [True, False])
def test_the_order_of_rows_says_nothing(backend, whole):
    rows, ids = skewed(8, 400, 5, whole=whole), np.random.default_rng(3).integers(0, 20, 400)
    usual = block_votes(sums_of(rows, ids, 20, whole=whole), ridge=0.1, backend=backend)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(400)
        found = block_votes(sums_of(rows[order], ids[order], 20, whole=whole), ridge=0.1, backend=backend)
        np.testing.assert_array_equal(found, usual)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("scale", [1, 300])
def test_narrow_columns_in_wide_bounds_are_as_skewed_as_any(backend, scale):
    """Counts of a few grid steps, far from the middle: what centring leaves of their cubes has all its digits."""
    rng = np.random.default_rng(2)
    counts = rng.poisson(0.3, (600, 3))
    ids = np.arange(600) % 20
    wide = block_votes(sums_of(counts * scale - GRID, ids, 20, whole=True), ridge=0.0, backend=backend)
    usual = block_votes(sums_of(counts * (GRID // 16), ids, 20, whole=True), ridge=0.0, backend=backend)
    np.testing.assert_array_equal(wide, usual)


def test_the_mean_of_an_idle_column_is_edgeworths_where_skewness_is_small():
    kappa = np.array([0.02, 0.05, -0.1])
    c = 1.5 * np.abs(kappa)
    density = np.exp(-(c**2) / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(mean_of_idle(kappa, c), -kappa * density / 3, rtol=0.01)


@pytest.mark.parametrize("kappa", np.concatenate([np.linspace(0.0134, 1, 40), [1.5, 3, 10, 1e3]]))
def test_the_mean_of_an_idle_column_is_its_formula_to_many_digits(kappa):
    """By operations that are the same everywhere, in place of a library's exponential and power."""
    c = 1.5 * min(kappa, 1)
    expected = (
        -0.133 * kappa * np.exp(-c * c / 2) * (1 + 0.6 * kappa**2 / (1 + kappa**2)) / (1 + kappa**2 * c**1.4 / 8.76)
    )
    found = mean_of_idle(np.array([kappa, -kappa]), np.array([c, c]))
    assert found == pytest.approx([expected, -expected], rel=1e-6)
