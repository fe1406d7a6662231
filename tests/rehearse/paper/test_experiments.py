import numpy as np
import pytest

from dpselect.rehearse.paper.experiments import (
    AS_PRINTED,
    EPSILONS,
    NO_PRIVACY,
    OURS,
    UNSQUARED,
    curve,
    simulation_figure,
)
from dpselect.rehearse.simulate.settings import FIRST, draw
from dpselect.rehearse.simulate.tables import SEED


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
