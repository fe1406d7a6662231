"""The integral that permute-and-flip and the lower half of the Laplace noisy minimum share."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DECAY = 48.0
"""The integrand falls by exp(-DECAY) over the interval that is kept."""


def unit_rule(nodes: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    node, weight = leggauss(nodes)
    return (node + 1) / 2, weight / 2


_NODES, _WEIGHTS = unit_rule(40)


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
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        step = -p * (length * node)
        product = np.exp((counts * np.log1p(step)).sum(axis=-1, keepdims=True))
        total += weight * product / (1.0 + step)
    integrals: Floats = total * length
    return integrals
