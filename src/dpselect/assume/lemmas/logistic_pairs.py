"""Public. How far a record that is replaced moves the gradient of a round: less than twice what one record adds.

Both versions would have to surprise as much as possible, and in opposite directions; but rows that point the same way have alike
chances, and then a yes and a no together surprise by 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.logistic import GRID_BITS, STEP_BITS, Extent, Links, links
from dpselect.assume.study.neighbors import Neighbors
from dpselect.assume.study.variables import GRID

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
