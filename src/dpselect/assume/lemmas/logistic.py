"""Public. How far one record can move the sums of a round of Newton's method for odds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.budget import Neighbors
from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS
from dpselect.assume.terms import Column
from dpselect.assume.variables import GRID
from dpselect.errors import StudyError

STEP_BITS = 10
GRID_BITS = 20
FARTHEST = 12
"""The sum of absolute coefficients at which a round may be evaluated."""

BITS = 62 - MAXIMUM_ROWS.bit_length()
"""Sums are released in whole numbers of 2^-BITS: a row adds at most 1 to each, and none passes 2^62."""


@dataclass(frozen=True, slots=True)
class Links:
    """Public. The table of chances and weights, by steps of eta from -steps to steps."""

    steps: int
    chances: NDArray[np.int64]
    weights: NDArray[np.int64]

    @property
    def residual(self) -> int:
        """The largest |y - p| of any row, in whole numbers of 2^-21: y is 0, 1/2 or 1."""
        return 2 * max(GRID - int(self.chances.min()), int(self.chances.max()))


def links(center: Sequence[int]) -> Links:
    """The table for coefficients in whole numbers of 2^-20."""
    reach = sum(abs(each) for each in center)
    if not reach <= FARTHEST * GRID:
        raise StudyError(f"A round may be evaluated where the sum of |coefficients| is at most {FARTHEST}.")
    # |eta| is at most reach, in units of 2^-20; a step is 2^10 of them.
    steps = (reach >> (GRID_BITS - STEP_BITS)) + 1
    eta = np.arange(-steps, steps + 1) / 2**STEP_BITS
    chances = np.clip(np.floor(GRID / (1 + np.exp(-eta)) + 0.5), 1, GRID - 1).astype(np.int64)
    weights = (chances * (GRID - chances) + GRID // 2) // GRID
    return Links(steps, chances, weights)


@dataclass(frozen=True, slots=True)
class Extent:
    """Public. A model's columns, the terms they belong to, and how many of these have several columns.

    Of a term with several columns (the levels of a category) at most one is not zero in a row, so |x|^2 <= terms.
    """

    columns: int
    terms: int
    several: int


def extent_of(columns: Sequence[Column]) -> Extent:
    """The extent of a model; a constant is a term of its own."""
    counts = Counter(column.term for column in columns)
    return Extent(len(columns), len(counts), sum(count > 1 for count in counts.values()))


def gradient_sensitivity(extent: Extent, residual: int, neighbors: Neighbors, rows_per_person: int = 1) -> int:
    """How far one record moves the released sum of (y - p) x, in l2 and whole numbers of 2^-BITS.

        replace-one: 2 sqrt(terms) s;     add-remove-one: sqrt(terms) s,

    s being the largest |y - p| (`residual`, in units of 2^-21): the logistic function of the largest |eta|; or, of a record that is
    replaced, the smaller one that `logistic_pairs` proves for two versions together.

    Why: each of at most two versions of the record adds a vector of length |y - p| |x| <= s sqrt(terms). Rounding a sum to 2^-BITS
    changes a difference of two by less than 1, so all columns together by less than the root of their number.
    A person of k rows: k times as far, for the rows of two versions can be exchanged one by one; where one version has fewer,
    for rows of zeros, which add nothing.

    Source: ours. Tested: tests/claims/test_logistic_sensitivity.py
    """
    versions = 2 if neighbors == "replace-one" else 1
    square = (versions * residual) ** 2 * extent.terms << (2 * BITS)
    return rows_per_person * (math.isqrt(-(-square >> (2 * GRID_BITS + 2))) + 1 + math.isqrt(extent.columns) + 1)


def gram_sensitivity(extent: Extent, neighbors: Neighbors, rows_per_person: int = 1) -> int:
    """How far one record moves the released upper triangle of the sum of w xx', in l2 and whole numbers of 2^-BITS.

        replace-one: sqrt(terms^2 + several)/4;     add-remove-one: sqrt(terms (terms+1)/2)/4.

    Why: let A = w xx' and B be the two versions, a_i = w x_i^2 and b_i their diagonals, between 0 and 1/4, of each term at most
    one not zero. The squared distance of the upper triangles is (|A-B|^2 + sum (a_i-b_i)^2)/2, and
    |A-B|^2 = (sum a)^2 + (sum b)^2 - 2 tr AB, where tr AB >= 0. So it is at most ((sum a)^2 + (sum b)^2 + sum (a_i-b_i)^2)/2:
    convex, hence largest where of each term one a_i is 1/4 or none, and so with b. If p terms have an a, q terms a b, and c columns
    differ, that is (p^2 + q^2 + c)/32. Terms with several columns may have both and differ twice; if k of the others have an a
    alone it is (T^2 + (T-k)^2 + 2m + k)/32 with T terms, m of them with several columns: convex in k, so largest at k = 0, where it
    is (T^2 + m)/16, or at k = T-m, which is no larger because m^2 - m <= T^2 - T. Add-remove has b = 0: (T^2 + T)/32.
    What is added up is not w x_i x_j but v_i x_j, v_i being w x_i rounded to 2^-20: off by at most 2^-21 in each of the cells and
    two versions. Rounding the sums adds the root of the number of cells at most. A person of k rows: k times, as for the gradient.

    Source: ours. Tested: tests/claims/test_logistic_sensitivity.py
    """
    cells = extent.columns * (extent.columns + 1) // 2
    moving = extent.terms**2 + extent.several, extent.terms * (extent.terms + 1) // 2
    square = moving[0] if neighbors == "replace-one" else moving[1]
    moved = math.isqrt(-(-(square << (2 * BITS)) >> 4)) + 1
    rounding = (math.isqrt(cells) + 1) * (1 + (1 << max(BITS - GRID_BITS, 0)))
    return rows_per_person * (moved + rounding)


def count_sensitivity(neighbors: Neighbors, rows_per_person: int = 1) -> int:
    """How far one record moves twice the numbers of yes and no, in l2, rounded up: by (2, -2) if replaced, else by 2 in all.

    A missing response counts half to each, so a record adds two numbers of sum 2. A person of k rows: k times, one by
    one; a row that only one version has moves them by 2. Tested: tests/claims/test_logistic_sensitivity.py
    """
    return rows_per_person * (3 if neighbors == "replace-one" else 2)


Floats = NDArray[np.float64]

NARROWEST, MOST_CELLS = 16, 400
"""The range of eta is cut into cells of at least so many steps, and into about so many at most."""


def gradient_residual(center: Sequence[int], constant: int | None, extent: Extent, neighbors: Neighbors) -> int:
    """The residual that `gradient_sensitivity` needs at a center: of a record that is added the largest |y - p|, else `paired`."""
    table = links(center)
    return table.residual if neighbors == "add-remove-one" else paired(table, center, constant, extent.terms)


def paired(table: Links, center: Sequence[int], constant: int | None, terms: int) -> int:
    """Half the length of (y - p) x - (y' - p') x' over the root of the number of terms, at most, in whole numbers of 2^-21.

    Let u = |y - p| and v = |y' - p'|, b the slopes (the center without the intercept's c), T the number of terms. Then

        |(y - p) x - (y' - p') x'|^2 <= (u + v)^2 T - u v |z|^2,

    z being x - x' if the signs of y - p and y' - p' differ, and x + x' if not: the left side is
    u^2 |x|^2 + v^2 |x'|^2 + u v (|x|^2 + |x'|^2 - |z|^2), and |x|^2 <= T. By Cauchy and Schwarz |z| >= |eta - eta'| / |b| in the
    first case, where the intercept cancels; in the second |z|^2 >= 4 + (eta + eta' - 2c)^2 / b'b, the intercept adding 2 (without
    one: no 4 and no c). So it is at most the largest, over eta and eta' in c +- sum |b|, of

        (p + 1 - p')^2 T - p (1 - p') (eta - eta')^2 / b'b              a no at eta, a yes at eta';
        (u + v)^2 T - u v (4 + (eta + eta' - 2c)^2 / b'b)               two of one kind: u = p and v = p', or 1 - p and 1 - p'.

    A y of 1/2 lies between: the length is convex in y. A row of zeros adds nothing, and what is left, u^2 |x|^2 <= T, is less than
    the first at eta = eta'. The largest is taken over cells of eta and eta': in each, what is added is the most and what is taken
    away the least that the table has there, one step more to each side because eta is rounded to a step.

    Source: ours. Tested: tests/claims/test_logistic_pairs.py
    """
    slopes = [each for place, each in enumerate(center) if place != constant]
    middle = 0 if constant is None else center[constant]
    edges = _edges(middle, sum(map(abs, slopes)))
    most, least = _extremes(table, edges)
    low, high = (part.astype(np.float64) * 2.0 ** (GRID_BITS - STEP_BITS) for part in (edges[:-1], edges[1:]))
    length, alone = float(max(sum(each * each for each in slopes), 1)), 0.0 if constant is None else 4.0
    apart = _least_square(low[:, None] - high, high[:, None] - low) / length
    together = alone + _least_square(low[:, None] + low - 2 * middle, high[:, None] + high - 2 * middle) / length
    yes, no = (GRID - least, GRID - most), (most, least)  # the most and the least that each answer surprises
    largest = max(
        float(((first[0][:, None] + second[0]) ** 2 * terms - first[1][:, None] * second[1] * away).max())
        for first, second, away in ((no, yes, apart), (no, no, together), (yes, yes, together))
    )
    return _half_root(largest, terms)


def _half_root(largest: float, terms: int) -> int:
    """Half the root of largest / terms in 2^-21, which is its root in 2^-20, rounded up; what doubles lost is added.

    `largest` is in whole numbers of 2^-40, and off by some 2^-50 of itself.
    """
    square = math.ceil(largest * (1 + 2.0**-40)) + 1
    return math.isqrt(-(-square // terms)) + 1


def _edges(middle: int, reach: int) -> NDArray[np.int64]:
    """The ends of cells, in steps, that hold every eta in middle +- reach."""
    lowest, highest = (middle - reach) >> (GRID_BITS - STEP_BITS), -((-middle - reach) >> (GRID_BITS - STEP_BITS))
    steps = max(highest - lowest, 1)
    width = max(NARROWEST, -(-steps // MOST_CELLS))
    return np.arange(lowest, lowest + steps + width, width, dtype=np.int64)


def _extremes(table: Links, edges: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The largest and the least chance of a yes in each cell; the table rises."""
    places = [np.clip(part, -table.steps, table.steps) + table.steps for part in (edges[1:] + 1, edges[:-1] - 1)]
    rising = np.maximum.accumulate(table.chances), np.minimum.accumulate(table.chances[::-1])[::-1]
    most, least = (part[place].astype(np.float64) for part, place in zip(rising, places, strict=True))
    return most, least


def _least_square(low: Floats, high: Floats) -> Floats:
    """The least square of a number between low and high."""
    return np.asarray(np.maximum(np.maximum(low, -high), 0.0) ** 2)
