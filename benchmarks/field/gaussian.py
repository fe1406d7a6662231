"""What Gaussian noise costs, for every rival that adds it: Balle and Wang (2018, arXiv:1805.06530, Theorem 8)."""

import math

from scipy.optimize import brentq
from scipy.special import log_ndtr


def delta_of(mu: float, epsilon: float) -> float:
    """The least delta at `epsilon` of a mechanism that shifts a normal by `mu` of its deviations (mu-GDP)."""
    first, second = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return math.exp(first) - math.exp(second)


def mu_of(epsilon: float, delta: float) -> float:
    """The largest mu that (epsilon, delta) pays for."""
    return brentq(lambda mu: delta_of(mu, epsilon) - delta, 1e-6, 1e6, xtol=1e-12)


def epsilon_of(mu: float, delta: float) -> float:
    """The least epsilon that mu-GDP costs at `delta`."""
    return brentq(lambda epsilon: delta_of(mu, epsilon) - delta, 1e-9, 100, xtol=1e-12)
