import math

import numpy as np
import pytest
from scipy.stats import chisquare, norm

from dpselect.assume.lemmas.moments import MomentScale, moment_layout
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DpselectError, StudyError
from dpselect.gather.moments import Moments
from dpselect.gather.rows import gather
from dpselect.randomize.noisy_moments import (
    MomentNoise,
    draw,
    moment_noise,
    noisy_moments,
    quieter_noise,
    weighted_integers,
)
from dpselect.randomize.opendp_door import MAX_CLAMPED_SUM

pytestmark = pytest.mark.real_chance

FALSE_ALARM = 1e-6


def a_study(width=2, **kwargs):
    predictors = [Numeric(f"x{j}", -1, 1) for j in range(width)]
    return Study(Numeric("y", -1, 1), predictors, **kwargs)


def noise_of(kind: str, spread: float) -> MomentNoise:
    scale = MomentScale(kind, 1, (1,), 1, 1)
    return MomentNoise(scale=scale, spread=spread, epsilon=1.0, delta=0.0, rho=None)


def law(kind: str, spread: float, values: np.ndarray) -> np.ndarray:
    """The chance of each whole number, by the formula of the discrete Laplace or Gaussian."""
    weights = np.exp(-np.abs(values) / spread) if kind == "laplace" else np.exp(-(values**2) / (2 * spread**2))
    every = np.arange(-400, 401)
    whole = np.exp(-np.abs(every) / spread) if kind == "laplace" else np.exp(-(every**2) / (2 * spread**2))
    return weights / whole.sum()


def p_value(kind: str, spread: float, stated: float, draws: int = 40_000) -> float:
    """Of draws at one spread against the law at another. OpenDP has no seed: false alarms come once in a million runs."""
    seen = np.array(draw([0] * draws, noise_of(kind, spread)))
    values = np.arange(-6, 7)
    inside = law(kind, stated, values)
    counts = [(seen == value).sum() for value in values]
    return chisquare([*counts, draws - sum(counts)], draws * np.array([*inside, 1 - inside.sum()])).pvalue


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_draws_follow_their_law(kind):
    assert p_value(kind, 2.5, 2.5) > FALSE_ALARM


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("gaussian", 0.94),
        ("laplace", 1.06),
        pytest.param("gaussian", 1.06, marks=pytest.mark.thorough),
        pytest.param("laplace", 0.94, marks=pytest.mark.thorough),
    ],
)
def test_noise_six_percent_off_on_either_side_would_be_caught(kind, wrong):
    assert p_value(kind, 2.5 * wrong, 2.5) < FALSE_ALARM


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_entries_are_the_moments_plus_noise_of_the_stated_deviation(kind):
    generator = np.random.default_rng(3)
    X, y = generator.uniform(-1, 1, (500, 3)), generator.uniform(-1, 1, 500)
    study = a_study(3)
    moments = gather((X, y), study)
    layout = moment_layout(study, [0, 1, 3])
    noise = moment_noise(layout, 1.0, 1e-6, noise=kind)
    Z = np.column_stack([np.ones(500), X[:, 0], X[:, 2], y])
    true = np.array([Z[:, c[0][0]] @ Z[:, c[0][1]] for c in layout.entries])
    drawn = [noisy_moments(moments, layout, noise) for _ in range(300)]
    scores = np.array([(one.entries - true) / one.deviations for one in drawn])
    # The mean and the mean square of 300 standardized draws of each entry, over all entries.
    assert abs(scores.mean()) < 5 / math.sqrt(scores.size)
    kurtosis = 3 if kind == "gaussian" else 6
    assert abs((scores**2).mean() - 1) < 5 * math.sqrt((kurtosis - 1) / scores.size)
    assert drawn[0].known_rows == 500


def test_without_noise_the_whole_numbers_are_the_moments():
    generator = np.random.default_rng(4)
    X = np.column_stack([generator.uniform(-1, 1, 200), generator.integers(0, 2, 200), generator.integers(0, 3, 200)])
    y = generator.uniform(-1, 1, 200)
    predictors = [Numeric("u", -1, 1), Categorical("sex", [0, 1]), Categorical("county", [0, 1, 2])]
    for neighbors in ("replace-one", "add-remove-one"):
        study = Study(Numeric("y", -1, 1), predictors, neighbors=neighbors)
        layout = moment_layout(study, range(5))
        noise = moment_noise(layout, 1.0, 1e-6, noise="gaussian")
        numbers = weighted_integers(gather((X, y), study), layout, noise.scale)
        exact = np.array(numbers) * 2.0 ** (24 - noise.scale.bits) / np.array(noise.scale.weights)
        sign = 2 * X[:, 1] - 1
        Z = np.column_stack([np.ones(200), X[:, 0], sign, X[:, 2] == 1, X[:, 2] == 2, y])
        for value, cells in zip(exact, layout.entries, strict=True):
            for i, j in cells:
                assert value == pytest.approx(Z[:, i] @ Z[:, j], abs=2e-4)


def test_prices_are_never_above_what_was_asked_and_hardly_below():
    layout = moment_layout(a_study(4), range(5))
    for epsilon, delta in [(0.1, 1e-6), (1.0, 1e-6), (5.0, 1e-9), (1.0, 0.1), (1e-9, 1e-18), (100.0, 1e-6)]:
        noise = moment_noise(layout, epsilon, delta, noise="gaussian")
        distance = noise.scale.sensitivity / noise.spread
        exact = norm.cdf(distance / 2 - epsilon / distance) - math.exp(epsilon) * norm.cdf(
            -distance / 2 - epsilon / distance
        )
        assert exact == pytest.approx(delta, rel=1e-4)
        assert noise.rho == pytest.approx(distance**2 / 2, rel=1e-12)
        laplace = moment_noise(layout, epsilon, delta, noise="laplace")
        assert laplace.scale.sensitivity / laplace.spread <= epsilon * (1 + 1e-15)
        assert laplace.scale.sensitivity / laplace.spread >= epsilon * (1 - 1e-9)
        assert laplace.delta == 0


def test_few_columns_get_laplace_noise_and_many_gaussian():
    kinds = [quieter_noise(moment_layout(a_study(width), range(width + 1)), 1.0, 1e-6) for width in range(1, 16)]
    assert kinds[0] == "laplace" and kinds[-1] == "gaussian"
    assert kinds == sorted(kinds, reverse=True)  # one change, from laplace to gaussian
    assert quieter_noise(moment_layout(a_study(15), range(16)), 1.0, 0.0) == "laplace"


def test_sums_too_large_are_clamped_not_wrapped():
    study = a_study(1)
    huge = np.full((3, 3), 2**90, dtype=object)
    moments = Moments(2**50, huge, ("intercept", "x0"), study.hash)
    layout = moment_layout(study, [0, 1])
    noise = moment_noise(layout, 1.0, 0.0)
    assert set(weighted_integers(moments, layout, noise.scale)) == {MAX_CLAMPED_SUM}
    assert min(noisy_moments(moments, layout, noise).values) > MAX_CLAMPED_SUM // 2


@pytest.mark.parametrize(
    "asked",
    [
        {"epsilon": 0.0, "delta": 0.0},
        {"epsilon": float("nan"), "delta": 0.0},
        {"epsilon": 1.0, "delta": 0.5},
        {"epsilon": 1.0, "delta": float("nan")},
        {"epsilon": 1.0, "delta": 0.0, "noise": "gaussian"},
        {"epsilon": 1.0, "delta": 0.0, "noise": "uniform"},
        {"epsilon": 1.0, "delta": 0.0, "rows_per_person": 0},
        {"epsilon": 1.0, "delta": 0.0, "rows_per_person": 1.5},
    ],
)
def test_impossible_requests_are_refused(asked):
    with pytest.raises(StudyError):
        moment_noise(moment_layout(a_study(), [0, 1]), **asked)


def test_rows_per_person_widen_the_noise_in_proportion():
    layout = moment_layout(a_study(), range(3))
    one, five = (moment_noise(layout, 1.0, 1e-6, rows_per_person=k).spread for k in (1, 5))
    assert five == pytest.approx(5 * one, rel=1e-6)


def test_a_failed_draw_says_nothing_of_what_it_was_given():
    with pytest.raises(DpselectError) as caught:
        draw([2**70 + 12345], noise_of("laplace", 1.0))
    assert "12345" not in str(caught.value) and caught.value.__context__ is None


def test_the_number_of_rows_is_known_where_neighbours_have_the_same():
    rng = np.random.default_rng(1)
    for neighbors, known in (("replace-one", 50), ("add-remove-one", None)):
        study = a_study(1, neighbors=neighbors)
        moments = gather((rng.uniform(-1, 1, (50, 1)), rng.uniform(-1, 1, 50)), study)
        places = moment_layout(study, range(2))
        assert noisy_moments(moments, places, moment_noise(places, 1.0, 0.0)).known_rows == known


def test_weighted_sums_are_rounded_to_the_nearest_whole_number():
    rng = np.random.default_rng(2)
    study, places = a_study(2), moment_layout(a_study(2), range(3))
    moments = gather((rng.uniform(-1, 1, (40, 2)), rng.uniform(-1, 1, 40)), study)
    scale = moment_noise(places, 1.0, 0.0).scale
    for cells, weight, found in zip(
        places.entries, scale.weights, weighted_integers(moments, places, scale), strict=True
    ):
        assert abs(2 * (moments.products[cells[0]] * weight - (int(found) << scale.shift))) <= 1 << scale.shift
