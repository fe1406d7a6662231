"""Private. How good a solution of the l1-bounded least-squares problem is, proved with floating point counted.

For a subset M of the columns, loss(M) = min { P(b) : b = 0 outside M, ||b||_1 <= R }, P(b) = y'y - 2c'b + b'Gb.

**The gap.** Let b be any vector on M and q = c - Gb. P is convex with gradient -2q, so for the minimizer b*

    loss(M) = P(b*) >= P(b) - 2q'(b* - b) >= P(b) - 2 [R max_{j in M} |q_j| - q'b],

and if ||b||_1 <= R also loss(M) <= P(b). If rounding left ||b||_1 a little above R, the vector t b with
t = R/||b||_1 is allowed, and |P(tb) - P(b)| = (1-t) |2c'b - (1+t) b'Gb| <= 2 (1-t) S^2, S as below.

**Rounding.** Let h_j = ||X_j|| (the root of a diagonal entry), h_y = ||y||, S = h_y + sum_j h_j |b_j|. By Cauchy-Schwarz
|c_k| <= h_k h_y and |G_kj| <= h_k h_j, hence |c_k| + sum_j |G_kj b_j| <= h_k S. Let u = 2^-53, gamma_k = k u/(1 - k u) and
let each entry of the products be off by at most `error` of itself. A sum of m products in any order, fused or not, is
off by at most gamma_m times the sum of its terms' sizes (Higham 2002, section 3.1), so with w = gamma_{m+4} + 2 error

    |computed q_k - q_k| <= w h_k S,
    |computed (y'y - c'b - q'b) - P(b)| <= 2 w S^2,
    |computed lower limit - lower limit| <= 2 w S (S + R max_j h_j):

the first two sums have m terms and one or two more additions; the terms of P add up to at most
h_y^2 + t h_y + t S = S^2 with t = sum_j h_j |b_j|; P and the lower limit share q'b, whose error from q is at most w t S.
So |value - loss(M)| <= max(2 gap, 2 (1-t) S^2) + 2 w S (S + R max_j h_j), with everything on the right rounded up by a
factor 1 + 2^-40, which covers the few roundings of the bound itself, and 2^-900 for underflow; the h_j are rounded up too
(`norm_factor`).

**Copies.** Call k outside M a violator if |q_k| is above the multiplier (by more than rounding). If k is none, M's solution
also serves M' = M + {k} and M' takes over M's violators. The bound is computed with the maximum over *all non-violators*
N = complement of violators(M), which contains M. Claim: it is sound for every copy of a copy. By induction a copy M' has the
same b, hence q, and the same violators, and lies in N: b is supported on M', and max over M' <= max over N, so the lower
limit of M' is at least the stored one.

Source: ours; the gap is Frank and Wolfe's (Jaggi 2013, ICML).
Tested: tests/minimize/losses/test_lattice_certificate.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDING_UNIT = 2.0**-53
PIVOT = 2.0**-43
"""A pivot below this share of its diagonal entry is taken for zero; the certificate, not this number, decides."""
SLACK = 8.0
"""A column violates only if it does so by more than this many proved rounding errors of its correlation."""
ROUND_UP = 1 + 2.0**-40
UNDERFLOW = 2.0**-900


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scales:
    """Private. Norms of the columns and the response, rounded up, for each of several tables of products."""

    columns: Floats  # (B, d)
    response: Floats  # (B,)

    def of(self, tables: slice) -> Scales:
        """The scales of some of the tables."""
        return Scales(self.columns[tables], self.response[tables])


def norm_factor(error: float) -> float:
    """Takes the root of a stored diagonal entry to no less than the norm: the entry may be too small by `error` of itself."""
    return ROUND_UP * (1 + error)


def scales_of(products: Floats, error: float) -> Scales:
    """Norms from the diagonals of (B, d+1, d+1) products."""
    with np.errstate(invalid="ignore"):  # what is no square has no norm, and then no bound is finite
        norms = np.sqrt(np.einsum("bii->bi", products)) * norm_factor(error)
    return Scales(norms[:, :-1], norms[:, -1])


@lru_cache(maxsize=64)
def rounding_shares(width: int, error: float) -> Floats:
    """The share w of the proof, for coefficients with 0 .. width entries that are not zero."""
    operations = np.arange(width + 1) + 4.0
    return (operations * ROUNDING_UNIT / (1 - operations * ROUNDING_UNIT) + 2 * error) * ROUND_UP


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Certificate:
    """Private. Values and residual correlations of coefficients (B, K, L, d), with what is needed to bound their errors."""

    values: Floats  # (B, K, L)
    correlations: Floats  # (B, K, L, d)
    correlation_errors: Floats
    _inner: Floats  # q'b
    _radii: Floats
    _excess: Floats
    _rounding: Floats

    def bound(self, nonviolators: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Values, and how far from the loss they can be, for every subset between the support and the `nonviolators`."""
        largest = np.max(np.abs(self.correlations), axis=-1, where=nonviolators, initial=0.0)
        with np.errstate(all="ignore"):
            gap = 2.0 * (self._radii * largest - self._inner)
            bound = (np.maximum(gap, self._excess) + self._rounding) * ROUND_UP + UNDERFLOW
        bound = np.where(bound >= 0, bound, np.inf)
        return np.where(np.isfinite(bound), np.maximum(self.values, 0.0), 0.0), bound


def certify(products: Floats, scales: Scales, b: Floats, radii: Floats, error: float) -> Certificate:
    """Evaluate coefficients b (B, K, L, d) for tables of products (B, d+1, d+1) and radii (K,)."""
    tables, width = b.shape[0], b.shape[-1]
    c = products[:, None, None, :-1, -1]
    limit = radii[:, None]
    with np.errstate(all="ignore"):
        # One matrix product for each table.
        q = c - (b.reshape(tables, b.shape[1] * b.shape[2], width) @ products[:, :-1, :-1]).reshape(b.shape)
        inner = (q * b).sum(axis=-1)
        values = products[:, None, None, -1, -1] - (c * b).sum(axis=-1) - inner
        absolute = np.abs(b)
        columns = scales.columns[:, None, None]
        size = scales.response[:, None, None] + (columns * absolute).sum(axis=-1)
        share = rounding_shares(width, error)[np.count_nonzero(b, axis=-1)]
        norm = absolute.sum(axis=-1) * (1 + 2 * width * ROUNDING_UNIT)
        over = np.where(norm > limit, 1.0 - limit / norm, 0.0) + ROUNDING_UNIT
        largest = columns.max(axis=-1, initial=0.0)
        return Certificate(
            values=values,
            correlations=q,
            correlation_errors=(share * size)[..., None] * columns,
            _inner=inner,
            _radii=limit,
            _excess=2.0 * over * size**2,
            _rounding=2.0 * share * size * (size + limit * largest),
        )
