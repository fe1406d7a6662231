import numpy as np
import pytest

from dpselect.assume.lemmas.moment_layout import moment_layout
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Categorical, Numeric
from dpselect.gather.table import gather_table
from dpselect.randomize.moment_noise import moment_noise
from dpselect.randomize.noisy_moments import NoisyMoments, weighted_integers
from dpselect.release.coefficients.normal_equations import equations, noise_covariance, positive_gram, solve


def example(neighbors="replace-one", epsilon=1.0, n=4000, intercept="always"):
    """A table with a number, a sign and a category, its exact entries, and the noise that a release would have."""
    generator = np.random.default_rng(11)
    X = np.column_stack([generator.uniform(-1, 1, n), generator.integers(0, 2, n), generator.integers(0, 3, n)])
    y = 0.3 * X[:, 0] - 0.2 * X[:, 1] + 0.1 * (X[:, 2] == 2) + generator.uniform(-0.2, 0.2, n)
    predictors = [Numeric("u", -1, 1), Categorical("sex", [0, 1]), Categorical("county", [0, 1, 2])]
    assumptions = Assumptions(Numeric("y", -1, 1), predictors, neighbors=neighbors, intercept=intercept)
    layout = moment_layout(assumptions, range(len(assumptions.columns)))
    noise = moment_noise(layout, epsilon, 1e-6)
    exact = weighted_integers(gather_table((X, y), assumptions), layout, noise.scale)
    noisy = NoisyMoments(
        layout=layout, noise=noise, values=tuple(exact), known_rows=n if neighbors == "replace-one" else None
    )
    design = np.column_stack([np.ones(n), X[:, 0], X[:, 1], X[:, 2] == 1, X[:, 2] == 2])
    return noisy, design if intercept == "always" else design[:, 1:], y


@pytest.mark.parametrize("intercept", ["always", "none"])
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
def test_with_a_large_epsilon_it_is_least_squares(neighbors, intercept):
    noisy, design, y = example(neighbors, epsilon=1e6, intercept=intercept)
    fit = solve(noisy.entries[None], equations(noisy, list(range(design.shape[1]))))
    expected, *_ = np.linalg.lstsq(design, y, rcond=None)
    residual = y - design @ expected
    assert fit.coefficients[0] == pytest.approx(expected, abs=1e-5)
    assert fit.variance[0] == pytest.approx(residual @ residual / (len(y) - design.shape[1]), rel=1e-4)
    classical = fit.variance[0] * np.linalg.inv(design.T @ design)
    assert fit.covariance[0] == pytest.approx(classical, rel=1e-2, abs=1e-9)


def test_a_submodel_is_the_smaller_least_squares():
    noisy, design, y = example(epsilon=1e6)
    fit = solve(noisy.entries[None], equations(noisy, [1, 2]))  # no intercept, and the sign is a dummy again
    expected, *_ = np.linalg.lstsq(design[:, [1, 2]], y, rcond=None)
    assert fit.coefficients[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
def test_the_covariance_of_the_noise_is_that_of_simulated_noise(neighbors):
    """40,000 draws with a fixed seed: each variance is within 4 deviations of its own estimate."""
    noisy, design, _ = example(neighbors)
    model = equations(noisy, list(range(design.shape[1])))
    b = np.array([0.2, 0.3, -0.2, 0.1, 0.05])
    draws = np.random.default_rng(2).standard_normal((40_000, len(model.variances))) * np.sqrt(model.variances)
    moved = np.tensordot(draws, model.patterns, axes=1)
    equations_noise = moved[:, :5, 5] - moved[:, :5, :5] @ b
    simulated = np.cov(equations_noise.T)
    stated = noise_covariance(b[None], model)[0]
    scale = np.sqrt(np.outer(np.diag(stated), np.diag(stated)))
    assert np.abs(simulated - stated).max() <= 4 * np.sqrt(2 / 40_000) * scale.max()


def test_the_gram_is_positive_definite_whatever_the_noise():
    noisy, _, _ = example(epsilon=0.01, n=50)
    model = equations(noisy, list(range(5)))
    draws = np.random.default_rng(3).standard_normal((500, len(model.variances))) * np.sqrt(model.variances)
    fit = solve(noisy.entries + draws, model)
    assert np.linalg.eigvalsh(fit.gram).min() > 0
    assert np.isfinite(fit.coefficients).all() and np.isfinite(fit.covariance).all()
    raw = model.known + np.tensordot(noisy.entries + draws, model.patterns, axes=1)
    assert (np.linalg.eigvalsh(raw[:, :5, :5]).min(axis=1) < 0).any()  # it was needed


def test_shrinking_fades_with_the_square_of_the_noise():
    changes = []
    for epsilon in (1.0, 10.0):
        noisy, _, _ = example(epsilon=epsilon)
        model = equations(noisy, list(range(5)))
        gram = (model.known + np.tensordot(noisy.entries, model.patterns, axes=1))[None, :5, :5]
        changes.append(np.linalg.norm(positive_gram(gram, np.array([4000.0]), model) - gram))
    # The noise falls by ten or more (Gaussian noise, then Laplace), what is added by its square.
    assert changes[1] < changes[0] / 50
