"""Private. A proved bound on the error of a computed loss: the duality gap, and all that floating point can do to it.

Units: columns and response in [-1, 1]. `products` are the doubles of `Moments.scaled()`, the response last; G, c and y'y
are their true values, each entry of `products` being off by at most 2^-53 of itself. For coefficients b on the columns of a
candidate M,

    P(b) = y'y - 2 c'b + b'Gb,   q = c - Gb,   D(b) = radius * max {|q_j| : j in M} - q'b,   loss(M) = min P.

Lemma 1 (duality). If b is feasible (zero outside M, ||b||_1 <= radius), then  P(b) - 2 D(b) <= loss(M) <= P(b).
    Why: the right side is the definition. For any feasible z, P(z) = P(b) - 2 q'(z - b) + (z-b)'G(z-b) >= P(b) - 2 q'z +
    2 q'b, as G is positive semidefinite, and q'z <= radius * max |q_j| by Hoelder, as z is zero outside M.

Lemma 2 (rounding). Let p, e be P(b), D(b) as computed in double precision from `products`, P as y'y - c'b - q'b, sums in any
order, over d columns; s = ||b||_1; g = the largest G_jj. Then

    |p - loss(M)| <= 2 max(e, 0) + gamma (t + s h) (3 t + 3 s h + 2 radius h),   t = sqrt(y'y), h = sqrt(g),
    gamma = (2d + 8) 2^-53.

    Why: p and e are sums of monomials (y'y, c_j b_j, b_i G_ij b_j, radius c_j, radius G_ij b_j), and each passes through at
    most 2d+3 roundings on its way: one in the stored entry, one in each product, one in each addition of the two sums of d
    terms and of the last subtractions. So each monomial comes out with a factor within gamma' = (2d+3)u/(1 - (2d+3)u) of 1,
    u = 2^-53 (Higham, Accuracy and Stability, 2002, Lemma 3.1), and maxima of vectors are no further apart than the vectors.
    With a = |c| + |G||b| and
    A = y'y + 2|c|'|b| + |b|'|G||b|:  |p - P| <= gamma' A  and  |e - D| <= gamma' (radius max a_j + A). Lemma 1 gives
    p - loss <= 2 D + gamma' A <= 2e + gamma' (3A + 2 radius max a_j), and loss - p <= gamma' A. By Cauchy-Schwarz |G_ij| <= g
    and |c_j| <= t h, so A <= (t + s h)^2 and a_j <= h (t + s h). The gap between gamma and gamma', 5u, is more than the
    roundings of the bound itself can eat (a relative (3d+20)u of gamma, d <= 2^20).
    Underflow adds less than 2^-500 as long as radius <= 2^100; the code adds that.

Clipping p to [0, y'y] keeps the bound: the loss is in there (b = 0 is feasible, P is a sum of squares), and moving to the nearest
point of an interval that holds the truth moves no further from it. (The stored y'y is off by u y'y at most, less than the bound.)

Tested: tests/minimize/losses/test_certificate.py
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGEST_RADIUS = 2.0**100
"""The bounds below hold up to this radius."""

_UNDERFLOW = 2.0**-500
_SMALLEST_RADIUS = 2.0**-900


def into_ball(coefficients: Floats, radius: float) -> Floats:
    """Rows of coefficients, shrunk where needed so that ||b||_1 <= radius truly holds, not only as summed in doubles.

    Why: a sum of d doubles is within d 2^-53 of the truth, and so is each of the three operations of the shrinking; the
    factor leaves room for (2d + 8) 2^-53. Below 2^-900, where products lose bits, every coefficient becomes zero.

    Tested: tests/minimize/losses/test_certificate.py
    """
    if radius < _SMALLEST_RADIUS:
        return np.zeros_like(coefficients)
    room = 1.0 - (2 * coefficients.shape[-1] + 8) * 2.0**-53
    norms = np.abs(coefficients).sum(axis=-1, keepdims=True)
    outside = norms > radius * room
    factors = np.divide(radius * room, norms, out=np.ones_like(norms), where=outside)
    shrunk: Floats = coefficients * factors
    return shrunk


def rounding(products: Floats, norms: Floats | float, radius: float) -> Floats:
    """The second term of Lemma 2 for solutions of the given l1 norms: all that is not the gap."""
    width = products.shape[0] - 1
    response = np.sqrt(products[-1, -1])
    largest = np.sqrt(np.diagonal(products)[:-1].max(initial=0.0))
    scale = response + np.asarray(norms) * largest
    gamma = (2 * width + 8) * 2.0**-53
    result: Floats = gamma * scale * (3 * scale + 2 * radius * largest) + _UNDERFLOW
    return result


def certify(products: Floats, coefficients: Floats, member: NDArray[np.bool_], radius: float) -> tuple[Floats, Floats]:
    """(values, bounds) with |value - loss(M)| <= bound, for many feasible b at once.

    One row of `coefficients` and of `member` (which columns M has) a candidate; `coefficients` must be zero outside M and come
    from `into_ball`. The better b, the smaller the bound; it holds for every feasible b.

    Why: Lemmas 1 and 2 of this module. Tested: tests/minimize/losses/test_certificate.py
    """
    gram, with_response, square = products[:-1, :-1], products[:-1, -1], products[-1, -1]
    pull = with_response - coefficients @ gram
    inner = np.einsum("ij,ij->i", pull, coefficients)
    values = square - coefficients @ with_response - inner
    strongest = np.where(member, np.abs(pull), 0.0).max(axis=1, initial=0.0)
    gaps = radius * strongest - inner
    bounds = 2 * np.maximum(gaps, 0.0) + rounding(products, np.abs(coefficients).sum(axis=1), radius)
    return np.clip(values, 0.0, square), bounds * (1 + 2.0**-50)
