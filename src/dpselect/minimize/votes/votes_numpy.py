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
from dpselect.minimize.votes.lanes import (
    LEAST_FREEDOM,
    UNSEEN,
    Flags,
    Floats,
    ScaledBlocks,
    at_least,
    between,
    mean_of_idle,
    scaled_blocks,
    softness,
    total,
    whole_votes,
)

TINY = 1e-6
"""Smaller ones leave no digits of the noise where two columns are the same in a block."""
LEAST_PIVOT = 1e-12
LEAST_REST = 1e-18
LEAST_NOISE = 1e-300


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
        return _fit(scaled_blocks(high, low, width, how.least), how).T


def _fit(blocks: ScaledBlocks, how: Fitting) -> NDArray[np.int8]:
    """Votes (columns, lanes)."""
    gram, rows, means, skew, fits = blocks.gram, blocks.rows, blocks.means, blocks.skew, blocks.live[-1]
    cross, live = gram[:-1, -1], blocks.live[:-1]
    own = _own_ridge(cross, live, how.ridge)
    lower, pivots, fits = _factor(gram, own, fits)
    b = _coefficients(lower, pivots, cross)
    inverse = _inverse(lower, pivots)
    squares = np.zeros_like(cross)
    for k in range(len(cross)):
        squares += inverse[:, k] * inverse[:, k]
    count = total(np.where(live, 1.0, 0.0))
    base = rows - (1.0 if how.centred else 0.0)
    diagonal, several = np.einsum("jjl->jl", inverse), base - 1.0
    noise = at_least(diagonal - own * squares, LEAST_NOISE)
    variance = _variance(b, cross, own, count, base)
    kept = 1.0 - own * diagonal
    share = between(at_least(kept * kept / noise, at_least(1.0 - count / rows, 0.0)), 1.0)
    product = rows * np.sqrt(base) / np.where(several > 0, several, 1.0)
    kappa = skew[:-1] * (share * np.sqrt(share)) * (np.where(several > 0, UNSEEN * product, 0.0) * skew[-1])
    c, soft = softness(kappa)
    clipped = between(b / (np.sqrt(noise * variance) * np.where(soft, c, 1.0)), 1.0)
    idle = np.where(soft, mean_of_idle(kappa, c), 0.0)
    lean = (np.where(soft, clipped, np.sign(b)) - idle) / (1.0 + np.abs(idle))
    if how.with_intercept:
        first = np.sign(means[-1] - total(means[:-1] * b))
        lean, live = np.concatenate([first[None], lean]), np.concatenate([fits[None], live])
    return whole_votes(lean * WHOLE_VOTE, live & fits).astype(np.int8)


def _variance(b: Floats, cross: Floats, own: Floats, count: Floats, base: Floats) -> Floats:
    """Of the response about a fit that is shrunk by as much as chance explains; a unit response has 1/(r-1) about its mean."""
    explained = total(b * cross)
    fitted = explained - own * total(b * b)
    spare = base - count
    shrunk = 1.0 - (1.0 - explained) * base / np.where(spare >= 1.0, spare, 1.0)
    theta = np.where(spare >= 1.0, at_least(shrunk, 0.0), 0.0)
    rest = at_least(1.0 - 2.0 * theta * explained + theta * theta * fitted, LEAST_REST)
    variance: Floats = rest / at_least(base - theta * count, LEAST_FREEDOM)
    return variance


def _own_ridge(cross: Floats, live: Flags, stated: float) -> Floats:
    """The ridge of every lane: the stated one, the less of it the more the columns go along with the response."""
    count = total(np.where(live, 1.0, 0.0))
    left = 1.0 - total(cross * cross) / np.maximum(count, 1.0)
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
