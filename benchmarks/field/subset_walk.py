"""Private best subset by a random walk: Metropolis-Hastings on models of s columns, told s.

Roy, Wang, Tewari, "On the Computational Complexity of Private High-dimensional Model Selection", NeurIPS 2024, arXiv:2310.07852;
its code is roysaptaumich/DP-BSS, not on PyPI. Weights exp(-epsilon loss_K(S)/(r + K)^2), loss_K the least squares with
||b||_1 <= K, |x| <= 1, |y| <= r. That is the exponential mechanism without its factor 2, so a loss that may rise in one model and
fall in another costs 2 epsilon: here the price is the one stated, so the weight has half of it. What leaves the walk is
private only as far as the walk has mixed. Setting: n = 900, p = 2000, s = 4, columns uniform on
[-1, 1], errors on [-0.1, 0.1], K = 3.5.
"""

import math

import numpy as np

SPARSITY, RADIUS = 4, 3.5


def generate(n: int, p: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """The strong signal of the paper: (x, y, a public limit of |y|)."""
    effect = 2 * math.sqrt(SPARSITY * math.log(p) / n)
    x = rng.uniform(-1, 1, (n, p))
    return x, effect * x[:, :SPARSITY].sum(axis=1) + rng.uniform(-0.1, 0.1, n), SPARSITY * effect + 0.1


def loss(gram: np.ndarray, cross: np.ndarray, total: float, radius: float) -> float:
    """Least squares with ||b||_1 <= radius, from moments."""
    b = np.linalg.solve(gram, cross)
    if np.abs(b).sum() <= radius:
        return total - b @ cross
    from sklearn.linear_model import lars_path_gram

    _, _, path = lars_path_gram(cross, gram, n_samples=1, method="lasso")
    norms = np.abs(path).sum(axis=0)
    after = int(np.searchsorted(norms, radius))
    share = (radius - norms[after - 1]) / (norms[after] - norms[after - 1])
    b = (1 - share) * path[:, after - 1] + share * path[:, after]
    return total - 2 * b @ cross + b @ gram @ b


def walk(
    x: np.ndarray,
    y: np.ndarray,
    limit: float,
    epsilon: float,
    steps: int,
    rng: np.random.Generator,
    s: int = SPARSITY,
    radius: float = RADIUS,
) -> tuple[int, ...]:
    """Where the walk is after `steps`, from a random model: each step proposes to exchange one column for another."""
    p = x.shape[1]
    gram, cross, total = x.T @ x, x.T @ y, float(y @ y)
    weight = epsilon / (2 * (limit + radius) ** 2)
    here = rng.choice(p, s, replace=False)
    value = loss(gram[np.ix_(here, here)], cross[here], total, radius)
    places, columns, chances = rng.integers(0, s, steps), rng.integers(0, p, steps), np.log(rng.random(steps))
    for place, column, chance in zip(places, columns, chances, strict=True):
        if column in here:
            continue
        there = here.copy()
        there[place] = column
        new = loss(gram[np.ix_(there, there)], cross[there], total, radius)
        if chance <= weight * (value - new):
            here, value = there, new
    return tuple(sorted(here.tolist()))
