"""Private. What every kind of vote from block sums needs: sums scaled in twice the digits, votes that are soft, and threads.

One lane a block, so that no block's arithmetic can see another one. `votes_numpy` says what is computed and why; the compiled twins
do the same operations in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.gather.blocks import BlockSums, WholeSums

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

Backend = Literal["c", "numpy"]
Some = TypeVar("Some")
Found = TypeVar("Found")

ROUNDED_SQUARES = 2.0**-44
"""Share of a column's sum of squares that may be left of a constant after centring, where squares are rounded doubles."""
EXACT_SQUARES = 2.0**-80
"""The same where squares are whole numbers."""
MOST_ROWS = 2.0**22
"""Rows of a block up to which its sums are exact; one with more abstains."""
LEAST_FREEDOM = 0.5
SPLIT = 2.0**27 + 1
"""Dekker's number, which cuts a double into two halves whose products are exact."""
SOFTEST = 1.5
"""Standard errors that make a whole vote where the law of z is as skewed as can be."""
UNSEEN = 1.4
"""The skewness of an idle column's z over what a few rows show of it: a long tail is mostly in other blocks."""
HARDEST = 0.02
"""Standard errors that any coefficient has, for short: below it the sign is the vote."""


def flat_sums(sums: BlockSums) -> tuple[NDArray[Any], float]:
    """The numbers of all blocks of all partitions, a line each, and what share of a column's squares may be left of a constant."""
    table: NDArray[Any]
    if isinstance(sums.sums, WholeSums):
        table, least = sums.sums.table, EXACT_SQUARES
    else:
        table, least = sums.sums.slices, ROUNDED_SQUARES
    return table.reshape(sums.partitions * sums.blocks, *table.shape[2:]), least


def by_threads(work: Callable[[Some], Found], parts: Sequence[Some], threads: int) -> Iterator[Found]:
    """What is found in each part, in order: one after another, or by so many threads."""
    if threads == 1 or len(parts) == 1:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, parts)


@dataclass(frozen=True, slots=True, repr=False)
class ScaledBlocks:
    """Private. Sums about the blocks' own means, columns and response scaled to one, the response last; a lane a block.

    `live` are the columns that vary in a block that can be fitted. All is 0 of what does not.
    """

    rows: Floats  # (lanes)
    live: Flags  # (columns + 1, lanes)
    means: Floats  # the same; where nothing is centred, sums
    gram: Floats  # (columns + 1, columns + 1, lanes)
    skew: Floats  # (columns + 1, lanes), from -1 to 1

    def __repr__(self) -> str:
        return "ScaledBlocks(values=<private>)"


def scaled_blocks(high: Floats, low: Floats, width: int, least: float) -> ScaledBlocks:
    """From sums (sums, lanes): the upper triangle of (1, x, y), then the cubes of x and y, as doubles and what rounding left out.

    `least` is the share of a column's sum of squares below which what centring leaves counts as nothing, 0 where nothing is
    centred.
    """
    centred, rows = least > 0, high[0]
    fits = (rows >= (2.0 if centred else 1.0)) & (rows <= MOST_ROWS)
    rows = np.where(fits, rows, 2.0)
    high, low = np.where(fits, high, 0.0), np.where(fits, low, 0.0)
    means, products, thirds = _about(high, low, width, rows, centred=centred)
    squares = np.einsum("jjl->jl", products)
    live = squares > least * high[_diagonal(width)]
    live &= live[-1] & fits
    roots = np.where(live, 1.0 / np.sqrt(np.where(live, squares, 1.0)), 0.0)
    gram = products * roots[:, None] * roots[None, :]
    return ScaledBlocks(rows, live, means * roots, gram, between(thirds * roots * roots * roots, 1.0))


def _about(high: Floats, low: Floats, width: int, rows: Floats, *, centred: bool) -> tuple[Floats, Floats, Floats]:
    """Means, and sums of products (columns, columns, lanes) and cubes about them, from the sums that a block keeps.

    Where nothing is centred: sums in place of means, and products and cubes as they are.
    """
    cubes, inner = (high[1 - width :], low[1 - width :]), slice(width, 1 - width)  # from the triangle's second line on
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
    result: Floats = difference + (lost + (inner_rest - error))
    return result


def softness(kappa: Floats) -> tuple[Floats, Flags]:
    """How many standard errors make a whole vote where an idle column's z has this skewness; and where it is not just a sign."""
    size = np.abs(kappa)
    c = SOFTEST * np.where(size <= 1.0, size, 1.0)
    return c, c >= HARDEST


def mean_of_idle(kappa: Floats, c: Floats) -> Floats:
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


def whole_votes(votes: Floats, counts: Flags) -> Floats:
    """Votes in whole 64ths. Whatever the arithmetic did: none is more than a whole one, and what is no number is none."""
    rounded = np.rint(votes)
    return np.where(counts & (np.abs(rounded) <= WHOLE_VOTE), rounded, 0.0)


def at_least(values: Floats, least: Floats | float) -> Floats:
    """The least where a value is no number."""
    return np.where(values >= least, values, least)


def between(values: Floats, most: float) -> Floats:
    """Between -most and most."""
    return at_least(np.where(values <= most, values, most), -most)


def total(values: Floats) -> Floats:
    """The sum over columns, one after another."""
    total = np.zeros(values.shape[1:])
    for each in values:
        total = total + each
    return total
