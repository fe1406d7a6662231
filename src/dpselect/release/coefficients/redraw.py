"""Public. What could have been released: entries redrawn from a fitted model. Protects nothing, so NumPy may draw."""

from __future__ import annotations

import numpy as np

from dpselect.release.coefficients.normal_equations import Fit, Floats

Seed = tuple[int, ...]


def redrawn_moments(fit: Fit, count: int, seed: Seed) -> Floats:
    """Moments of `count` tables with the fitted rows, their responses drawn anew, before any privacy noise.

    The responses are normal around the fitted ones; only their sums with the columns and their squares are needed.
    """
    generator = np.random.default_rng([*seed, 0])
    gram, coefficients = fit.gram[0], fit.coefficients[0]
    width, rows, variance = len(coefficients), fit.rows[0], fit.variance[0]
    sums = generator.standard_normal((count, width)) @ np.linalg.cholesky(gram).T * np.sqrt(variance)
    squares = variance * rows * (1 + np.sqrt(2 / rows) * generator.standard_normal(count))
    moments = np.empty((count, width + 1, width + 1))
    moments[:, :width, :width] = gram
    moments[:, :width, width] = moments[:, width, :width] = gram @ coefficients + sums
    moments[:, width, width] = coefficients @ gram @ coefficients + 2 * sums @ coefficients + squares
    return moments


def redrawn_noise(variances: Floats, laplace: bool, count: int, seed: Seed) -> Floats:
    """The noise on the entries, drawn anew with its own law and deviations."""
    generator = np.random.default_rng([*seed, 1])
    shape = (count, len(variances))
    draws = generator.laplace(0, np.sqrt(0.5), shape) if laplace else generator.standard_normal(shape)
    return draws * np.sqrt(variances)
