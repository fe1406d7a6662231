"""Private. How every block votes, in NumPy: one lane a block, so that no block's arithmetic can see another one.

A block keeps the sums of products of (1, x, y) over its rows, each as a double and what rounding it left out. With an
intercept they are centred by the block's own means, in twice the digits, so that years and timestamps do not cancel. Columns
and response are scaled to one; a column that is constant in its block, up to what rounding may leave, gets no vote. Then

    ridge = stated ridge (1 - q)^4,    q the mean of c_j^2, the squared correlations with the response,
    b = (G + ridge I)^-1 c,    noise = (G + ridge I)^-1 G (G + ridge I)^-1,    statistic_j = b_j / sqrt(noise_jj RSS / freedom)

with freedom = rows - (1 if centred) - trace(2H - HH'), H = (G + ridge I)^-1 G, and no less than LEAST_FREEDOM. A statistic above
the dead zone is a vote for a positive coefficient, below its negative one for a negative one; with a dead zone of 0 the sign
decides. A ridge steadies a small block, and lets a column that follows a strong one keep some of its effect: so a block in which
much is explained uses less of it. A TINY ridge is always there, so that columns that say the same in a block share what they say.

The compiled twin, _votes.c, does the same double operations in the same order: the votes are the same to the last one.

Letters: S sums, C centred sums, G scaled ones, L D L' = G + ridge I, U = L^-1, V = (G + ridge I)^-1; j, k columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_ROWS = 2.0**22
"""Rows of a block up to which its sums are exact; one with more abstains."""
TINY = 1e-9
LEAST_PIVOT = 1e-12
LEAST_FREEDOM = 0.3
SPLIT = 2.0**27 + 1
"""Dekker's number, which cuts a double into two halves whose products are exact."""


class Fitting(NamedTuple):
    """Public. How a block is fitted.

    `least` is the share of a column's sum of squares below which what centring leaves counts as nothing.
    """

    centred: bool
    with_intercept: bool  # whether the intercept has votes
    least: float
    dead_zone: float
    ridge: float


def lane_votes(high: Floats, low: Floats, width: int, how: Fitting) -> NDArray[np.int8]:
    """Votes -1, 0, 1 (lanes, columns) from sums (numbers, lanes) of (1, x, y), the upper triangle row by row."""
    with np.errstate(all="ignore"):  # whatever the program has set: no exception may depend on a row
        high, low = _square(high, width), _square(low, width)
        rows = high[0, 0]
        fits = (rows >= (2.0 if how.centred else 1.0)) & (rows <= MOST_ROWS)
        rows = np.where(fits, rows, 2.0)
        high, low = np.where(fits, high, 0.0), np.where(fits, low, 0.0)
        means, products = _centred(high, low, rows) if how.centred else (high[0, 1:], (high + low)[1:, 1:])
        squares = np.einsum("jjl->jl", products)
        live = squares > how.least * np.einsum("jjl->jl", high)[1:]
        roots = np.where(live, 1.0 / np.sqrt(np.where(live, squares, 1.0)), 0.0)
        gram = products * roots[:, None] * roots[None, :]
        return _fit(gram, rows, fits & live[-1], live[:-1], means * roots, how).T


def _square(packed: Floats, width: int) -> Floats:
    """(width, width, lanes) from the upper triangle."""
    square = np.empty((width, width, packed.shape[1]))
    upper = np.triu_indices(width)
    square[upper] = packed
    square[upper[1], upper[0]] = packed
    return square


def _halves(a: Floats) -> tuple[Floats, Floats]:
    c = SPLIT * a
    high = c - (c - a)
    return high, a - high


def _exact_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a*b as a double and the rest."""
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    product = a * b
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _centred(high: Floats, low: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Means (as doubles), and sums of products about the means: S_jk - mean_j S_k, in twice the digits until the end."""
    sums, rest = high[0, 1:], low[0, 1:]
    mean = sums / rows
    product, error = _exact_product(mean, rows)
    mean_rest = (((sums - product) - error) + rest) / rows
    product, error = _exact_product(mean[:, None], sums[None, :])
    error = error + (mean[:, None] * rest[None, :] + mean_rest[:, None] * sums[None, :])
    inner = high[1:, 1:]
    difference = inner - product
    back = difference - inner
    lost = (inner - (difference - back)) - (product + back)
    centred = difference + (lost + (low[1:, 1:] - error))
    # The formula is not symmetric in its roundings: the upper triangle counts.
    lower = np.tril_indices(len(sums), -1)
    centred[lower] = centred[lower[1], lower[0]]
    return mean, centred


def _fit(gram: Floats, rows: Floats, fits: Flags, live: Flags, means: Floats, how: Fitting) -> NDArray[np.int8]:
    """Votes (columns, lanes) from the scaled sums, the response last."""
    cross = gram[:-1, -1]
    ridge = _own_ridge(cross, live, how.ridge)
    lower, pivots, fits = _factor(gram, ridge, fits)
    b = _coefficients(lower, pivots, cross)
    if how.with_intercept:
        first = means[-1] - _total(means[:-1] * b)
        b, live = np.concatenate([first[None], b]), np.concatenate([fits[None], live])
    passed = live & fits
    if how.dead_zone > 0:
        passed = passed & _far_from_zero(b, _inverse(lower, pivots), cross, rows, live, means[:-1], ridge, how)
    votes = np.where(passed, np.sign(b), 0.0)
    return np.where(np.isfinite(votes), votes, 0.0).astype(np.int8)


def _own_ridge(cross: Floats, live: Flags, stated: float) -> Floats:
    """The ridge of every lane: the stated one, the less of it the more the columns go along with the response."""
    count = _total(np.where(live, 1.0, 0.0))
    left = 1.0 - _total(cross * cross) / np.maximum(count, 1.0)
    square = left * left
    ridge: Floats = stated * (square * square) + TINY
    return ridge


def _coefficients(lower: Floats, pivots: Floats, cross: Floats) -> Floats:
    """L D L' b = cross, forward and back."""
    b = cross.copy()
    for k in range(len(b)):
        b[k + 1 :] -= lower[k + 1 :, k] * b[k]
    b *= pivots
    for i in range(len(b) - 1, 0, -1):
        b[:i] -= lower[i, :i] * b[i]
    return b


def _far_from_zero(
    b: Floats, inverse: Floats, cross: Floats, rows: Floats, live: Flags, means: Floats, ridge: Floats, how: Fitting
) -> Flags:
    """Whether b^2 freedom > (dead zone)^2 RSS noise, for the intercept too if it has votes."""
    slopes = b[-len(cross) :] if len(cross) else b[:0]
    live = live[len(b) - len(cross) :]
    rss = np.maximum((1.0 - _total(slopes * cross)) - ridge * _total(slopes * slopes), 0.0)
    squares = np.zeros_like(cross)
    for k in range(len(cross)):
        squares += inverse[:, k] * inverse[:, k]
    lost = _total(np.where(live, 1.0 - (ridge * ridge) * squares, 0.0))
    freedom = np.maximum((rows - (1.0 if how.centred else 0.0)) - lost, LEAST_FREEDOM)
    noise = np.maximum(np.einsum("jjl->jl", inverse) - ridge * squares, 0.0)
    if how.with_intercept:
        spread = np.zeros_like(cross)
        for k in range(len(cross)):
            spread += inverse[:, k] * means[k]
        more = _total(means * spread) - ridge * _total(spread * spread)
        noise = np.concatenate([(1.0 / rows + np.maximum(more, 0.0))[None], noise])
    passed: Flags = (b * b) * freedom > ((how.dead_zone * how.dead_zone) * rss) * noise
    return passed


def _total(values: Floats) -> Floats:
    """The sum over columns, one after another."""
    total = np.zeros(values.shape[1:])
    for each in values:
        total = total + each
    return total


def _factor(gram: Floats, ridge: Floats, fits: Flags) -> tuple[Floats, Floats, Flags]:
    """L (its unit diagonal left out), 1/D, and which lanes could be factored."""
    columns, lanes = len(gram) - 1, gram.shape[2]
    lower = np.zeros((columns, columns, lanes))
    diagonal, pivots = np.zeros((columns, lanes)), np.zeros((columns, lanes))
    for j in range(columns):
        pivot = 1.0 + ridge
        line = gram[j, j + 1 : columns].copy()  # above the diagonal: the roundings below it may differ
        for k in range(j):
            scaled = lower[j, k] * diagonal[k]
            pivot -= lower[j, k] * scaled
            line -= lower[j + 1 :, k] * scaled
        fits = fits & (pivot > LEAST_PIVOT)
        diagonal[j] = np.where(pivot > LEAST_PIVOT, pivot, 1.0)
        pivots[j] = 1.0 / diagonal[j]
        lower[j + 1 :, j] = line * pivots[j]
    return lower, pivots, fits


def _inverse(lower: Floats, pivots: Floats) -> Floats:
    """V = U' D^-1 U with U = L^-1."""
    factor, inverse = np.zeros_like(lower), np.zeros_like(lower)
    for i in range(len(factor)):
        line = lower[i, :i].copy()
        for k in range(1, i):
            line[:k] += lower[i, k] * factor[k, :k]
        factor[i, :i] = -line
        factor[i, i] = 1.0
        whole = factor[i, : i + 1]
        inverse[: i + 1, : i + 1] += whole[:, None] * (whole[None, :] * pivots[i])
    # Not symmetric in its roundings: the upper triangle counts.
    below = np.tril_indices(len(factor), -1)
    inverse[below] = inverse[below[1], below[0]]
    return inverse
