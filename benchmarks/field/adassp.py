"""AdaSSP: noisy moments with a ridge that adapts to how well they are conditioned. No intervals.

Wang, "Revisiting differentially private linear regression", UAI 2018, arXiv:1803.02596, Algorithm 2, with its constants
(failure chance 0.05). Rows with ||x|| <= sqrt(d), |y| <= 1; neighbours add or remove a row.
"""

import numpy as np

FAILURE = 0.05


def coefficients(products: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    """From exact moments of rows (1, x, y) in [-1, 1]."""
    width = len(products) - 1
    log = np.log(6 / delta)
    scale = np.sqrt(log) / (epsilon / 3)
    gram, cross = products[:width, :width], products[:width, width]
    least = np.linalg.eigvalsh(gram)[0] + scale * width * (rng.standard_normal() - np.sqrt(log))
    ridge = max(0.0, scale * width * np.sqrt(width * np.log(2 * width**2 / FAILURE)) - max(0.0, least))
    upper = np.triu(rng.standard_normal((width, width)))
    noisy = gram + scale * width * (upper + np.triu(upper, 1).T) + ridge * np.eye(width)
    return np.linalg.solve(noisy, cross + scale * np.sqrt(width) * rng.standard_normal(width))
