import numpy as np
import pytest
from scipy.stats import norm

from dpselect.release.equations.descent import descend, marginals, orthogonal, positive
from dpselect.release.equations.pivot import Shape


def bowl(matrix, centre, quartic=0.0):
    """-2 log density: a normal one, with a wall that grows as the fourth power."""

    def function(unknowns):
        away = unknowns - centre
        values = np.einsum("bi,ij,bj->b", away, matrix, away) + quartic * (away**4).sum(axis=1)
        hessian = 2 * matrix + 12 * quartic * away[:, :, None] ** 2 * np.eye(len(matrix))
        return Shape(values, 2 * away @ matrix + 4 * quartic * away**3, hessian, np.abs(hessian))

    return function


MATRIX = np.array([[2.0, 0.8, 0.1], [0.8, 1.0, -0.3], [0.1, -0.3, 0.7]])
CENTRE = np.array([1.0, -2.0, 0.5])


def test_descents_find_the_bottom_and_keep_what_they_are_told_to_keep():
    low = descend(bowl(MATRIX, CENTRE, 0.3), np.array([[5.0, 5.0, 5.0], [-3.0, 0.0, 1.0]]))
    assert low.unknowns == pytest.approx(np.tile(CENTRE, (2, 1)), abs=1e-3)
    direction = np.array([[1.0, 2.0, -1.0]])
    held = descend(bowl(MATRIX, CENTRE), np.array([[1.0, 1.0, 1.0]]), direction)
    assert (direction @ held.unknowns[0])[0] == pytest.approx(2.0)
    lead = np.linalg.solve(MATRIX, direction[0])
    expected = CENTRE + lead * (2.0 - direction[0] @ CENTRE) / (direction[0] @ lead)
    assert held.unknowns[0] == pytest.approx(expected, abs=1e-3)


def test_bases_are_orthogonal_to_their_direction():
    directions = np.array([[1.0, 2.0, -1.0], [0.0, 0.0, -2.0]])
    basis = orthogonal(directions)
    assert np.einsum("bi,bij->bj", directions, basis) == pytest.approx(np.zeros((2, 2)), abs=1e-12)
    assert np.swapaxes(basis, 1, 2) @ basis == pytest.approx(np.tile(np.eye(2), (2, 1, 1)))
    assert np.linalg.eigvalsh(positive(np.diag([1.0, -2.0, 0.0]))).min() > 0


def test_a_normal_density_has_normal_marginals():
    function = bowl(MATRIX, CENTRE)
    directions = np.array([[1.0, 0.0, 0.0], [1.0, -1.0, 2.0]])
    got = marginals(function, descend(function, np.zeros((1, 3))), directions)
    deviations = np.sqrt(np.diag(directions @ np.linalg.inv(MATRIX) @ directions.T))
    chances = np.array([0.025, 0.5, 0.9])
    expected = (directions @ CENTRE)[:, None] + deviations[:, None] * norm.ppf(chances)
    assert got.quantiles(chances) == pytest.approx(expected, abs=2e-3)
    cut = got.quantiles(chances, (1.0, np.inf))[0]
    assert cut == pytest.approx(1 + deviations[0] * norm.ppf(0.5 + chances / 2), abs=5e-3)


def test_a_density_that_is_not_normal_is_followed():
    """Against the marginal added up over a grid of the plane."""
    matrix, centre = np.array([[1.0, 0.7], [0.7, 1.0]]), np.zeros(2)
    function = bowl(matrix, centre, 0.05)
    got = marginals(function, descend(function, np.ones((1, 2))), np.array([[1.0, 0.0]]))
    line = np.linspace(-6, 6, 1201)
    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(-function(points).values / 2).reshape(1201, 1201).sum(axis=1)
    chances = np.array([0.025, 0.25, 0.975])
    expected = np.interp(chances, np.cumsum(density) / density.sum(), line)
    assert got.quantiles(chances)[0] == pytest.approx(expected, abs=0.05)
