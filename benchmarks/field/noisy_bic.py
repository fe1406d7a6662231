"""BIC on noisy moments, which knows how noisy they are: forward, one column after the other.

What one would build from parts: one Gaussian release of the table's second moments (Vu and Slavkovic 2009; Sheffet 2017,
arXiv:1507.02482), then BIC's rule, "a term enters if its squared t is above log n", with the variance of the privacy noise in t.
Without that variance, noise is taken for effects. Neighbours replace a row, as dpselect's do.
"""

import numpy as np

from benchmarks.field.gaussian import mu_of


def design(table) -> np.ndarray:
    """Rows (1, x, y), all scaled to [-1, 1] by the stated limits."""
    x = 2 * (np.clip(table.x, table.lower, table.upper) - table.lower) / (table.upper - table.lower) - 1
    low, high = table.y_limits
    return np.column_stack([np.ones(len(x)), x, 2 * (np.clip(table.y, low, high) - low) / (high - low) - 1])


def sensitivity(width: int) -> float:
    """Euclidean, of the upper triangle of the sum of rows' products, when a row of `width` cells (1, x, y) is replaced.

    A product of two different cells is in [-1, 1], so it moves by at most 2; a square is in [0, 1]; n is public.
    """
    return float(np.sqrt(4 * width * (width - 1) / 2 + (width - 1)))


def noisy_moments(
    products: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """The moments with noise, and its deviation."""
    width = len(products)
    deviation = sensitivity(width) / mu_of(epsilon, delta)
    upper = np.triu(rng.normal(0, deviation, (width, width)))
    upper[0, 0] = 0
    return products + upper + np.triu(upper, 1).T, deviation


def choose(products: np.ndarray, n: int, epsilon: float, delta: float, rng: np.random.Generator) -> tuple[int, ...]:
    """Columns of x, from exact `products` of `design`."""
    noisy, deviation = noisy_moments(products, epsilon, delta, rng)
    kept, left = [0], list(range(1, len(products) - 1))
    while left:
        squared_t = []
        for column in left:
            b, variance = fit(noisy, [*kept, column], n, deviation)
            squared_t.append(b[-1] ** 2 / variance[-1])
        best = int(np.argmax(squared_t))
        if squared_t[best] < np.log(n):
            break
        kept.append(left.pop(best))
    return tuple(sorted(each - 1 for each in kept[1:]))


def fit(noisy: np.ndarray, kept: list[int], n: int, deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and variances: sampling's, and that of the noise in moments with the response and among columns."""
    gram, cross = noisy[np.ix_(kept, kept)], noisy[kept, -1]
    # Noise can make the smallest eigenvalues negative; what is below its own size is noise, so it is lifted to that.
    values, vectors = np.linalg.eigh(gram)
    inverse = (vectors / np.maximum(values, max(2 * deviation * np.sqrt(len(kept)), 1e-9))) @ vectors.T
    b = inverse @ cross
    residual = max((noisy[-1, -1] - b @ cross) / n, 1e-6)
    of_noise = deviation**2 * (1 + b @ b)
    return b, np.diag(inverse @ (residual * gram + of_noise * np.eye(len(kept))) @ inverse).clip(1e-300)
