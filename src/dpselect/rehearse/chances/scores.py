"""Private. Confidential: the exact chance of one candidate, or of all, in a selection from a list of scores.

Permute-and-flip and the exponential mechanism by an integral over all candidates; the Laplace mechanism by quadrature.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from dpselect.assume.recipe import MECHANISMS, Mechanism
from dpselect.errors import StudyError

Floats = NDArray[np.float64]

DECAY = 48.0
"""The integrand falls by exp(-DECAY) over the interval that is kept."""


def unit_rule(nodes: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    node, weight = leggauss(nodes)
    return (node + 1) / 2, weight / 2


def _check(epsilon: float, mechanism: Mechanism) -> None:
    if mechanism not in MECHANISMS:
        raise StudyError(f"mechanism={mechanism!r} is not known: choose one of {', '.join(MECHANISMS)}.")
    if not epsilon > 0:
        raise StudyError(f"epsilon={epsilon!r} is not a privacy cost: give a positive number.")


VOTES_LAWS = ("permute-and-flip", "exponential")


def require_votes_law(mechanism: Mechanism) -> None:
    """Refuse all other noise, such as Laplace's: of votes no list of scores is made, which its chances would need."""
    if mechanism not in VOTES_LAWS:
        raise StudyError("The chances of votes are known for permute-and-flip and exponential: choose one of them.")


_SURVIVAL_RULE = unit_rule(40)
_TOGETHER = 2**14


def survival_integrals(p: Floats, counts: Floats | float = 1.0) -> Floats:
    """For every i, the integral over 0 < t < 1 of prod_{j != i} (1 - p_j t), where 0 <= p <= 1 has shape (..., K).

    With `counts` there are so many equal p_j in place of one, and i stands for one of them.

    One Gauss rule of 40 nodes on [0, h], h = min(1, 48/S), S = sum p, is right to a relative 1e-12 for up to a million
    candidates, however the p are spread. Why: the integral is at least 1/(2S), because the product is at least
    1 - S t.  (1) Beyond h the product is at most exp(-S t + p_i t) <= exp(1 - 48), so what is cut off is below
    2 S exp(-47) of the integral. (2) With t = h x the integrand is a product of factors 1 - r_j x whose r_j >= 0 add up to
    at most 48, so it is at most exp(48 |x|) for complex x. A Gauss rule of N nodes errs by at most a few times
    max |f| rho^(-2N) over the ellipse with sum of half axes rho (times half the length); with rho = 8N/48 that is
    exp(24 + 2N) (N/6)^(-2N) = exp(-48) for N = 40.

    Source: ours; the error bound is Trefethen, *Approximation Theory and Approximation Practice*, Theorem 19.3.
    Tested: tests/rehearse/chances/test_all.py
    """
    mass = (counts * p).sum(axis=-1, keepdims=True)
    length = np.minimum(1.0, DECAY / np.maximum(mass, 1.0))
    total = np.zeros_like(p)
    together = max(1, _TOGETHER // max(p.size, 1))
    for start in range(0, len(_SURVIVAL_RULE[0]), together):
        # As many nodes at a time as a cache has room for: of few candidates all, and calls cost more than numbers.
        nodes, weights = (each[start : start + together].reshape(-1, *(1,) * p.ndim) for each in _SURVIVAL_RULE)
        step = -p * (length * nodes)
        product = np.exp((counts * np.log1p(step)).sum(axis=-1, keepdims=True))
        parts = weights * product / (1.0 + step)
        total += parts[0] if together == 1 else parts.sum(axis=0)
    integrals: Floats = total * length
    return integrals


NEAR_KINKS = 64
"""This many least distances are treated as kinks of the integrand, one by one; the others by a power series."""
REACH = 45.0
"""exp(-REACH) is nothing."""
SERIES_TERMS = 32
"""Of the power series in numbers that are at most 1/2."""

_LAPLACE_RULE = unit_rule(16)
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
    z = (start[:, np.newaxis] + width[:, np.newaxis] * _LAPLACE_RULE[0]).ravel()
    mass = (width[:, np.newaxis] * _LAPLACE_RULE[1]).ravel() * np.exp(_log_E(z, near, powers))
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


FLIP_DECAY = 24.0
_FLIP_RULE = unit_rule(20)
_MATRIX_CELLS = 2**15


def chance_of(
    index: int, values: Floats, range: float | Floats, epsilon: float, mechanism: Mechanism = "permute-and-flip"
) -> Floats:
    """The chance of candidate `index`; `values` is (..., K), low is good, `range` a number or an array of the leading shape.

    Right to an absolute 1e-9 for the exponential mechanism and permute-and-flip, and to 1e-3 for Laplace noise, whose
    integrand has kinks. Why it is enough: it is averaged over tables, which are only a sample.

    Tested: tests/rehearse/chances/test_one.py
    """
    _check(epsilon, mechanism)
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
    """p_i times the integral of prod_{j != i} (1 - p_j t): see `survival_integrals`, here with fewer nodes."""
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
        # exp(z) at the lower and the upper quantile of the noise: each has the chance node/2.
        for growth in (node, 1 / node):
            np.multiply(ahead, -growth, out=low)
            factors = np.where(low > -0.5, 1 + low, behind / growth)
            factors[index] = 1.0
            total += weight / 2 * np.multiply.reduce(factors, axis=0)
    return total


_CHANCE = {"permute-and-flip": _permute_and_flip, "exponential": _exponential, "laplace": _laplace}


def selection_probabilities(
    values: Floats, range: float | Floats, epsilon: float, mechanism: Mechanism = "permute-and-flip"
) -> Floats:
    """The chance of every candidate; `values` is (..., K), low is good, and the result has its shape.

    Every chance, however small, is right to a relative 1e-9 (until it underflows; then ask for the logarithms).
    `range` is the range of the scores' change, or an array of the leading shape of `values`. An infinite range makes the
    choice uniform; range 0 makes it uniform over the candidates of least score.

    Tested: tests/rehearse/chances/test_all.py
    """
    chances: Floats = np.exp(log_selection_probabilities(values, range, epsilon, mechanism))
    return chances


def log_selection_probabilities(
    values: Floats, range: float | Floats, epsilon: float, mechanism: Mechanism = "permute-and-flip"
) -> Floats:
    """The logarithm of every candidate's chance, to an absolute 1e-9, also where the chance itself underflows."""
    _check(epsilon, mechanism)
    return _LOG_CHANCES[mechanism](_distances(values, range, epsilon))


def _distances(values: Floats, range: float | Floats, epsilon: float) -> Floats:
    gaps = np.asarray(values, dtype=np.float64)
    gaps = gaps - gaps.min(axis=-1, keepdims=True)
    scale = np.asarray(range, dtype=np.float64)[..., np.newaxis] / epsilon
    # A gap of 0 is a distance of 0 even when the scale is 0; a positive gap is then infinitely far.
    far = np.full(np.broadcast(gaps, scale).shape, np.inf)
    np.divide(gaps, scale, out=far, where=scale > 0)
    distances: Floats = np.where(gaps > 0, far, 0.0)
    return distances


def _exponential_log_chances(distances: Floats) -> Floats:
    logs: Floats = -distances - np.log(np.exp(-distances).sum(axis=-1, keepdims=True))
    return logs


def _permute_and_flip_log_chances(distances: Floats) -> Floats:
    """Log of P(i) = p_i * integral over 0 < t < 1 of prod_{j != i} (1 - p_j t), with p_j = exp(-distance_j).

    Why: candidate j reports distance_j - E_j with E_j standard exponential, and i wins with the value v when every other
    one stays above it: integrate exp(v - distance_i) prod_{j != i} (1 - exp(v - distance_j)) over v < 0, because at v = 0
    the best candidate's factor vanishes, and put t = exp(v). That this is permute-and-flip is Ding, Kifer, Steinke, Wang,
    Xiao and Zhang, *The permute-and-flip mechanism is identical to report-noisy-max with exponential noise* (2021).
    """
    return -distances + np.log(survival_integrals(np.exp(-distances)))


_LOG_CHANCES = {
    "permute-and-flip": _permute_and_flip_log_chances,
    "exponential": _exponential_log_chances,
    "laplace": laplace_log_chances,
}
