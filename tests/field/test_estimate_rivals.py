"""Rivals that estimate do what their papers say, on toys: scales of noise, least squares in the limit, intervals that hold.

Deviations of simulated noise may differ by five of their own standard errors, laws are tested at a false-alarm rate of 1e-6.
"""

import numpy as np
import pytest
from dp_accounting import get_sigma_gaussian
from scipy.stats import chisquare

from benchmarks.field import adassp, binagg, gaussian, noisy_ols, tukey

DELTA = 1e-6
FALSE_ALARM = 1e-6


def a_table(n=4000, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2))
    return x, 0.2 + x @ [0.4, -0.3] + rng.normal(0, 0.1, n)


def with_ones(x):
    return np.column_stack([np.ones(len(x)), x])


def plain(rows, y):
    return np.linalg.lstsq(rows, y, rcond=None)[0]


def same_deviation(draws, deviation):
    """Within five standard errors: of normal draws they are deviation/sqrt(2n)."""
    return abs(np.std(draws) / deviation - 1) < 5 / np.sqrt(2 * len(draws))


@pytest.mark.parametrize("epsilon", [0.35, 1.0, 5.0])
def test_gaussian_noise_costs_what_googles_accountant_says(epsilon):
    assert 1 / gaussian.mu_of(epsilon, DELTA) == pytest.approx(get_sigma_gaussian(epsilon, DELTA), rel=1e-4)
    assert gaussian.epsilon_of(gaussian.mu_of(epsilon, DELTA), DELTA) == pytest.approx(epsilon, rel=1e-6)


def test_adassp_without_noise_is_least_squares():
    x, y = a_table()
    rows = with_ones(x)
    products = np.column_stack([rows, y]).T @ np.column_stack([rows, y])
    found = adassp.coefficients(products, 1e9, DELTA, np.random.default_rng(0))
    assert found == pytest.approx(plain(rows, y), abs=1e-6)


def test_the_noise_of_adassp_has_the_papers_scale():
    """With a Gram matrix of a huge multiple of the identity, a coefficient times that multiple is X'y and its noise."""
    large, width, epsilon = 1e9, 3, 0.5
    products = np.diag([large] * width + [1.0])
    rng = np.random.default_rng(2)
    draws = [adassp.coefficients(products, epsilon, DELTA, rng)[1] * large for _ in range(3000)]
    assert same_deviation(draws, np.sqrt(np.log(6 / DELTA)) / (epsilon / 3) * np.sqrt(width))


def test_adassp_shrinks_where_rows_are_few():
    x, y = a_table(n=20)
    both = np.column_stack([with_ones(x), y])
    rng = np.random.default_rng(3)
    found = [np.abs(adassp.coefficients(both.T @ both, 0.5, DELTA, rng)).max() for _ in range(50)]
    assert np.median(found) < 0.5


def test_noisy_least_squares_without_noise_is_least_squares_with_its_errors():
    x, y = a_table()
    rows = with_ones(x)
    found = noisy_ols.regress(x, y, (-1, 1), (-1, 1), 1e12, DELTA, np.random.default_rng(4))
    left = y - rows @ plain(rows, y)
    errors = np.sqrt(left @ left / (len(y) - 3) * np.diag(np.linalg.inv(rows.T @ rows)))
    assert found.coefficients == pytest.approx(plain(rows, y), abs=1e-6)
    assert found.errors == pytest.approx(errors, rel=1e-5)


def test_noisy_least_squares_has_the_noise_of_its_paper_and_intervals_that_hold():
    factor = np.sqrt(2 * np.log(1.25 / (1e-5 / 3)))
    assert noisy_ols.deviations(3, 8.0, 30.0, 2.0, 1e-5) == pytest.approx(
        (64 * 3 * factor / 0.8, 8 * 30 * np.sqrt(3) * factor / 0.8, 900 * factor / 0.4)
    )
    rng, held = np.random.default_rng(5), []
    for seed in range(100):
        x, y = a_table(n=20_000, seed=seed)
        found = noisy_ols.regress(x, y, (-1, 1), (-1, 1), 5.0, 1e-5, rng)
        held.append(np.abs(found.coefficients - [0.2, 0.4, -0.3]) < 1.96 * found.errors)
    assert np.mean(held) > 0.88  # its errors are approximate; 95% is nominal


def test_tukey_fits_the_papers_number_of_blocks_or_what_the_rows_allow():
    assert tukey.blocks_of(50_000, 4) == 1000
    assert tukey.blocks_of(2000, 4) == 500
    x, y = a_table(n=6000)
    assert tukey.models(with_ones(x), y, np.random.default_rng(6)).shape == (1000, 3)


def test_tukey_is_near_least_squares_with_many_rows_and_releases_nothing_with_few():
    x, y = a_table(n=60_000)
    rng = np.random.default_rng(7)
    assert tukey.coefficients(with_ones(x), y, 1.0, DELTA, rng) == pytest.approx([0.2, 0.4, -0.3], abs=0.02)
    assert not tukey.coefficients(with_ones(x[:90]), y[:90], 1.0, DELTA, rng).any()


def test_tukey_draws_by_length_and_depth_in_one_dimension():
    """Pieces between order statistics, of depth a quarter of the points and more, by length times exp(depth epsilon/2)."""
    rng = np.random.default_rng(8)
    points, epsilon, draws = np.sort(rng.normal(size=80)), 3.0, 4000
    found = [float(tukey.deep_point(points[:, None], epsilon, 0.49, rng)[0]) for _ in range(draws)]
    released = [each for each in found if each != 0.0]
    assert len(released) > draws / 4
    edges = points[19:-19]
    depth = np.minimum(np.arange(20, 19 + edges.size), np.arange(20, 19 + edges.size)[::-1])
    weight = np.diff(edges) * np.exp(epsilon / 2 * depth)
    expected = len(released) * weight / weight.sum()
    seen = np.histogram(released, bins=edges)[0]
    assert seen.sum() == len(released)
    large = expected >= 5
    seen, expected = [*seen[large], seen[~large].sum()], [*expected[large], expected[~large].sum()]
    assert chisquare(seen, expected).pvalue > FALSE_ALARM


def test_tukey_stays_within_the_middle_half_however_small_epsilon_is(monkeypatch):
    monkeypatch.setattr(tukey, "safe_distance", lambda *_: 10**9)
    rng = np.random.default_rng(14)
    points = np.sort(rng.normal(size=80))
    found = [float(tukey.deep_point(points[:, None], 1e-3, DELTA, rng)[0]) for _ in range(2000)]
    assert points[19] <= min(found) < points[21] and points[-22] < max(found) <= points[-20]


def test_points_that_lie_together_are_farther_from_unsafe_than_scattered_ones():
    rng = np.random.default_rng(9)

    def distance(points):
        ordered = np.sort(points.T, axis=1)
        volumes = np.log((ordered[:, ::-1] - ordered)[:, : len(points) // 2]).sum(axis=0)
        return tukey.safe_distance(volumes, 0.5, DELTA, len(points) // 4)

    few, many = rng.normal(size=(60, 2)), rng.normal(size=(1000, 2))
    assert distance(few) <= 0
    assert distance(many) > 50
    assert distance(many) > distance(many[:600])


def test_the_cells_of_binagg_part_the_rows_and_are_halved_where_rows_are():
    rng = np.random.default_rng(10)
    x = np.concatenate([rng.uniform(0, 1, (3000, 2)), rng.uniform(0, 10, (100, 2))])
    leaves = binagg.cells(x, np.zeros(2), np.full(2, 10.0), 1.0, rng)
    assert sorted(np.concatenate([rows for rows, _, _ in leaves]).tolist()) == list(range(3100))
    assert all(((low <= x[rows]) & (x[rows] <= high)).all() for rows, low, high in leaves)
    assert sum((high <= 1.25).all() for _, _, high in leaves) > len(leaves) / 2


def test_the_tree_of_binagg_pays_for_its_share_of_mu():
    """PrivTree's scale 3/epsilon; an epsilon of 1 is mu = 1.232, which is -2 Phi^-1(1/(1 + e))."""
    assert binagg.tree_scale(1.2320) == pytest.approx(3 / 1.0, rel=1e-3)


def test_binagg_without_noise_is_close_to_least_squares_and_its_intervals_hold():
    x, y = a_table(n=3000)
    rows = with_ones(x)
    low, high = np.array([1.0, -1, -1]), np.ones(3)
    found = binagg.regress(rows, y, low, high, 1.0, 30.0, np.random.default_rng(11))
    assert found.coefficients == pytest.approx(plain(rows, y), abs=0.01)
    rng, held = np.random.default_rng(12), []
    for seed in range(60):
        x, y = a_table(n=3000, seed=seed)
        found = binagg.regress(with_ones(x), y, low, high, 1.0, 1.0, rng)
        held.append(np.abs(found.coefficients - [0.2, 0.4, -0.3]) < 1.96 * found.errors)
    assert np.mean(held) > 0.85


def test_the_sums_of_binagg_have_the_packages_noise(monkeypatch):
    """One cell more than columns, no rows in them: what is left is noise, seen by replacing the generator."""
    asked = []

    class Noted(np.random.Generator):
        def normal(self, loc=0.0, scale=1.0, size=None):
            asked.append(np.max(scale))
            return super().normal(loc, scale, size)

    rng = Noted(np.random.PCG64(13))
    x, y = a_table(n=50)
    binagg.regress(x, y, np.full(2, -1.0), np.ones(2), 7.0, 2.0, rng)
    share = 2.0 * 3 / np.sqrt(28)
    assert {round(float(each), 9) for each in asked} == {round(1 / share, 9), round(7 / share, 9)}
