"""Public. The exact (epsilon, delta) of Gaussian noise, continuous and on whole numbers, of one release or several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

ROUNDING_MARGIN = 2.0**-36
"""Covers, many times over, what the C library's exp and erfc and a few roundings can lose, relative to each term."""

ROUNDING_VARIANCE = 16
"""The variance that turns continuous noise into noise on whole numbers: see `discrete_is_within`."""


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The least delta of continuous Gaussian noise whose scale is sensitivity/mu, rounded up.

        delta = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)

    Source: Balle and Wang, arXiv:1805.06530, Theorem 8. It grows with mu.
    Tested: tests/claims/test_gaussian_price.py
    """
    if not mu > 0:
        return 0.0
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    above = math.erfc(near / math.sqrt(2)) / 2
    # Leaving the second term out only raises delta; so it may go where exp or erfc would leave the doubles.
    below = math.exp(epsilon) * math.erfc(far / math.sqrt(2)) / 2 if epsilon < 500 and far < 36 else 0.0
    return above * (1 + ROUNDING_MARGIN) - below * (1 - ROUNDING_MARGIN)


def largest_mu(epsilon: float, delta: float) -> float:
    """The largest mu, to about a part in 2^45, at which continuous Gaussian noise is (epsilon, delta)-DP."""
    low, high = 0.0, 1.0
    while gaussian_delta(high, epsilon) <= delta:
        low, high = high, 2 * high
    while high - low > 2.0**-45 * high and high > 1e-300:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (low, middle)
    return low


def discrete_deviation(sensitivity: float, mu: float) -> float:
    """The deviation of noise on whole numbers that is worth about mu: that of continuous noise, and more for being whole."""
    return math.hypot(sensitivity / mu, math.sqrt(ROUNDING_VARIANCE))


def discrete_is_within(rho: float, sensitivity: int, epsilon: float, delta: float) -> bool:
    """Is noise on whole numbers, with OpenDP's price rho = sensitivity^2 / (2 sigma^2), (epsilon, delta)-DP?

    Claim: independent discrete Gaussian noise N_Z(0, sigma^2) on at most a million whole numbers costs no more than
    continuous Gaussian noise of variance sigma^2 - 16, but for a share of 1e-100 of epsilon and delta.

    Why: let X be the number plus continuous noise of variance s^2 = sigma^2 - t^2, t = 4, and round X to a whole number Y'
    at random: P(Y' = y | X = x) = exp(-(y-x)^2/(2 t^2)) / r(x). By Poisson's summation formula the normalizing sum r(x)
    is within a factor 1 +- h of t sqrt(2 pi), whatever x is, with h = 2 sum_k exp(-2 pi^2 t^2 k^2) < 1e-136. So
    P(Y' = y) is within a factor 1/(1 -+ h) of the integral of N(x; 0, s^2) exp(-(y-x)^2/(2 t^2)) / (t sqrt(2 pi)), the density at
    y of a continuous Gaussian of variance s^2 + t^2 = sigma^2; and P(Y = y) for Y ~ N_Z is that density over its sum, which
    is within 1 +- h as well. So Y and Y' have chances within a factor exp(3h), m coordinates within exp(3hm) <= 1 + 1e-129.
    Y' is made from X alone and costs no more than X; hence Y costs (epsilon + 6hm, delta exp(3hm)) at most. ROUNDING_MARGIN, taken
    off epsilon and delta, is far larger.

    Source: ours; the randomized rounding is the smoothing lemma of lattice cryptography (Micciancio and Regev 2007).
    Tested: tests/claims/test_gaussian_price.py
    """
    return rho == 0 or composed_is_within([(rho, sensitivity)], epsilon, delta)


def composed_is_within(parts: Sequence[tuple[float, int]], epsilon: float, delta: float) -> bool:
    """The same for several releases one after the other, each (rho, sensitivity), where later ones may look at earlier ones.

    Claim: together they cost no more than one continuous Gaussian of mu^2 = sum of mu_k^2.

    Why: given what was released before, each is within a factor exp(3h) a number of a randomized rounding of continuous noise, as
    above; so the whole sequence is made from an adaptive sequence of continuous Gaussian releases, which is no easier to tell
    apart than one whose mu squared is the sum (Dong, Roth and Su 2022, Corollary 3.3). ROUNDING_MARGIN covers the factors.

    Source: Dong, Roth and Su 2022; the step to whole numbers is ours.
    Tested: tests/claims/test_gaussian_price.py
    """
    total = Fraction(0)
    for rho, sensitivity in parts:
        variance = Fraction(sensitivity) ** 2 / (2 * Fraction(rho)) - ROUNDING_VARIANCE
        if not variance >= ROUNDING_VARIANCE:
            return False
        total += Fraction(sensitivity) ** 2 / variance
    mu = math.sqrt(total) * (1 + ROUNDING_MARGIN)
    return gaussian_delta(mu, epsilon * (1 - ROUNDING_MARGIN)) <= delta * (1 - ROUNDING_MARGIN)
