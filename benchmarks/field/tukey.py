"""TukeyEM: a point of large depth among least-squares fits of disjoint blocks of rows. No limits, no intervals.

Amin, Joseph, Ribero, Vassilvitskii, "Easy Differentially Private Linear Regression", ICLR 2023, arXiv:2208.07353; its code
is google-research/dp_regression, not on PyPI. Depth is the least over coordinates. Half of epsilon tests that the region of
depth above m/4 is stable, half draws from it with weights exp(epsilon depth). A test that fails releases nothing (zeros).
The paper's test adds Laplace noise of scale 1/epsilon; its code has scale epsilon, less than half as much at the epsilons here.
"""

import numpy as np

MODELS = 1000
"""The paper's number of blocks; where rows do not suffice, n // d, as the authors do in arXiv:2306.00920."""


def blocks_of(n: int, width: int) -> int:
    """How many models are fitted."""
    return MODELS if n >= MODELS * width else n // width


def models(rows: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Least squares in each of the blocks, of equal sizes."""
    count = blocks_of(*rows.shape)
    size = len(y) // count
    order = rng.permutation(len(y))[: count * size].reshape(count, size)
    x, response = rows[order], y[order]
    gram = np.einsum("bij,bik->bjk", x, x) + 1e-10 * np.eye(rows.shape[1])
    return np.linalg.solve(gram, np.einsum("bij,bi->bj", x, response)[..., None])[..., 0]


def coefficients(rows: np.ndarray, y: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    """Of rows with a constant."""
    fits = models(rows, y, rng)
    return deep_point(fits, epsilon, delta, rng)


def deep_point(fits: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    """The mechanism: one draw, or zeros if the test fails."""
    ordered = np.sort(fits.T + 1e-10 * rng.random(fits.T.shape), axis=1)
    width, count = ordered.shape
    half, depth = epsilon / 2, count // 4
    # widths[j, i - 1] is the length, along coordinate j, of the region of depth at least i.
    widths = (ordered[:, ::-1] - ordered)[:, : count // 2]
    volumes = np.log(widths).sum(axis=0)
    if safe_distance(volumes, half, delta, depth) + rng.laplace(scale=1 / half) <= np.log(1 / (2 * delta)) / half:
        return np.zeros(width)
    depths = np.arange(depth, len(volumes) + 1)
    exact = volumes[depth - 1 :].copy()
    exact[:-1] += np.log1p(-np.exp(volumes[depth:] - volumes[depth - 1 : -1]))
    drawn = depths[int((exact + half * depths + rng.gumbel(size=exact.size)).argmax())]
    if drawn == len(volumes):
        return rng.uniform(ordered[:, drawn - 1], ordered[:, -drawn])
    while True:  # uniform in the box of depth at least `drawn`, until it is not deeper
        point = rng.uniform(ordered[:, drawn - 1], ordered[:, -drawn])
        if ((point < ordered[:, drawn]) | (point > ordered[:, -drawn - 1])).any():
            return point


def safe_distance(volumes: np.ndarray, epsilon: float, delta: float, depth: int) -> int:
    """A lower bound on the rows to change before the draw is unstable; the largest k whose volumes grow slowly enough.

    log V(depth - k - 1) - log V(depth + k + 1 + g) <= epsilon g/2 + log(delta/8e^epsilon) for some g.
    """
    bar = np.log(delta) - np.log(8) - epsilon
    safe = -1
    for k in range(depth - 1):
        inner = volumes[depth + k + 1 : -1]
        if inner.size == 0:
            break
        grown = volumes[depth - k - 2] - inner - epsilon / 2 * np.arange(1, inner.size + 1)
        if grown.min() > bar:
            break
        safe = k
    return safe
