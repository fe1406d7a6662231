"""The door of rehearse: losses and probabilities from X and y."""

import numpy as np
import pytest
from sklearn.linear_model import lars_path

import dpselect
from dpselect.assume.lemmas.sensitivity import loss_range
from dpselect.errors import DataError

GENERATOR = np.random.default_rng(5)
X = GENERATOR.uniform(-1, 1, (300, 4))
Y = X @ [1.0, 0.7, 0.0, -0.4] + GENERATOR.normal(size=300)
SIZES = np.bitwise_count(np.arange(1, 16)).astype(float)


def lasso_loss(columns: list[int], radius: float) -> float:
    """The loss by scikit-learn's own lasso path, cut where the norm reaches the radius."""
    _, _, path = lars_path(X[:, columns], Y, method="lasso")
    norms = np.abs(path).sum(axis=0)
    if norms[-1] <= radius:
        beta = path[:, -1]
    else:
        k = int(np.searchsorted(norms, radius))
        share = (radius - norms[k - 1]) / (norms[k] - norms[k - 1])
        beta = path[:, k - 1] + share * (path[:, k] - path[:, k - 1])
    return float(((Y - X[:, columns] @ beta) ** 2).sum())


@pytest.mark.parametrize("radius", [0.3, 1.0, 2.0, 10.0])
def test_losses_are_those_of_scikit_learns_lasso_path_in_mask_order(radius):
    expected = [lasso_loss([j for j in range(4) if mask >> j & 1], radius) for mask in range(1, 16)]
    assert dpselect.rehearse.losses(X, Y, R=radius) == pytest.approx(expected, rel=1e-9)


def test_a_stated_r_clips_the_response():
    expected = dpselect.rehearse.losses(X, np.clip(Y, -1, 1), R=1, r=1)
    assert dpselect.rehearse.losses(X, Y, R=1, r=1) == pytest.approx(expected, rel=1e-12)


def test_losses_of_listed_candidates():
    every = dpselect.rehearse.losses(X, Y, R=1)
    some = dpselect.rehearse.losses(X, Y, R=1, candidates=[(0,), (1, 2), (0, 1, 2, 3)])
    assert some == pytest.approx(every[[0, 5, 14]], rel=1e-9)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
def test_exponential_probabilities_are_a_softmax_of_the_scores(neighbors):
    settings = {"epsilon": 2.0, "r": 3.0, "R": 1.5, "phi": 12.0}
    found = dpselect.rehearse.probabilities(X, Y, mechanism="exponential", neighbors=neighbors, **settings)
    scores = dpselect.rehearse.losses(X, Y, R=1.5, r=3.0) + 12.0 * SIZES
    logits = -2.0 * scores / loss_range(3.0, 1.5, neighbors)
    expected = np.exp(logits - logits.max())
    assert found == pytest.approx(expected / expected.sum(), abs=1e-5)


@pytest.mark.parametrize("method", ["pcls", "pcpl"])
@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential", "laplace"])
def test_probabilities_add_up_to_one(method, mechanism):
    delta = 1e-3 if method == "pcpl" else None
    found = dpselect.rehearse.probabilities(
        X, Y, method=method, epsilon=5, delta=delta, r=3, R=1, phi=5.0, mechanism=mechanism
    )
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert found.min() > 0


@pytest.mark.parametrize(
    ("table", "response"), [(X, Y[:5]), (np.full((3, 2), np.nan), np.zeros(3)), (X, np.full(300, np.inf))]
)
def test_losses_need_finite_numbers(table, response):
    with pytest.raises(DataError):
        dpselect.rehearse.losses(table, response, R=1)


def test_a_response_of_zeros_has_no_loss():
    assert dpselect.rehearse.losses(X, np.zeros(300), R=1).tolist() == [0.0] * 15
