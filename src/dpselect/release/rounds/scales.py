"""Public. The first look: centers and scales of all columns from noisy histograms, and how far out the response's tail lies."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.queries import STANDARD_BITS, Answer, Ask, Floats, Histograms, Standard, yes_variance
from dpselect.assume.variables import GRID
from dpselect.release.rounds.facts import MAX_LOOKS, Facts
from dpselect.release.rounds.histograms import (
    COUNT_EDGES,
    LEAST_TAIL,
    OPEN_EDGES,
    Spread,
    closer_edges,
    limited_edges,
    locate,
    read_closer,
    read_counts,
    read_limited,
)

SURE = 3.0
"""Deviations of the noise from which a count is surely not noise."""
SHORTNESS = 0.05
"""A dummy that is shorter by less is treated as a number."""
FEW_APART, FAR_APART = 0.06, 6.5
"""Where fewer rows than this share have another value than the rest, and reach more deviations out, clips take from the slope."""
LONG_KURTOSIS, NARROW_KURTOSIS = 20.0, 8.0
"""Of what is seen of a number: from there on rows that are not seen may carry its slope. The latter where limits are far."""
LONG_RESPONSE_KURTOSIS = 40.0
"""The same of a response. Noise in far bins makes 25 or 30 of a kurtosis of 9, and clips count the rows of a long response."""
FAR_ROWS, MOST_HIDDEN = 0.5, 2.0
"""The first, in deviations of a bin's noise, are rows that may lie unseen at a number's limits: their squares may be so many times
the sum of all others, and no more, or the slope is theirs."""
OPEN_EXTENT = 6.0
"""Deviations from its center to which a number without limits reaches, as far as its rows are not seen."""
MANY_LOOKS = 3
"""At a response with limits: so narrow in them, it has rows far away that no look has shown."""
MANY_APART = 1 / 3
"""A share of the rows that is enough whatever the noise."""
SAME_SCALE = 0.5
"""A closer look that finds at least this part of an earlier one's scale has the same rows in view."""
TAIL_ROWS = 3.0
"""Over the part of mu that buys a coarse gradient: beyond the tail lie so few rows, which its noise would hide."""
LEAST_MEAN = 0.05
"""Of a response of counts: what is less is noise, and a logarithm is taken of it."""
HIDDEN_YES, LEAST_CHANCE = 2.0, 1e-4
"""Deviations of the noise of a count: of as many rows noise may hide the yes, or the no. And a chance is never less than that."""
SHORTEST_DUMMY, LONGEST_DUMMY = 1.0, 3.0
"""Squared lengths, a column: the few rows of a rare dummy are as long as a row of the Gram may be beside its other columns
(`row_length`), but at least and at most so long."""
UNEXPLAINED_SHARE = 0.7
"""Of the variance of counts: what a model is supposed to leave of it, before residuals are seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scales:
    """Public. What the first look has shown.

    `centers`, `deviations` and `scales` are of the columns, in units of their lines. A rare dummy's scale is larger than
    its deviation, so that its few rows stay short; `count_noise` is the noise of its sum of squares. `tail` is how many deviations
    from its center the response's last rows lie, and `mean` the response's in its own units (of yes or counts). `looks` were
    needed.
    """

    shown: NDArray[np.bool_]
    """The columns that are located well enough for their slopes to be said. The others stay, so that these are right."""
    located: bool
    """Whether the response is."""
    centers: Floats
    deviations: Floats
    kurtoses: Floats
    """Of what is seen of the columns of numbers; of a dummy nothing is said, for its rows stay short."""
    scales: Floats
    count_noise: Floats
    response_center: float
    response_deviation: float
    response_extent: float
    """How many deviations from its center the response's limits lie."""
    extent: float
    """The same of the number whose limits lie farthest."""
    reach: float
    """The same of any column: rows of a rare level lie far from the others too."""
    response_kurtosis: float
    """Of what is seen of the response; of yes and no, which have no tail, nothing is said."""
    tail: float
    mean: float
    dispersion: float
    intercept: bool
    looks: int
    drowned: bool
    """Whether the yes, or the no, of a response are fewer than noise hides."""

    @property
    def long_tail(self) -> float:
        """The response's tail, where a short one is not believed."""
        return max(self.tail, LEAST_TAIL)

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
            columns=tuple(column.place for column in facts.columns),
            centers=tuple(self.centers.tolist()),
            factors=tuple((2.0**STANDARD_BITS / self.scales).tolist()),
            response_center=self.response_center if gaussian else 0.0,
            response_factor=2.0**STANDARD_BITS / self.response_deviation if gaussian else 1.0,
            intercept=self.intercept,
        )


RESPONSE_PLACE = -1
"""The response's place among those that are looked at."""


def look(facts: Facts) -> Generator[Ask, Answer, Scales]:
    """Ask for histograms until every number is resolved; read them, and the counts of dummies."""
    edges = _first_edges(facts)
    counted = [place for place, column in enumerate(facts.columns) if column.kind != "number"]
    yes_or_no = facts.response == "yes or no"
    spreads: dict[int, Spread] = {}
    seen_in: dict[int, int] = {}
    counts: dict[int, float] = {}
    noise = 0.0
    for turn in range(MAX_LOOKS):
        listed = sorted([place for place in edges if place != RESPONSE_PLACE] + (counted if turn == 0 else []))
        (reply,) = yield ((_histograms(facts, listed, edges), facts.mu * math.sqrt(facts.look_share(turn))),)
        taken = 0
        for place in (*listed, *((RESPONSE_PLACE,) if yes_or_no or RESPONSE_PLACE in edges else ())):
            width = len(edges[place]) + 1 if place in edges else 1
            own = reply.sums[taken : taken + width]
            taken += width
            if place in edges:
                spread, earlier = _read(facts, own, edges[place], reply.deviation, turn), spreads.get(place)
                if earlier is not None and spread.deviation > SAME_SCALE * earlier.deviation:
                    spread = replace(spread, apart=max(spread.apart, earlier.apart))
                spreads[place], seen_in[place] = spread, turn + 1
            else:  # the yes of a response are counted again with every look: the first count has the least noise
                counts.setdefault(place, float(own[0]))
        noise = noise or reply.deviation
        closer = {place: closer_edges(spreads[place], facts.rows / reply.deviation) for place in edges}
        edges = {place: own for place, own in closer.items() if not spreads[place].resolved}
        if not edges:
            break
    for place in counted:
        # As many rows as noise may hide have a level that none seem to have.
        column, least = facts.columns[place], min(noise / facts.rows, 0.5)
        chance = min(max(counts[place] / facts.rows, least), 1 - least)
        deviation = math.sqrt(max(yes_variance(chance), 1e-9)) * column.unit
        spreads[place] = Spread(column.zero + chance * column.unit, deviation, 0.0, True)
    if yes_or_no:
        spreads[RESPONSE_PLACE], mean = _of_yes(counts[RESPONSE_PLACE], facts.rows, noise)
    else:
        mean = max(spreads[RESPONSE_PLACE].center, LEAST_MEAN)
    return _scales(facts, spreads, seen_in, counts, noise, mean, turn + 1)


def _first_edges(facts: Facts) -> dict[int, Floats]:
    """Of every number by its place, and of the response unless it is counted."""
    rows_a_noise = facts.rows * facts.row_mu * math.sqrt(facts.look_share(0)) / facts.first_moved
    edges = {
        place: OPEN_EDGES if column.open else limited_edges(rows_a_noise)
        for place, column in enumerate(facts.columns)
        if column.kind == "number"
    }
    if facts.family == "poisson":
        edges[RESPONSE_PLACE] = COUNT_EDGES
    elif facts.response != "yes or no":
        edges[RESPONSE_PLACE] = limited_edges(rows_a_noise) if facts.response == "number" else OPEN_EDGES
    return edges


def _read(facts: Facts, noisy: Floats, edges: Floats, noise: float, turn: int) -> Spread:
    if edges is OPEN_EDGES:
        return locate(noisy, edges, facts.rows, noise)
    read = read_counts if edges is COUNT_EDGES else read_limited if turn == 0 else read_closer
    far_rows = TAIL_ROWS / (facts.row_mu * math.sqrt(facts.shares.coarse))
    return read(noisy, edges, facts.rows, noise, far_rows)


def _histograms(facts: Facts, listed: list[int], edges: dict[int, Floats]) -> Histograms:
    return Histograms(
        columns=tuple(facts.columns[place].place for place in listed),
        edges=tuple(tuple(edges[place].tolist()) if place in edges else () for place in listed),
        response_edges=tuple(edges[RESPONSE_PLACE].tolist()) if RESPONSE_PLACE in edges else (),
        family=facts.family,
    )


def _of_yes(count: float, rows: float, noise: float) -> tuple[Spread, float]:
    """The spread of a response of no and yes, and its mean."""
    least = max(min(HIDDEN_YES * noise / rows, 0.5), LEAST_CHANCE)
    chance = min(max(count / rows, least), 1 - least)
    root = math.sqrt(yes_variance(chance))
    return Spread((2 * chance - 1) * GRID, 2 * root * GRID, max(chance, 1 - chance) / root, True), chance


def _scales(
    facts: Facts,
    found: dict[int, Spread],
    seen_in: dict[int, int],
    counts: dict[int, float],
    noise: float,
    mean: float,
    looks: int,
) -> Scales:
    """Put together what the looks have found, and keep the rows of rare levels short.

    A model without an intercept goes through the zeros of its lines, and nothing is centered.
    """
    if not facts.intercept:
        found = {
            place: replace(each, center=0.0, deviation=math.hypot(each.center, each.deviation))
            for place, each in found.items()
        }
    spreads, response = [found[place] for place in range(len(facts.columns))], found[RESPONSE_PLACE]
    pairs = zip(spreads, facts.columns, strict=True)
    extents = np.array([_extent(spread, opened=column.open) for spread, column in pairs])
    is_number = np.array([column.kind == "number" for column in facts.columns], dtype=bool)
    shown, located = _shown(facts, spreads, response, extents, is_number, seen_in, counts, noise)
    units = np.array([abs(column.unit) for column in facts.columns])
    deviations = np.array([spread.deviation for spread in spreads])
    short = min(max(facts.row_length - 1, SHORTEST_DUMMY), LONGEST_DUMMY)
    shortest = units / math.sqrt(short * max(facts.width, 1))
    scales = np.where(is_number, deviations, np.maximum(deviations, shortest))
    centers = np.array([spread.center for spread in spreads])
    sides = np.abs(centers - [column.zero for column in facts.columns])
    farther = np.maximum(sides, units - sides)
    return Scales(
        shown=shown,
        located=located,
        centers=centers,
        deviations=deviations,
        kurtoses=np.where(is_number, [spread.kurtosis for spread in spreads], 1.0),
        scales=scales,
        count_noise=np.append(np.zeros(int(facts.intercept)), np.where(is_number, 0.0, noise * (units / scales) ** 2)),
        response_center=response.center,
        response_deviation=response.deviation,
        response_extent=_extent(response, opened=facts.response != "number" or not facts.gaussian),
        extent=float(extents[is_number].max(initial=0.0)),
        response_kurtosis=response.kurtosis,
        reach=float(np.where(is_number, extents, farther / scales).max(initial=0.0)),
        tail=response.tail,
        mean=mean,
        dispersion=_dispersion(response, mean) if facts.family == "poisson" else 1.0,
        intercept=facts.intercept,
        looks=looks,
        drowned=facts.response == "yes or no" and not SURE * noise < counts[RESPONSE_PLACE] < facts.rows - SURE * noise,
    )


def _shown(
    facts: Facts,
    spreads: list[Spread],
    response: Spread,
    extents: Floats,
    is_number: NDArray[np.bool_],
    seen_in: dict[int, int],
    counts: dict[int, float],
    noise: float,
) -> tuple[NDArray[np.bool_], bool]:
    """Which columns are located well enough for their slopes to be said, and whether the response is."""
    gram_mu = facts.row_mu * math.sqrt(facts.shares.start_gram)
    least = max(math.sqrt(facts.width) / gram_mu, SURE * noise)
    # Of a level, or of its opposite, there must be enough rows, and a look must resolve a number (not nearly all share a value).
    fewer = {place: min(count, facts.rows - count) for place, count in counts.items()}
    resolved = [math.inf if spread.resolved else 0.0 for spread in spreads]
    seen = np.array([fewer.get(place, resolved[place]) for place in range(len(spreads))]) > least
    # Nor is a number shown whose other values few rows have, or whose rows that no look has shown may carry its slope: one with a
    # long tail. One that is narrow in its limits has rows far away as well, if the limits were stated for a reason.
    apart, tails = np.array([spread.apart for spread in spreads]), np.array([spread.tail for spread in spreads])
    enough = min(least, MANY_APART * facts.rows)
    clear = (apart > enough) & ((apart > FEW_APART * facts.rows) | (tails < FAR_APART))
    narrow = np.array(
        [seen_in.get(place, 1) > 1 and not column.open for place, column in enumerate(facts.columns)], dtype=bool
    )
    kurtoses = np.array([spread.kurtosis for spread in spreads])
    clear &= kurtoses <= np.where(narrow, NARROW_KURTOSIS, LONG_KURTOSIS)
    # A closer look has shown what lies near: there the kurtosis tells.
    clear &= narrow | (FAR_ROWS * noise * extents**2 <= MOST_HIDDEN * facts.rows)
    again = seen_in.get(RESPONSE_PLACE, 1) if facts.response == "number" else 1
    is_long = response.kurtosis > (LONG_RESPONSE_KURTOSIS if again == 1 else NARROW_KURTOSIS)
    located = response.apart > enough and not (facts.gaussian and (again >= MANY_LOOKS or is_long))
    return seen & (~is_number | clear), located


def _dispersion(response: Spread, mean: float) -> float:
    """By how much counts vary more than Poisson's would, which is what is supposed of their residuals."""
    return max(1.0, UNEXPLAINED_SHARE * response.deviation**2 / mean)


def _extent(spread: Spread, *, opened: bool) -> float:
    """How many deviations from its center a number's limits lie; of one without limits this is not known."""
    return OPEN_EXTENT if opened else (GRID + abs(spread.center)) / spread.deviation
