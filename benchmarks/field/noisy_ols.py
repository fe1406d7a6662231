"""dp-statsmodels: least squares from noisy moments, with standard errors that count the noise.

Ghenis, "Differentially Private Regression with Valid Statistical Inference" (2024), MaxGhenis/dp-statsmodels, not on PyPI.
Sections 3.2 and 3.3 of its paper and models/ols.py: 40% of epsilon for X'X, 40% for X'y, 20% for y'y, a third of delta each, noise
sensitivity * sqrt(2 log(1.25/delta))/epsilon, sensitivities (U - L)^2 k, (U - L)(U_y - L_y) sqrt(k), (U_y - L_y)^2, all columns
with one pair of limits. If noise makes X'X indefinite, its most negative eigenvalue is added to the diagonal.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Fit:
    """Intercept first; intervals are `coefficients` plus and minus 1.96 `errors`."""

    coefficients: np.ndarray
    errors: np.ndarray


def deviations(width: int, span: float, y_span: float, epsilon: float, delta: float) -> tuple[float, float, float]:
    """Of the noise in X'X, X'y and y'y."""
    factor = np.sqrt(2 * np.log(1.25 / (delta / 3))) / epsilon
    return span**2 * width * factor / 0.4, span * y_span * np.sqrt(width) * factor / 0.4, y_span**2 * factor / 0.2


def regress(
    x: np.ndarray,
    y: np.ndarray,
    limits: tuple[float, float],
    y_limits: tuple[float, float],
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> Fit:
    """Columns `x` without a constant, all within `limits`."""
    n = len(y)
    rows = np.column_stack([np.ones(n), x])
    width = rows.shape[1]
    of_gram, of_cross, of_total = deviations(width, limits[1] - limits[0], y_limits[1] - y_limits[0], epsilon, delta)
    upper = np.triu(rng.normal(0, of_gram, (width, width)))
    gram = rows.T @ rows + upper + np.triu(upper, 1).T
    cross = rows.T @ y + rng.normal(0, of_cross, width)
    total = y @ y + rng.normal(0, of_total)
    least = np.linalg.eigvalsh(gram)[0]
    if least <= 0:
        gram = gram + (abs(least) + 1e-6) * np.eye(width)
    inverse = np.linalg.inv(gram)
    b = inverse @ cross
    residual = max((total - b @ cross) / (n - width), 1e-10)
    of_noise = (of_cross**2 + of_gram**2 * (b @ b)) * (inverse**2).sum(axis=1)
    return Fit(b, np.sqrt(np.maximum(residual * np.diag(inverse) + of_noise, 1e-10)))
