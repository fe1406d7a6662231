from dataclasses import replace

import numpy as np
import pytest

from dpselect.release.equations.pivot import entry_noise, misfit
from dpselect.release.equations.problem import problem

COLUMNS = (0, 1, 2, 3, 4, 5)


def example(tables, residual, neighbors):
    made, _ = tables.noisy(study=tables.a_study(neighbors))
    pivot = problem(made, COLUMNS).pivot
    size = len(COLUMNS) + residual
    return replace(pivot, sampling=0.05 * pivot.rows * np.eye(size), residual=residual)


def test_the_map_is_the_sum_over_the_released_numbers():
    generator = np.random.default_rng(1)
    patterns = np.zeros((4, 3, 3))
    patterns[0, 0, 1] = patterns[0, 1, 0] = 1
    patterns[1, 2, 2] = 2
    patterns[2, 0, 2] = patterns[2, 2, 0] = patterns[2, 2, 2] = 1
    variances = np.array([1.0, 2.0, 3.0, 4.0])  # the last has no place, and no part
    made = entry_noise(patterns, variances)
    matrix = generator.normal(size=(5, 3, 3))
    matrix = matrix + np.swapaxes(matrix, 1, 2)
    expected = sum(v * p @ matrix @ p for p, v in zip(patterns, variances, strict=True))
    assert made.of_matrix(matrix) == pytest.approx(expected)
    t = generator.normal(size=(5, 3))
    assert made.of_vector(t) == pytest.approx(made.of_matrix(t[:, :, None] * t[:, None, :]))
    scale = np.array([1.0, 2.0, 0.5])
    moved = made.scaled(scale).of_vector(t)
    assert moved == pytest.approx(made.of_vector(t * scale) * np.outer(scale, scale))
    assert made.times(3.0).of_vector(t) == pytest.approx(3 * made.of_vector(t))


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("with_determinant", [False, True])
def test_gradients_are_those_of_the_values(tables, residual, with_determinant, neighbors):
    pivot = example(tables, residual, neighbors)
    generator = np.random.default_rng(2)
    point = generator.normal(0, 0.3, (1, len(COLUMNS) + residual))
    shape = misfit(pivot, point, with_determinant=with_determinant)
    step = 1e-5
    for place in range(point.shape[1]):
        move = np.zeros_like(point)
        move[0, place] = step
        up, down = (misfit(pivot, point + sign * move, with_determinant=with_determinant) for sign in (1, -1))
        assert shape.gradient[0, place] == pytest.approx(
            (up.values[0] - down.values[0]) / (2 * step), rel=1e-4, abs=1e-4
        )
        if not with_determinant:
            slope = (up.gradient[0] - down.gradient[0]) / (2 * step)
            assert shape.hessian[0, :, place] == pytest.approx(slope, rel=1e-3, abs=1e-3 * np.abs(shape.hessian).max())


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
def test_at_the_true_coefficients_it_is_noise_of_the_stated_size(tables, neighbors):
    """250 releases of one table: r'V^-1 r is chi-squared of 6 degrees, its mean within 6 of its own deviations, 1.3."""
    study = tables.a_study(neighbors)
    values = []
    for seed in range(250):
        made, products = tables.noisy(seed=seed, study=study)
        one = problem(made, COLUMNS)
        truth = np.linalg.solve(products[:6, :6], products[:6, 6])
        unknowns = np.linalg.solve(one.change, truth)[None]
        pivot = replace(one.pivot, sampling=1e-9 * np.eye(6))
        values.append(misfit(pivot, unknowns, with_determinant=False).values[0])
    assert np.mean(values) == pytest.approx(6, abs=6 * np.sqrt(12 / 250))
