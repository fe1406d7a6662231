"""The exact chance of every candidate under the paper's noisy minimum: Laplace noise on every score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpselect.rehearse.chances.survival import survival_integrals, unit_rule

Floats = NDArray[np.float64]

NEAR_KINKS = 64
"""This many least distances are treated as kinks of the integrand, one by one; the others by a power series."""
REACH = 45.0
"""exp(-REACH) is nothing."""
SERIES_TERMS = 32
"""Of the power series in numbers that are at most 1/2."""

_NODES, _WEIGHTS = unit_rule(16)
_EVEN_STEPS = np.arange(0.0, REACH + 1.5, 1.5)


def laplace_log_chances(distances: Floats) -> Floats:
    """The logarithm of every chance; `distances` is (..., K), each row's least is 0.

    With a_j the distances, Q the standard Laplace's survival function and E(z) = exp(z) prod_j Q(z - a_j), integrating
    over the least noisy score z gives

        P(i) = exp(-a_i) * integral of g(z - a_i) E(z) dz,    g(x) = 1/(2 - exp(x)) for x < 0, exp(-x) for x >= 0,

    because the Laplace density is exp(x) g(x) Q(x) with that g on either side of 0. Every factor is positive, so each
    P(i) keeps its relative accuracy, however small it is. For z < 0 put t = exp(z): the integrand is the product of
    `survival_integrals` with p_j = exp(-a_j)/2. For z >= 0, E falls, by half at least at every kink a_j, and like
    exp(-z) past the second one: only the kinks of the NEAR_KINKS least distances matter, and only up to REACH past the second.

    Source: ours.
    Tested: tests/rehearse/chances/test_all.py
    """
    rows = distances.reshape(-1, distances.shape[-1])
    logs = np.full(rows.shape, -np.inf)
    for row, log in zip(rows, logs, strict=True):
        reachable = np.isfinite(row)
        log[reachable] = _one_row(row[reachable])
    return logs.reshape(distances.shape)


def _one_row(distances: Floats) -> Floats:
    if distances.size == 1:
        return np.zeros(1)
    total = 0.5 * survival_integrals(np.exp(-distances) / 2)
    order = np.argsort(distances, kind="stable")
    total[order] += _above_the_least(distances[order])
    logs: Floats = np.log(total) - distances
    return logs


def _above_the_least(distances: Floats) -> Floats:
    """The integral of g(z - a_i) E(z) over z >= 0, for sorted distances."""
    near, far = distances[:NEAR_KINKS], distances[NEAR_KINKS:]
    edge = near[-1]
    powers = _power_sums(np.exp(edge - far))
    points = _panel_points(near, np.inf if far.size == 0 else edge)
    alive = _log_E(points[:-1], near, powers) > -REACH
    start, width = points[:-1][alive], np.diff(points)[alive]
    z = (start[:, np.newaxis] + width[:, np.newaxis] * _NODES).ravel()
    mass = (width[:, np.newaxis] * _WEIGHTS).ravel() * np.exp(_log_E(z, near, powers))
    ahead = z[:, np.newaxis] - near
    g = np.where(ahead < 0, 1 / (2 - np.exp(np.minimum(ahead, 0.0))), np.exp(-np.maximum(ahead, 0.0)))
    integrals: Floats = mass @ g
    if far.size == 0:
        return integrals
    return np.concatenate([integrals, _far_integrals(np.exp(edge - far), mass, np.exp(z - edge) / 2)])


def _panel_points(near: Floats, edge: float) -> Floats:
    """Ends of the panels: the kinks, and steps of 3/2 where E changes; between them E is flat to exp(-REACH)."""
    second = near[1]
    points = np.concatenate([near, _EVEN_STEPS, second - _EVEN_STEPS, second + _EVEN_STEPS])
    return np.unique(np.clip(points, 0.0, min(second + REACH, edge)))


def _power_sums(ratios: Floats) -> Floats:
    """sum_j ratios_j^k for k = 1 .. SERIES_TERMS."""
    power = np.ones_like(ratios)
    sums = np.zeros(SERIES_TERMS)
    for k in range(SERIES_TERMS):
        power = power * ratios
        sums[k] = power.sum()
    return sums


def _log_E(z: Floats, near: Floats, powers: Floats) -> Floats:
    """Log E(z) for z >= 0, up to the edge where the far distances begin.

    The nearest candidate's factor times exp(z) is 1/2 exactly. A far one's log(1 - u/2 ratio_j), u = exp(z - edge) <= 1,
    is minus the series sum_k (u/2)^k ratio_j^k / k.
    """
    ahead = z[:, np.newaxis] - near[1:]
    survival = np.where(ahead < 0, np.log1p(-np.exp(np.minimum(ahead, 0.0)) / 2), -ahead - np.log(2.0))
    if not powers.any():
        logs: Floats = survival.sum(axis=1) - np.log(2.0)
        return logs
    half = np.exp(np.minimum(z - near[-1], 0.0)) / 2
    series = np.zeros_like(z)
    for k in range(SERIES_TERMS, 0, -1):
        series = half * (series + powers[k - 1] / k)
    logs = survival.sum(axis=1) - np.log(2.0) - series
    return logs


def _far_integrals(ratios: Floats, mass: Floats, half: Floats) -> Floats:
    """Sum over nodes of mass / (2 - 2 half ratio_i), as the series 1/2 sum_k (half ratio_i)^k."""
    moments = [(mass * half**k).sum() for k in range(SERIES_TERMS)]
    total = np.zeros_like(ratios)
    for moment in reversed(moments):
        total = total * ratios + moment
    return total / 2
