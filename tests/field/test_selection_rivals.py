"""Rivals that select do what their papers say, on toys: sensitivities by brute force, laws by frequency, limits without noise.

Frequencies are tested at a false-alarm rate of 1e-6, with fixed seeds.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from benchmarks.field import best_subset, kendall, noisy_bic, subset_walk, top_r
from benchmarks.field.selection import marks
from dpselect.rehearse import losses

FALSE_ALARM = 1e-6


def a_table(n=300, p=5, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, p))
    return x, np.clip(0.6 * x[:, 0] - 0.3 * x[:, 2] + rng.normal(0, 0.2, n), -1, 1)


def tau_by_pairs(a, b):
    n = len(a)
    return sum(np.sign(a[i] - a[j]) * np.sign(b[i] - b[j]) for i in range(n) for j in range(i)) / (n * (n - 1) / 2)


def test_kendall_correlation_counts_tied_pairs_among_all():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 4, (2, 12)).astype(float)
        assert kendall.tau_a(a, b) == pytest.approx(tau_by_pairs(a, b), abs=1e-12)
    assert kendall.tau_a(np.ones(5), np.arange(5.0)) == 0


def test_no_added_row_moves_a_kendall_score_by_more_than_the_paper_says_and_some_nearly_do():
    rng = np.random.default_rng(3)
    moves = []
    for _ in range(300):
        a, b = rng.integers(0, 3, (2, 30)).astype(float)
        row = rng.choice([-9.0, 0.0, 1.0, 9.0], 2)
        before, after = (
            15 * abs(kendall.tau_a(a, b)),
            15.5 * abs(kendall.tau_a(np.append(a, row[0]), np.append(b, row[1]))),
        )
        moves.append(abs(after - before))
    assert max(moves) <= kendall.FIRST
    rising = np.arange(100.0)
    fall = 50 * kendall.tau_a(rising, rising) - 50.5 * kendall.tau_a(np.append(rising, 200), np.append(rising, -1))
    assert 0.95 * kendall.FIRST < fall <= kendall.FIRST


@pytest.mark.parametrize("n", [100, 1000])
def test_one_replaced_row_moves_the_published_score_in_proportion_to_the_rows(n):
    assert kendall.move_with_ties(n) == pytest.approx(n / np.sqrt(8), rel=0.03)


def test_kendall_without_noise_takes_the_strongest_and_then_what_is_not_like_it():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 3))
    twin = x[:, 0] + 0.01 * rng.normal(size=400)
    y = x[:, 0] + 0.5 * x[:, 1] + 0.3 * rng.normal(size=400)
    strength = kendall.strengths(np.column_stack([x, twin]), y)
    first = int(strength[-1, :-1].argmax())
    assert first in (0, 3)
    assert kendall.choose(strength, 2, 1e9, rng) == tuple(sorted((first, 1)))


def test_the_noise_of_kendall_is_the_exponential_mechanism_with_its_share_of_epsilon():
    strength = np.zeros((3, 3))
    strength[-1, 0] = 4.0
    rng, epsilon, draws = np.random.default_rng(6), 1.2, 20_000
    right = sum(kendall.choose(strength, 1, epsilon, rng) == (0,) for _ in range(draws))
    chance = 1 / (1 + np.exp(-epsilon * 4.0 / (2 * 1.5)))
    assert binomtest(right, draws, chance).pvalue > FALSE_ALARM
    assert binomtest(right, draws, 1 / (1 + np.exp(-epsilon * 4.0 / 1.5))).pvalue < FALSE_ALARM


def test_no_replaced_row_moves_the_moments_by_more_than_their_sensitivity_and_one_does():
    rng, width = np.random.default_rng(7), 5
    upper = np.triu_indices(width)
    moves = []
    for _ in range(2000):
        rows = np.column_stack([np.ones(2), rng.choice([-1.0, -0.3, 0.0, 1.0], (2, width - 1))])
        moves.append(np.linalg.norm((np.outer(rows[0], rows[0]) - np.outer(rows[1], rows[1]))[upper]))
    assert 0.6 * noisy_bic.sensitivity(width) < max(moves) <= noisy_bic.sensitivity(width)


def test_bic_on_moments_without_noise_is_forward_bic_and_with_much_noise_takes_nothing():
    x, y = a_table()
    rows = np.column_stack([np.ones(len(y)), x, y])
    rng = np.random.default_rng(8)
    assert noisy_bic.choose(rows.T @ rows, len(y), 1e7, 1e-6, rng) == best_subset.best_by_bic(x, y) == (0, 2)
    assert noisy_bic.choose(rows.T @ rows, len(y), 0.05, 1e-6, rng) == ()


def test_the_moments_have_symmetric_noise_of_the_stated_deviation():
    rng = np.random.default_rng(9)
    noisy, deviation = zip(
        *(noisy_bic.noisy_moments(np.zeros((4, 4)), 1.0, 1e-6, rng) for _ in range(4000)), strict=True
    )
    assert all((each == each.T).all() and each[0, 0] == 0 for each in noisy)
    assert np.std([each[1, 2] for each in noisy]) == pytest.approx(deviation[0], rel=0.06)
    assert deviation[0] == pytest.approx(noisy_bic.sensitivity(4) / 0.2367, rel=1e-3)


def test_the_best_model_is_that_of_least_squares_on_the_rows_and_of_leaps():
    x, y = a_table(n=150, p=6, seed=4)
    scores = {}
    for size in range(7):
        for model in combinations(range(6), size):
            rows = np.column_stack([np.ones(150), x[:, model]])
            left = y - rows @ np.linalg.lstsq(rows, y, rcond=None)[0]
            scores[model] = 150 * np.log(left @ left) + size * np.log(150)
    best = min(scores, key=scores.get)
    assert best_subset.best_by_bic(x, y) == best
    theirs = best_subset.leaps(x, y)
    assert theirs is None or theirs[0] == best
    rows = np.column_stack([np.ones(150), x[:, best]])
    left = y - rows @ np.linalg.lstsq(rows, y, rcond=None)[0]
    products = best_subset.centered(x, y)
    assert best_subset.explained(products, best) == pytest.approx(1 - left @ left / (150 * y.var()))


def test_marks_of_the_best_of_none_and_of_all():
    x, y = a_table()
    products = best_subset.centered(x, y)
    assert marks(products, (0, 2), (0, 2)).__dict__ == pytest.approx({"kept": 1, "f1": 1, "contrast": 1})
    assert marks(products, (), (0, 2)).__dict__ == pytest.approx({"kept": 0, "f1": 0, "contrast": 0})
    everything = marks(products, tuple(range(5)), (0, 2))
    assert everything.contrast == pytest.approx(0) and everything.f1 == pytest.approx(4 / 7) and everything.kept > 1


def ridge_loss(x, y, model):
    x, y = np.clip(x[:, model], -top_r.CLIP, top_r.CLIP), np.clip(y, -top_r.CLIP, top_r.CLIP)
    b = np.linalg.solve(x.T @ x + top_r.RIDGE * np.eye(len(model)), x.T @ y)
    return ((y - x @ b) ** 2).sum() + top_r.RIDGE * b @ b


def test_top_r_with_all_models_listed_is_the_exponential_mechanism():
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(200, 6)), rng.normal(size=200)
    y += 0.5 * x[:, 4]
    weights = np.array([-ridge_loss(x, y, (j,)) / (2 * (0.5 + 0.5 * 1.1) ** 2) for j in range(6)])
    chances = np.exp(weights - weights.max()) / np.exp(weights - weights.max()).sum()
    found = top_r.law(x, y, 1.0, s=1)
    assert found.best == (int(chances.argmax()),)
    assert found.top_r == pytest.approx(chances.max())


def test_the_search_finds_the_best_model_and_top_r_never_overstates_its_chance():
    rng = np.random.default_rng(12)
    x = rng.normal(size=(400, 8))
    y = 0.4 * (x[:, 1] + x[:, 3]) + rng.normal(size=400)
    models = list(combinations(range(8), 2))
    weights = np.array([-3 * ridge_loss(x, y, each) / (2 * (0.5 + 0.5 * 1.1 * np.sqrt(2)) ** 2) for each in models])
    chances = np.exp(weights - weights.max()) / np.exp(weights - weights.max()).sum()
    found = top_r.law(x, y, 3.0, s=2, start=(6, 7))
    assert found.best == models[int(chances.argmax())] == (1, 3)
    assert 0.5 * chances.max() < found.top_r <= chances.max() * 1.001
    assert found.mistakes <= chances.max() * 1.001


def test_a_sharp_table_is_selected_and_made_as_its_script_makes_it():
    rng = np.random.default_rng(13)
    x, y = top_r.generate(20_000, 12, rng)
    assert np.corrcoef(x[:, 3], x[:, 4])[0, 1] == pytest.approx(0.1, abs=0.03)
    assert x[:, 1:].var() == pytest.approx(1, abs=0.006)
    signal = x[:, top_r.TRUTH].sum(axis=1) / np.sqrt(5)
    assert (signal @ signal) / ((y - signal) @ (y - signal)) == pytest.approx(5, rel=1e-3)
    found = top_r.law(x, y, 1.0)
    assert found.best == top_r.TRUTH and found.top_r > 0.999


def test_the_walks_loss_is_that_of_least_squares_within_the_radius():
    x, y = a_table(n=60, p=4, seed=14)
    for radius in (0.3, 5.0):
        all_losses = losses(x, y, R=radius, r=1.0)
        for model in [(0, 1), (0, 2, 3)]:
            at = list(model)
            found = subset_walk.loss(x[:, at].T @ x[:, at], x[:, at].T @ y, float(y @ y), radius)
            mask = sum(1 << j for j in at)
            assert found == pytest.approx(all_losses[mask - 1], rel=1e-3)


@pytest.mark.thorough
def test_the_walk_ends_where_the_exponential_mechanism_does_at_the_stated_price():
    x, y = a_table(n=120, p=4, seed=15)
    models = list(combinations(range(4), 2))
    epsilon, limit, radius = 3.0, 1.0, 2.0
    value = [subset_walk.loss(x[:, m].T @ x[:, m], x[:, m].T @ y, float(y @ y), radius) for m in map(list, models)]
    weights = -epsilon * np.array(value) / (2 * (limit + radius) ** 2)
    chances = np.exp(weights - weights.max())
    rng = np.random.default_rng(16)
    ends = [subset_walk.walk(x, y, limit, epsilon, 60, rng, s=2, radius=radius) for _ in range(3000)]
    seen = [ends.count(each) for each in models]
    assert chisquare(seen, 3000 * chances / chances.sum()).pvalue > FALSE_ALARM
    twice = chances**2
    assert chisquare(seen, 3000 * twice / twice.sum()).pvalue < FALSE_ALARM
