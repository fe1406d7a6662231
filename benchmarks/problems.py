"""The problem that all contestants solve: correlated columns, a response with signal and noise."""

import numpy as np

ROWS = 2000
RADIUS = 1.0
"""As large as the response's bound: the package's default. With these data it binds for most, not all, subsets."""


def problem(columns, seed=20261607):
    """(x, y, products): products as `Moments.scaled()` gives them, the response last."""
    rng = np.random.default_rng([seed, columns])
    x = 0.5 * rng.uniform(-1, 1, (ROWS, columns)) + 0.5 * rng.uniform(-1, 1, (ROWS, 1))
    y = np.clip(x @ rng.normal(0, 0.3, columns) + rng.normal(0, 0.2, ROWS), -1, 1)
    both = np.round(np.column_stack([x, y]) * 2**20) / 2**20
    return both[:, :-1], both[:, -1], both.T @ both


def some_subsets(columns, count, seed=1):
    """Random subsets, as tuples of columns: any non-empty one is as likely as any other."""
    masks = np.random.default_rng(seed).integers(1, 2**columns, count)
    return [tuple(j for j in range(columns) if mask >> j & 1) for mask in masks.tolist()]
