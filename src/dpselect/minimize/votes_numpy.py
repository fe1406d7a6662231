"""Private. How every block votes, in NumPy: one lane a block, so that no block's arithmetic can see another one.

A block keeps the sums of products of (1, x, y) over its rows and the sums of cubes of x and y, each as a double and what rounding
it left out. With an intercept they are centred by the block's own means, in twice the digits, so that years and timestamps do not
cancel. Columns and response are scaled to one; a column that is constant in its block, up to what rounding may leave, gets no
vote. Of r rows and d columns that are not constant

    own = stated ridge (1 - q)^4 + TINY,    q the mean of c_j^2, the squared correlations with the response
    V = (G + own I)^-1,    b = V c,    noise_j = (V G V)_jj,    e = b'c what is explained,    f = b'G b the length of the fit
    theta = max(0, 1 - (1 - e)(r-1)/(r-1-d)), or 0 without rows to spare
    z_j = b_j / sqrt(noise_j (1 - 2 theta e + theta^2 f) / (r-1 - theta d))

so z_j is the coefficient in standard errors, whose residuals are those of a fit that is shrunk by as much as chance explains.
Its sign tests the median, and where a column and the response are both skewed the median of an idle column's z is not zero: a
block in which one of many rows has the rare value and one the rare response nearly always says no. So the vote is soft where that
is so, and what is left of a lean is taken off:

    kappa_j = 1.4 gamma_j gamma_y s_j^1.5 r sqrt(r-1)/(r-2),    gamma the sum of cubes of a column scaled to one
    s_j = max(1 - d/r, (1 - own V_jj)^2 / noise_j), at most 1
    c_j = 1.5 min(1, |kappa_j|),    mu_j = the mean of clip(z/c_j, -1, 1) for an idle column, by `_mean_of_idle`
    vote_j = (clip(z_j/c_j, -1, 1) - mu_j) / (1 + |mu_j|), the sign of b_j where c_j < .02; in whole 64ths

Without the 1.4 kappa is the skewness of b_j over all orders of the response, exactly so where d = 0. b_j is a weighted sum of the
responses, and s_j is the squared correlation of its weights with the column itself, whose third power is what fitting the others
leaves of the skewness: 1/V_jj without a ridge, on average 1 - d/r. With a ridge it is more, and next to one where a block has fewer
rows than columns; there 1 - d/r is below zero, and votes that went by it alone leaned as signs do. Over all tables it is more: the
rows of a block that show a long tail are too few, and a vote that believes them leans by half of what it should take off. 1.4 was
measured on gamma and lognormal columns, alone and beside strong ones, in blocks of 4 to 30 rows.

No vote is more than 1 in size, for |clip - mu| <= 1 + |mu|. Without an intercept nothing is centred, gamma is about zero and
r stands for r-1. A vote on the intercept, where it competes, is its sign. (Of a column without bounds that lies farther than
2^17 of its deviations from zero the cubes have no digits left: its gamma is anything up to 1, and its votes are softer than
they need be.)

A ridge steadies a small block, and lets a column that follows a strong one keep some of its effect: so a block in which much is
explained uses less of it. A TINY ridge is always there, so that columns that say the same in a block share what they say.

The compiled twin, _votes.c, does the same double operations in the same order: the votes are the same to the last one.

Letters: S sums, C centred sums, G scaled ones, L D L' = G + own I, U = L^-1, V = (G + own I)^-1; j, k columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_ROWS = 2.0**22
"""Rows of a block up to which its sums are exact; one with more abstains."""
TINY = 1e-6
"""Smaller ones leave no digits of the noise where two columns are the same in a block."""
LEAST_PIVOT = 1e-12
LEAST_FREEDOM = 0.5
LEAST_REST = 1e-18
LEAST_NOISE = 1e-300
SPLIT = 2.0**27 + 1
"""Dekker's number, which cuts a double into two halves whose products are exact."""
SOFTEST = 1.5
"""Standard errors that make a whole vote where the law of z is as skewed as can be."""
UNSEEN = 1.4
"""The skewness of an idle column's z over what a few rows show of it: a long tail is mostly in other blocks."""
HARDEST = 0.02
"""Standard errors that any coefficient has, for short: below it the sign is the vote."""


class Fitting(NamedTuple):
    """Public. How a block is fitted.

    `least` is the share of a column's sum of squares below which what centring leaves counts as nothing.
    """

    centred: bool
    with_intercept: bool  # whether the intercept has votes
    least: float
    ridge: float


def lane_votes(high: Floats, low: Floats, width: int, how: Fitting) -> NDArray[np.int8]:
    """Votes in 64ths (lanes, columns) from sums (sums, lanes): the upper triangle of (1, x, y), then the cubes of x and y."""
    with np.errstate(all="ignore"):  # whatever the program has set: no exception may depend on a row
        rows = high[0]
        fits = (rows >= (2.0 if how.centred else 1.0)) & (rows <= MOST_ROWS)
        rows = np.where(fits, rows, 2.0)
        high, low = np.where(fits, high, 0.0), np.where(fits, low, 0.0)
        means, products, thirds = _about(high, low, width, rows, centred=how.centred)
        squares = np.einsum("jjl->jl", products)
        live = squares > how.least * high[_diagonal(width)]
        roots = np.where(live, 1.0 / np.sqrt(np.where(live, squares, 1.0)), 0.0)
        gram = products * roots[:, None] * roots[None, :]
        skew = _between(thirds * roots * roots * roots, 1.0)
        return _fit(gram, rows, fits & live[-1], live[:-1], means * roots, skew, how).T


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


def _less_product(
    inner: Floats, inner_rest: Floats, mean: Floats, mean_rest: Floats, sums: Floats, rest: Floats
) -> Floats:
    """Inner - mean * sums, in twice the digits until the end."""
    product, error = _exact_product(mean, sums)
    error = error + (mean * rest + mean_rest * sums)
    difference = inner - product
    back = difference - inner
    lost = (inner - (difference - back)) - (product + back)
    total: Floats = difference + (lost + (inner_rest - error))
    return total


def _about(high: Floats, low: Floats, width: int, rows: Floats, *, centred: bool) -> tuple[Floats, Floats, Floats]:
    """Means, and sums of products (columns, columns, lanes) and cubes about them, from the sums that a block keeps.

    Where nothing is centred: sums in place of means, and products and cubes as they are.
    """
    cubes, inner = (
        (high[1 - width :], low[1 - width :]),
        slice(width, 1 - width),
    )  # after the first line of the triangle
    if centred:
        means, products, thirds = _centred(high[1:width], low[1:width], high[inner], low[inner], cubes, rows)
    else:
        means, products, thirds = high[1:width], high[inner] + low[inner], cubes[0] + cubes[1]
    return means, _square(products, width - 1), thirds


def _diagonal(width: int) -> NDArray[np.int64]:
    """Where the squares of x and y stand in the upper triangle of the products of (1, x, y)."""
    return np.cumsum(np.arange(width, 1, -1))


def _centred(
    sums: Floats, rest: Floats, high: Floats, low: Floats, cubes: tuple[Floats, Floats], rows: Floats
) -> tuple[Floats, Floats, Floats]:
    """Means (as doubles), and sums of products (the upper triangle, line by line) and cubes about the means.

    S_jk - mean_j S_k, and of cubes S_jjj - mean_j S_jj - 2 mean_j C_jj.
    """
    mean = sums / rows
    product, error = _exact_product(mean, rows)
    mean_rest = (((sums - product) - error) + rest) / rows
    first, second = np.triu_indices(len(sums))
    about = _less_product(high, low, mean[first], mean_rest[first], sums[second], rest[second])
    own = first == second
    thirds = _less_product(cubes[0], cubes[1], mean, mean_rest, high[own], low[own]) - (2.0 * mean) * about[own]
    return mean, about, thirds


def _fit(
    gram: Floats, rows: Floats, fits: Flags, live: Flags, means: Floats, skew: Floats, how: Fitting
) -> NDArray[np.int8]:
    """Votes (columns, lanes) from the scaled sums, the response last."""
    cross = gram[:-1, -1]
    own = _own_ridge(cross, live, how.ridge)
    lower, pivots, fits = _factor(gram, own, fits)
    b = _coefficients(lower, pivots, cross)
    inverse = _inverse(lower, pivots)
    squares = np.zeros_like(cross)
    for k in range(len(cross)):
        squares += inverse[:, k] * inverse[:, k]
    count = _total(np.where(live, 1.0, 0.0))
    base = rows - (1.0 if how.centred else 0.0)
    diagonal, several = np.einsum("jjl->jl", inverse), base - 1.0
    noise = _at_least(diagonal - own * squares, LEAST_NOISE)
    variance = _variance(b, cross, own, count, base)
    kept = 1.0 - own * diagonal
    share = _between(_at_least(kept * kept / noise, _at_least(1.0 - count / rows, 0.0)), 1.0)
    product = rows * np.sqrt(base) / np.where(several > 0, several, 1.0)
    kappa = skew[:-1] * (share * np.sqrt(share)) * (np.where(several > 0, UNSEEN * product, 0.0) * skew[-1])
    c = SOFTEST * np.where(np.abs(kappa) <= 1.0, np.abs(kappa), 1.0)
    soft = c >= HARDEST
    clipped = _between(b / (np.sqrt(noise * variance) * np.where(soft, c, 1.0)), 1.0)
    idle = np.where(soft, _mean_of_idle(kappa, c), 0.0)
    lean = (np.where(soft, clipped, np.sign(b)) - idle) / (1.0 + np.abs(idle))
    if how.with_intercept:
        first = np.sign(means[-1] - _total(means[:-1] * b))
        lean, live = np.concatenate([first[None], lean]), np.concatenate([fits[None], live])
    votes = np.rint(lean * WHOLE_VOTE)
    # Whatever the arithmetic did: no vote is more than a whole one, and what is no number is none.
    return np.where(live & fits & (np.abs(votes) <= WHOLE_VOTE), votes, 0.0).astype(np.int8)


def _variance(b: Floats, cross: Floats, own: Floats, count: Floats, base: Floats) -> Floats:
    """Of the response about a fit that is shrunk by as much as chance explains; a unit response has 1/(r-1) about its mean."""
    explained = _total(b * cross)
    fitted = explained - own * _total(b * b)
    spare = base - count
    shrunk = 1.0 - (1.0 - explained) * base / np.where(spare >= 1.0, spare, 1.0)
    theta = np.where(spare >= 1.0, _at_least(shrunk, 0.0), 0.0)
    rest = _at_least(1.0 - 2.0 * theta * explained + theta * theta * fitted, LEAST_REST)
    variance: Floats = rest / _at_least(base - theta * count, LEAST_FREEDOM)
    return variance


def _mean_of_idle(kappa: Floats, c: Floats) -> Floats:
    """The mean of clip(z/c, -1, 1) where the law of z has mean 0, variance 1 and skewness kappa.

    By Edgeworth's series it is -kappa phi(c)/3 for small kappa; what it is for large ones was fitted to the laws of sums of a
    skewed column in random order.
    """
    square = kappa * kappa
    height, depth = 1.0 + 0.6 * square / (1.0 + square), 1.0 + square * _power(c) / 8.76
    mean: Floats = -0.133 * kappa * _decay(c * c * 0.5) * height / depth
    return mean


def _decay(x: Floats) -> Floats:
    """exp(-x) for 0 <= x <= 1.2, by operations that are the same everywhere: a series for a quarter of x, to the fourth."""
    quarter = x * 0.25
    total = np.ones_like(x)
    for i in range(9, 0, -1):
        total = 1.0 - quarter * (1.0 / i) * total
    total = total * total
    return total * total


def _power(c: Floats) -> Floats:
    """c^1.4 for c up to 1.5: the fifth root of c^2 by Newton's rule, times c; right to eight digits where it matters."""
    fourth = np.sqrt(np.sqrt(c))
    root = fourth * np.sqrt(fourth)
    for _ in range(2):
        second = root * root
        root = (4.0 * root + c * c / (second * second)) * 0.2
    return np.asarray(c * root)


def _at_least(values: Floats, least: Floats | float) -> Floats:
    """The least where a value is no number."""
    return np.where(values >= least, values, least)


def _between(values: Floats, most: float) -> Floats:
    """Between -most and most."""
    return _at_least(np.where(values <= most, values, most), -most)


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
