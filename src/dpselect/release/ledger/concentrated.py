"""Public. From zCDP to (epsilon, delta): OpenDP converts, always rounded up."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from dpselect.randomize.opendp_door import opendp
from dpselect.release.ledger.prices import DELTA_UNIT, EPSILON_UNIT, RHO_UNIT


def guess(rho: int, delta: int) -> float:
    """About what `convert` will return, in units, a hundred times faster: it decides which plans are worth converting.

    The least over alpha > 1 of  rho alpha + (log(1/delta) + (alpha-1) log(1-1/alpha) - log alpha) / (alpha-1), found by
    golden section over log(alpha-1). No price rests on it.

    Source: Canonne, Kamath and Steinke, arXiv:2004.00010.
    Tested: tests/release/ledger/test_accounting.py
    """
    rate, need = rho / RHO_UNIT, math.log(DELTA_UNIT / delta)

    def epsilon(log_order: float) -> float:
        above = math.exp(log_order)  # alpha - 1
        order = 1 + above
        return rate * order + (need - math.log(order)) / above - math.log1p(1 / above)

    low, high, golden = -30.0, 60.0, (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if epsilon(left) < epsilon(right) else (left, high)
    return max(0.0, epsilon((low + high) / 2)) * EPSILON_UNIT


@lru_cache(maxsize=4096)
def convert(rho: int, delta: int) -> int | None:
    """The epsilon, in units, at which a rho-zCDP mechanism is (epsilon, delta)-DP; None if it is out of OpenDP's reach.

    OpenDP converts what one of its measurements satisfies, so the measurement is a Gaussian of scale 1 whose input
    distance d has d^2/2 at least rho; that rho is read back from OpenDP and compared. Roundings: rho up, delta down,
    epsilon up.
    """
    gaussian, converted, failure = _gaussian()
    rate = math.nextafter(rho / RHO_UNIT, math.inf)
    distance = math.sqrt(2 * rate)
    while not gaussian.map(distance) >= rate:
        distance = math.nextafter(distance, math.inf)
    try:
        epsilon: float = converted.map(distance).epsilon(math.nextafter(delta / DELTA_UNIT, 0.0))
    except failure:
        return None
    if not 0 <= epsilon < math.inf:
        return None
    numerator, denominator = epsilon.as_integer_ratio()
    return -(-numerator * EPSILON_UNIT // denominator)


@lru_cache(maxsize=1)
def _gaussian() -> tuple[Any, Any, type[Exception]]:
    """OpenDP's Gaussian of scale 1, the same with its price converted, and the error that OpenDP raises."""
    dp = opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    gaussian = dp.m.make_gaussian(*space, scale=1.0)
    return gaussian, dp.c.make_zCDP_to_approxDP(gaussian), dp.OpenDPException
