import numpy as np
import pytest

from dpselect.rehearse.simulate import SEED, Setting, draw
from paper.simulations import (
    AS_PRINTED,
    EPSILONS,
    FIRST,
    HELD_OUT,
    NO_PRIVACY,
    OURS,
    UNSQUARED,
    curve,
    simulation_figure,
    spread,
    unclipped_products,
)

SMALL = Setting("small", 20, (1.0, 0.0))


def test_the_paper_s_first_study_is_what_section_5_says():
    X, y = draw(FIRST.with_rows(200_000), np.random.SeedSequence(1))
    assert X.shape == (200_000, 6)
    assert np.abs(X).max() <= 1
    # Uniform on [-1,1]: variance 1/3; residuals standard normal. False alarms of about 1e-6 each.
    assert X.var(axis=0) == pytest.approx(np.full(6, 1 / 3), abs=0.004)
    residual = y - X @ [1, 1, 1, 0, 0, 0]
    assert residual.mean() == pytest.approx(0, abs=0.012)
    assert residual.var() == pytest.approx(1, abs=0.017)
    assert (FIRST.truth, FIRST.norm, FIRST.width) == (0b111, 3, 6)


def test_held_out_settings_cover_what_was_asked():
    assert len(HELD_OUT) == 12
    rows, widths = [s.rows for s, _ in HELD_OUT], [s.width for s, _ in HELD_OUT]
    assert (min(rows), max(rows), min(widths), max(widths)) == (300, 10_000, 4, 10)


def summary(X, y, noise):
    return float(X.sum()), float(y.sum()), float(noise.random())


def test_results_are_the_same_whatever_the_number_of_workers():
    alone = spread(SMALL, 60, summary, seed=5, jobs=1)
    assert spread(SMALL, 60, summary, seed=5, jobs=2) == alone
    assert spread(SMALL, 30, summary, seed=5) == alone[:30]
    assert spread(SMALL, 3, summary, seed=6) != alone[:3]


def test_tables_differ_from_each_other_and_from_their_noise():
    seen = spread(SMALL, 50, summary)
    assert len(set(seen)) == 50
    assert len({noise for _, _, noise in seen}) == 50


def test_the_paper_clips_nothing_and_takes_the_largest_response_for_r():
    products, largest = unclipped_products(np.array([[1.0], [-0.5]]), np.array([7.0, 2.0]))
    assert largest == 7
    assert products[1, 1] == pytest.approx(53)


@pytest.fixture(scope="module")
def rows():
    return simulation_figure(FIRST, sizes=[100], radii=[2.5], count=40)


def test_every_curve_is_there_and_every_chance_is_one(rows):
    assert len(rows) == 41 * 4 * 4
    assert all(0 <= row["chance"] <= 1 for row in rows)
    penalties, _ = curve(rows, OURS, n=100, R=2.5, epsilon=1.0)
    assert penalties[[0, -1]].tolist() == [0, 50]


def test_without_privacy_the_choice_is_the_plain_minimum(rows):
    """Against a plain loop of least squares over all models, at a radius that does not bind for the right ones."""
    far = simulation_figure(FIRST, sizes=[100], radii=[1000.0], count=10)
    seeds = [seed.spawn(2)[0] for seed in np.random.SeedSequence(SEED).spawn(10)]
    right = 0
    for seed in seeds:
        X, y = draw(FIRST.with_rows(100), seed)
        scores = {}
        for mask in range(1, 64):
            chosen = [j for j in range(6) if mask >> j & 1]
            coefficients, *_ = np.linalg.lstsq(X[:, chosen], y, rcond=None)
            scores[mask] = float(((y - X[:, chosen] @ coefficients) ** 2).sum()) + 12.5 * len(chosen)
        right += min(scores, key=scores.get) == 7
    penalties, chances = curve(far, NO_PRIVACY, epsilon=1.0)
    assert chances[list(penalties).index(12.5)] == pytest.approx(right / 10)


def test_better_noise_is_better_and_noise_that_protects_nobody_better_still(rows):
    for epsilon in EPSILONS[1:]:
        printed, ours, bad = (curve(rows, noise, epsilon=epsilon)[1].max() for noise in (AS_PRINTED, OURS, UNSQUARED))
        assert printed < ours < bad


def test_progress_reaches_the_end_and_workers_change_nothing():
    seen = []
    alone = simulation_figure(FIRST, sizes=[100], radii=[1.0, 2.5], count=4, progress=seen.append)
    assert seen == [0.5, 1.0]
    assert simulation_figure(FIRST, sizes=[100], radii=[1.0, 2.5], count=4, jobs=2) == alone
