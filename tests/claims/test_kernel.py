"""docs/KERNEL.md's claims about speed, each with a margin of five or more, in processor time, best of several rounds."""

import time

import numpy as np
import pytest

from dpselect.minimize.losses import lattice_compiled
from dpselect.minimize.losses.lattice import batch_losses, lattice_losses

no_compiler = pytest.mark.skipif(not lattice_compiled.is_available(), reason="the C kernel was not built here")
COLUMNS, RADIUS = 13, 1.0


@pytest.fixture(scope="module")
def products():
    rng = np.random.default_rng(13)
    x = 0.5 * rng.uniform(-1, 1, (2000, COLUMNS)) + 0.5 * rng.uniform(-1, 1, (2000, 1))
    y = np.clip(x @ rng.normal(0, 0.3, COLUMNS) + rng.normal(0, 0.2, 2000), -1, 1)
    table = np.column_stack([x, y])
    return table.T @ table


def best(run, rounds):
    times = []
    for _ in range(rounds):
        start = time.thread_time()
        run()
        times.append(time.thread_time() - start)
    return min(times)


def by_quadprog(products, columns):
    quadprog = pytest.importorskip("quadprog")
    gram, cross, m = products[np.ix_(columns, columns)], products[columns, -1], len(columns)
    h = np.block([[gram, -gram], [-gram, gram]]) + 1e-9 * products[-1, -1] * np.eye(2 * m)
    f, bounds = np.concatenate([cross, -cross]), np.append(np.zeros(2 * m), -RADIUS)
    z = quadprog.solve_qp(h, f, np.column_stack([np.eye(2 * m), -np.ones(2 * m)]), bounds)[0]
    b = z[:m] - z[m:]
    return products[-1, -1] - 2 * cross @ b + b @ gram @ b


@pytest.fixture(scope="module")
def quadprog_seconds(products):
    masks = np.random.default_rng(0).integers(1, 2**COLUMNS, 50).tolist()
    subsets = [[j for j in range(COLUMNS) if mask >> j & 1] for mask in masks]
    values, _ = lattice_losses(products, RADIUS)
    np.testing.assert_allclose([by_quadprog(products, at) for at in subsets], values[masks], rtol=1e-7)
    return best(lambda: [by_quadprog(products, at) for at in subsets], 3) / len(subsets)


@no_compiler
def test_a_certified_subset_costs_a_small_part_of_quadprogs_time(products, quadprog_seconds):
    ours = best(lambda: lattice_losses(products, RADIUS, backend="c"), 10) / 2**COLUMNS
    assert quadprog_seconds > 400 * ours  # measured: 2,300


def test_so_it_does_without_a_compiler(products, quadprog_seconds):
    ours = best(lambda: lattice_losses(products, RADIUS, backend="numpy"), 3) / 2**COLUMNS
    assert quadprog_seconds > 13 * ours  # measured: 67


@no_compiler
def test_a_thousand_data_sets_cost_no_python_time_each(products):
    small = np.tile(products[-7:, -7:], (1000, 1, 1))
    radii = [0.2, 0.5, 1.0, 2.0]
    together = best(lambda: batch_losses(small, radii, backend="c"), 3)
    alone = best(lambda: [lattice_losses(small[0], r, backend="c") for r in radii], 10)
    assert together < 0.7 * 1000 * alone  # measured: 0.07
