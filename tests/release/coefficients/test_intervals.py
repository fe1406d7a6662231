import numpy as np
import pytest
from scipy.stats import chi2, norm

from dpselect.assume.lemmas.moment_layout import moment_layout
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Numeric
from dpselect.errors import AssumptionError
from dpselect.randomize.moment_noise import moment_noise
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.release.coefficients.intervals import (
    Redraws,
    check_kind,
    check_level,
    half_widths,
    scheffe,
    standard_errors,
)
from dpselect.release.coefficients.normal_equations import equations, solve


def fitted(epsilon=5.0, n=2000, width=3):
    assumptions = Assumptions(Numeric("y", -1, 1), [Numeric(f"x{j}", -1, 1) for j in range(width - 1)])
    layout = moment_layout(assumptions, range(width))
    noise = moment_noise(layout, epsilon, 1e-6, noise="gaussian")
    noisy = NoisyMoments(layout=layout, noise=noise, values=(0,) * len(layout.entries), known_rows=n)
    model = equations(noisy, list(range(width)))
    generator = np.random.default_rng(8)
    z = np.column_stack([np.ones(n), generator.uniform(-1, 1, (n, width - 1)), generator.uniform(-1, 1, n)])
    entries = np.array([[z[:, c[0][0]] @ z[:, c[0][1]] for c in layout.entries]])
    return solve(entries, model), model


def widths(fit, model, kind, level=0.95):
    return half_widths(fit, model, np.eye(3), level=level, kind=kind, redraws=Redraws(False, 5), columns=4)


def test_delta_intervals_are_normal_quantiles_of_the_standard_errors():
    fit, model = fitted()
    errors = np.sqrt(np.diag(fit.covariance[0]))
    assert widths(fit, model, "delta", 0.9) == pytest.approx(norm.ppf(0.95) * errors)


def test_bootstrap_agrees_with_delta_where_noise_is_small():
    fit, model = fitted(epsilon=20.0, n=20_000)
    assert widths(fit, model, "bootstrap") == pytest.approx(widths(fit, model, "delta"), rel=0.1)


def test_bootstrap_is_the_same_every_time():
    fit, model = fitted()
    assert widths(fit, model, "bootstrap").tolist() == widths(fit, model, "bootstrap").tolist()


def test_after_selection_is_wider_than_both():
    fit, model = fitted()
    assert (widths(fit, model, "after-selection") > widths(fit, model, "delta")).all()


def test_wider_at_a_higher_level():
    fit, model = fitted()
    for kind in ("delta", "bootstrap", "after-selection"):
        assert (widths(fit, model, kind, 0.99) > widths(fit, model, kind, 0.8)).all()


@pytest.mark.parametrize("columns", [1, 2, 6, 30])
@pytest.mark.parametrize("level", [0.9, 0.975, 0.995])
def test_scheffe_is_the_root_of_a_chi_squared_quantile(columns, level):
    assert scheffe(columns, level) == pytest.approx(np.sqrt(chi2.ppf(level, columns)), rel=0.02)


def test_scheffe_is_never_short():
    for columns in range(1, 65):
        for level in np.linspace(0.75, 0.9995, 100):
            assert scheffe(columns, level) >= np.sqrt(chi2.ppf(level, columns)) * (1 - 1e-12)


def test_standard_errors_of_combinations():
    fit, _ = fitted()
    direction = np.array([[1.0, -2.0, 0.5]])
    assert standard_errors(fit, direction)[0, 0] ** 2 == pytest.approx(direction[0] @ fit.covariance[0] @ direction[0])


@pytest.mark.parametrize("level", [0.3, 1.0, float("nan"), 95])
def test_impossible_levels_are_refused(level):
    with pytest.raises(AssumptionError, match="level is"):
        check_level(level)


def test_unknown_kinds_are_refused():
    with pytest.raises(AssumptionError, match="intervals is 'exact'"):
        check_kind("exact")
