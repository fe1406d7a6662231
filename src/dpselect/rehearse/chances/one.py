"""The chance of one candidate in thousands of rehearsed choices at once: faster than the chances of all, and less exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.recipe import MECHANISMS, Mechanism
from dpselect.errors import StudyError
from dpselect.rehearse.chances.survival import unit_rule

Floats = NDArray[np.float64]

FLIP_DECAY = 24.0
_FLIP_RULE = unit_rule(20)
_LAPLACE_RULE = unit_rule(16)
_MATRIX_CELLS = 2**15


def chance_of(
    index: int, values: Floats, range: float | Floats, epsilon: float, mechanism: Mechanism = "permute-and-flip"
) -> Floats:
    """The chance of candidate `index`; `values` is (..., K), low is good, `range` a number or an array of the leading shape.

    Right to an absolute 1e-9 for the exponential mechanism and permute-and-flip, and to 1e-3 for Laplace noise, whose
    integrand has kinks. Why it is enough: it is averaged over tables, which are only a sample.

    Tested: tests/rehearse/chances/test_one.py
    """
    if mechanism not in MECHANISMS:
        raise StudyError(f"mechanism={mechanism!r} is not known: choose one of {', '.join(MECHANISMS)}.")
    if not epsilon > 0:
        raise StudyError(f"epsilon={epsilon!r} is not a privacy cost: give a positive number.")
    rows = values.reshape(-1, values.shape[-1])
    scales = np.broadcast_to(np.asarray(range, np.float64) / epsilon, values.shape[:-1]).reshape(-1)
    chances = np.empty(len(rows))
    step = max(1, _MATRIX_CELLS // rows.shape[1])
    for start in np.arange(0, len(rows), step):
        part = slice(start, start + step)
        # Candidates first, so that a product over them runs along whole vectors of rows.
        chances[part] = _CHANCE[mechanism](index, np.ascontiguousarray((rows[part] / scales[part, np.newaxis]).T))
    return chances.reshape(values.shape[:-1])


def _exponential(index: int, distances: Floats) -> Floats:
    chances: Floats = 1 / np.exp(np.minimum(distances[index] - distances, 700.0)).sum(axis=0)
    return chances


def _permute_and_flip(index: int, distances: Floats) -> Floats:
    """p_i times the integral of prod_{j != i} (1 - p_j t): see `chances` and `survival`, here with fewer nodes."""
    p = np.exp(distances.min(axis=0) - distances)
    length = np.minimum(1.0, FLIP_DECAY / p.sum(axis=0))
    total, factors = np.zeros(p.shape[1]), np.empty_like(p)
    for node, weight in zip(*_FLIP_RULE, strict=True):
        np.multiply(p, -node * length, out=factors)
        factors += 1.0
        factors[index] = 1.0
        total += weight * np.multiply.reduce(factors, axis=0)
    chances: Floats = p[index] * length * total
    return chances


def _laplace(index: int, distances: Floats) -> Floats:
    """The mean, over the noise z of candidate i, of prod_{j != i} P(noise of j > z + a_i - a_j)."""
    ahead = np.exp(np.clip(distances[index] - distances, -300.0, 300.0)) / 2
    behind = 0.25 / ahead
    total, low = np.zeros(ahead.shape[1]), np.empty_like(ahead)
    for node, weight in zip(*_LAPLACE_RULE, strict=True):
        for growth in (
            node,
            1 / node,
        ):  # exp(z) at the lower and the upper quantile of the noise: each has the chance node/2
            np.multiply(ahead, -growth, out=low)
            factors = np.where(low > -0.5, 1 + low, behind / growth)
            factors[index] = 1.0
            total += weight / 2 * np.multiply.reduce(factors, axis=0)
    return total


_CHANCE = {"permute-and-flip": _permute_and_flip, "exponential": _exponential, "laplace": _laplace}
