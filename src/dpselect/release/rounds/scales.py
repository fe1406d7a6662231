"""Public. The first look: centers and scales of all columns from noisy histograms, and how far out the response's tail lies."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.queries import STANDARD_BITS, Answer, Ask, Floats, Histograms, Standard
from dpselect.assume.variables import GRID
from dpselect.release.rounds.facts import Facts

SURE = 3.0
"""Deviations of the noise from which a count is surely not noise."""
SHORTNESS = 0.05
"""A dummy that is shorter by less is treated as a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scales:
    """Public. What the first look has shown.

    `centers`, `deviations` and `scales` are of the columns that stay, in units of their lines. A rare dummy's scale is larger than
    its deviation, so that its few rows stay short; `count_noise` is the noise of its sum of squares. `tail` is how many deviations
    from its center the response's last rows lie, and `mean` the response's in its own units (of yes or counts).
    """

    kept: NDArray[np.bool_]
    centers: Floats
    deviations: Floats
    scales: Floats
    count_noise: Floats
    response_center: float
    response_deviation: float
    tail: float
    mean: float
    dispersion: float
    intercept: bool

    @property
    def relative(self) -> Floats:
        """The mean square of each coordinate of a standardized row, as far as the first look shows it."""
        squares = np.minimum(1.0, (self.deviations / self.scales) ** 2)
        return np.append(1.0, squares) if self.intercept else squares

    @property
    def shortness(self) -> Floats:
        """The share of its sum of squares by which each coordinate of a standardized row is short of n."""
        short = np.maximum(0.0, 1 - self.relative)
        return np.where(short < SHORTNESS, 0.0, short)

    def standard(self, facts: Facts) -> Standard:
        """How rows are standardized from now on."""
        gaussian = facts.gaussian
        return Standard(
            columns=tuple(c.place for c, kept in zip(facts.columns, self.kept, strict=True) if kept),
            centers=tuple(self.centers.tolist()),
            factors=tuple((2.0**STANDARD_BITS / self.scales).tolist()),
            response_center=self.response_center if gaussian else 0.0,
            response_factor=2.0**STANDARD_BITS / self.response_deviation if gaussian else 1.0,
            intercept=self.intercept,
        )


@dataclass(frozen=True, slots=True)
class _Spread:
    center: float
    deviation: float
    tail: float


def look(facts: Facts) -> Generator[Ask, Answer, Scales]:
    """Ask for the histograms, and read them."""
    mu = facts.mu * math.sqrt(facts.shares.first)
    noise = facts.first_moved / (facts.row_mu * math.sqrt(facts.shares.first))
    edges = _edges(facts.rows / noise)
    numbers = [column.kind == "number" for column in facts.columns]
    yes_or_no = facts.response == "yes or no"
    response_edges = () if yes_or_no else COUNT_EDGES if facts.family == "poisson" else edges
    (reply,) = yield (
        (
            Histograms(
                columns=tuple(column.place for column in facts.columns),
                edges=tuple(edges if number else () for number in numbers),
                response_edges=response_edges,
                family=facts.family,
            ),
            mu,
        ),
    )
    sums, noise = reply.sums, reply.deviation
    coarse_mu = facts.row_mu * math.sqrt(facts.shares.coarse)
    far_rows = 3 / coarse_mu
    spreads: list[_Spread] = []
    counts: list[float] = []
    place = 0
    for column, number in zip(facts.columns, numbers, strict=True):
        width = len(edges) + 1 if number else 1
        own = sums[place : place + width]
        place += width
        if number:
            spreads.append(_of_histogram(own, np.array(edges), facts.rows, far_rows))
            counts.append(math.inf)
        else:
            chance = min(max(float(own[0]) / facts.rows, 0.0), 1.0)
            deviation = math.sqrt(max(chance * (1 - chance), 1e-9)) * column.unit
            spreads.append(_Spread(column.zero + chance * column.unit, deviation, 0.0))
            counts.append(float(own[0]))
    own = sums[place:]
    if yes_or_no:
        chance = min(max(float(own[0]) / facts.rows, 2 * noise / facts.rows), 1 - 2 * noise / facts.rows)
        chance = min(max(chance, 1e-4), 1 - 1e-4)
        root = math.sqrt(chance * (1 - chance))
        response = _Spread((2 * chance - 1) * GRID, 2 * root * GRID, max(chance, 1 - chance) / root)
        mean, dispersion = chance, 1.0
    else:
        response = _of_histogram(own, np.array(response_edges), facts.rows, far_rows)
        mean = max(response.center, 0.05)
        dispersion = max(1.0, 0.7 * response.deviation**2 / mean)
    return _scales(facts, spreads, np.array(counts), noise, response, mean, dispersion)


COUNT_EDGES = tuple(float(edge) for edge in (*(0.5 + np.arange(8)), *np.floor(8 * 1.25 ** np.arange(1, 28)) + 0.5))
"""Of a response of counts: one by one, then each a quarter farther, to some 3,000."""


def _edges(rows_a_noise: float) -> tuple[float, ...]:
    """Of numbers with limits: 8 to 128 equal bins, as many as leave four deviations of noise in each."""
    bins = 2 ** min(max(math.floor(math.log2(max(rows_a_noise / 4, 1))), 3), 7)
    return tuple(float(edge) for edge in np.linspace(-GRID, GRID, bins + 1)[1:-1])


def _of_histogram(noisy: Floats, edges: Floats, rows: float, far_rows: float) -> _Spread:
    """Center, deviation and tail of a noisy histogram, whose bins are moved to the nearest ones that there can be."""
    widths = np.diff(edges)
    lows, highs = np.append(edges[0] - widths[0], edges), np.append(edges, edges[-1] + widths[-1])
    middles, widths = (lows + highs) / 2, highs - lows
    counts = on_simplex(noisy, rows)
    chances = counts / rows
    center = float(chances @ middles)
    within = float(chances @ widths**2) / 12
    deviation = math.sqrt(max(float(chances @ (middles - center) ** 2) - within, 0.0) + within)
    order = np.argsort(-np.abs(middles - center))
    beyond = np.cumsum(counts[order])
    last = min(int(np.searchsorted(beyond, far_rows)), len(counts) - 1)
    return _Spread(center, deviation, float(np.abs(middles - center)[order][last]) / deviation)


def on_simplex(values: Floats, total: float) -> Floats:
    """The nearest numbers that are not negative and add up to `total`."""
    down = np.sort(values)[::-1]
    excess = (np.cumsum(down) - total) / np.arange(1, len(values) + 1)
    positive = int(np.flatnonzero(down - excess > 0)[-1])
    return np.asarray(np.maximum(values - excess[positive], 0.0))


def _scales(
    facts: Facts,
    spreads: list[_Spread],
    counts: Floats,
    noise: float,
    response: _Spread,
    mean: float,
    dispersion: float,
) -> Scales:
    """Drop the levels that are too rare to be seen, and keep the rows of those that are rare short.

    A model without an intercept goes through the zeros of its lines, and nothing is centered.
    """
    if not facts.intercept:
        spreads = [_Spread(0.0, math.hypot(each.center, each.deviation), each.tail) for each in spreads]
        response = _Spread(0.0, math.hypot(response.center, response.deviation), response.tail)
    gram_mu = facts.row_mu * math.sqrt(facts.shares.start_gram)
    kept = counts > max(math.sqrt(facts.width) / gram_mu, SURE * noise)
    units = np.array([abs(column.unit) for column in facts.columns])[kept]
    dummy = np.array([column.kind != "number" for column in facts.columns], dtype=bool)[kept]
    deviations = np.array([spread.deviation for spread in spreads])[kept]
    width = int(kept.sum()) + facts.intercept
    shortest = units / math.sqrt(min(max(facts.row_length - 1, 1.0), 3.0) * max(width, 1))
    scales = np.where(dummy, np.maximum(deviations, shortest), deviations)
    return Scales(
        kept=kept,
        centers=np.array([spread.center for spread in spreads])[kept],
        deviations=deviations,
        scales=scales,
        count_noise=np.append(np.zeros(int(facts.intercept)), np.where(dummy, noise * (units / scales) ** 2, 0.0)),
        response_center=response.center,
        response_deviation=response.deviation,
        tail=response.tail,
        mean=mean,
        dispersion=dispersion,
        intercept=facts.intercept,
    )
