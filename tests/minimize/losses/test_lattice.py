"""Every subset's loss, by both twins, against brute force in rational arithmetic, on designs that break ordinary solvers."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpselect.errors import StudyError
from dpselect.minimize.losses import lattice_compiled
from dpselect.minimize.losses.lattice import batch_bounds, batch_losses, lattice_losses

GRID = 64  # so that products of a few rows are exact doubles
no_compiler = pytest.mark.skipif(not lattice_compiled.is_available(), reason="the C kernel was not built here")
backends = pytest.mark.parametrize("backend", [pytest.param("c", marks=no_compiler), "numpy"])


def solve(matrix, right):
    """Gauss in fractions; None if singular."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next((k for k in range(i, len(rows)) if rows[k][i] != 0), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(len(rows)):
            if k != i and rows[k][i] != 0:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


def exact_losses(products, radius):
    """The loss of every subset: the least P(b) over all supports and signs at which b is stationary and allowed."""
    table = [[Fraction(float(value)) for value in row] for row in products]
    d, limit = len(table) - 1, Fraction(radius)
    own = []
    for mask in range(1 << d):
        at = [j for j in range(d) if mask >> j & 1]
        gram, c = [[table[i][j] for j in at] for i in at], [table[j][d] for j in at]
        best = table[d][d]
        for signs in product((-1, 1), repeat=len(at)):
            ols, u = solve(gram, c), solve(gram, signs)
            if ols is None or u is None:
                break
            b = ols
            if sum(map(abs, b)) > limit:
                t = (sum(s * v for s, v in zip(signs, ols, strict=True)) - limit) / sum(
                    s * v for s, v in zip(signs, u, strict=True)
                )
                b = [v - t * w for v, w in zip(ols, u, strict=True)]
            if sum(map(abs, b)) <= limit:
                q = [
                    2 * c_i - sum(g * v for g, v in zip(row, b, strict=True)) for c_i, row in zip(c, gram, strict=True)
                ]
                best = min(best, table[d][d] - sum(v * w for v, w in zip(b, q, strict=True)))
        own.append(best)
    return [min(own[sub] for sub in range(mask + 1) if sub & mask == sub) for mask in range(1 << d)]


def design(kind, seed):
    rng = np.random.default_rng(seed)
    n = 3 if kind == "fewer rows than columns" else 12
    x = rng.integers(-GRID, GRID + 1, (n, 4)).astype(float)
    if kind == "duplicate columns":
        x[:, 2], x[:, 3] = x[:, 0], -x[:, 1]
    if kind == "dummy trap":
        x[:, :3], x[:, 3] = np.eye(3)[rng.integers(0, 3, n)] * GRID, GRID
    if kind == "zero and constant columns":
        x[:, 1], x[:, 2] = 0, GRID
    if kind == "nearly equal columns":
        x[:, 1] = x[:, 0]
        x[0, 1] += 1 if x[0, 1] < GRID else -1
    y = np.clip(np.round(x @ rng.normal(0, 0.5, 4) + rng.normal(0, 10, n)), -GRID, GRID)
    if kind == "zero response":
        y[:] = 0
    table = np.column_stack([x, y]) / GRID
    return table.T @ table


KINDS = [
    "plain", "duplicate columns", "dummy trap", "zero and constant columns", "nearly equal columns",
    "fewer rows than columns", "zero response",
]  # fmt: skip


@backends
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radius", [0.0, 0.125, 0.75, 2.0, 1000.0])
def test_values_and_bounds_hold_against_fractions(kind, radius, backend):
    products = design(kind, 1)
    values, bounds = lattice_losses(products, radius, backend=backend)
    exact = exact_losses(products, radius)
    for value, bound, truth in zip(values, bounds, exact, strict=True):
        assert abs(Fraction(value) - truth) <= Fraction(bound)
    assert bounds.max() <= 1e-11 * (1 + radius) ** 2


@backends
@pytest.mark.parametrize("power", [-60, -120, -200, -450])
def test_bounds_hold_for_numbers_that_a_float_cannot_hold(power, backend):
    x = np.random.default_rng(3).normal(size=(30, 5))
    products = x.T @ x * 2.0**power
    values, bounds = lattice_losses(products, 0.5, backend=backend, error=0.0)
    for value, bound, truth in zip(values, bounds, exact_losses(products, 0.5), strict=True):
        assert abs(Fraction(value) - truth) <= Fraction(bound)
    assert bounds.max() <= max(1e-10 * products[-1, -1], 1e-35)


def test_the_brute_force_knows_a_case_solved_by_hand():
    # One column x = (1, 1), response (1, 0): b = 1/2 without a bound, b = radius below it.
    products = [[2.0, 1.0], [1.0, 1.0]]
    assert exact_losses(products, 0.25) == [1, Fraction(5, 8)]
    assert exact_losses(products, 3.0) == [1, Fraction(1, 2)]


@backends
def test_a_batch_is_its_problems_one_by_one(backend):
    tables = np.stack([design(kind, 7) for kind in KINDS])
    radii = [0.0, 0.5, 3.0]
    values, bounds = batch_bounds(tables, radii, backend=backend)
    np.testing.assert_array_equal(values, batch_losses(tables, radii, backend=backend, threads=2))
    for b, table in enumerate(tables):
        for k, radius in enumerate(radii):
            alone = lattice_losses(table, radius, backend=backend)
            np.testing.assert_allclose(values[b, k], alone[0], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(bounds[b, k], alone[1], atol=1e-9)


@backends
@pytest.mark.parametrize("size", range(5))
def test_a_limit_on_the_columns_leaves_out_the_larger_masks(size, backend):
    for kind in KINDS:
        products = design(kind, 3)
        everything, _ = lattice_losses(products, 0.75, backend=backend)
        some, bounds = lattice_losses(products, 0.75, max_size=size, backend=backend)
        kept = np.bitwise_count(np.arange(16)) <= size
        np.testing.assert_allclose(some, everything[kept], rtol=1e-12, atol=1e-12)
        assert bounds.max() < 1e-11


@backends
def test_no_columns_leave_the_empty_model(backend):
    values, _ = lattice_losses([[4.0]], 1.0, backend=backend)
    np.testing.assert_array_equal(values, [4.0])


def test_no_tables_give_no_losses():
    assert batch_losses(np.empty((0, 4, 4)), [1.0]).shape == (0, 1, 8)


@backends
def test_progress_rises_to_one(backend):
    heard = []
    lattice_losses(design("plain", 1), 1.0, backend=backend, progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


@pytest.mark.parametrize("radius", [-1.0, np.nan, np.inf])
def test_a_radius_that_is_no_length_is_refused(radius):
    with pytest.raises(StudyError, match="radius"):
        lattice_losses(np.eye(3), radius)


@pytest.mark.parametrize("wrong", [{"max_size": -1}, {"threads": 0}])
def test_numbers_below_zero_are_refused(wrong):
    with pytest.raises(StudyError, match=next(iter(wrong))):
        lattice_losses(np.eye(3), 1.0, **wrong)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0, 0), (1, 3, 3)])
def test_products_that_are_no_table_are_refused(shape):
    with pytest.raises(StudyError, match="square"):
        lattice_losses(np.ones(shape), 1.0)


def test_too_many_columns_are_refused_before_anything_is_allocated():
    with pytest.raises(StudyError, match=r"1,099,511,627,776 subsets of 40 columns .* max_size"):
        lattice_losses(np.eye(41), 1.0)
    with pytest.raises(StudyError, match="max_size"):
        batch_losses(np.tile(np.eye(21), (100, 1, 1)), np.ones(10_000))


def test_a_missing_kernel_is_said(monkeypatch):
    monkeypatch.setattr(lattice_compiled, "_lattice", None)
    with pytest.raises(StudyError, match="not built"):
        lattice_losses(np.eye(3), 1.0, backend="c")
    np.testing.assert_allclose(lattice_losses(np.eye(3), 1.0)[0], 1.0)
