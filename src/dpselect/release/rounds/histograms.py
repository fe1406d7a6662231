"""Public. Center, scale and tail of a number from a noisy histogram, whatever its limits; and where to look closer.

Noise in far bins must not inflate a scale, and a tail that noise hides must not shrink it by much. So bins far from those that are
surely seen count only as far as they are seen together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpselect.assume.queries import Floats
from dpselect.assume.variables import GRID

SEEN_BIN = 4.0
"""Deviations of the noise from which a bin is surely not empty."""
SEEN_TOGETHER = 2.5
"""The same for all bins on one side of a window together."""
SEEN_FAR, SURE_OCTAVE = 4.5, 5.0
"""The same for an octave far from the rest, and for one of a number without limits: one too far out would mislead."""
ROWS_A_BIN = 4.0
"""Deviations of a bin's noise: as many rows lie in each, if all bins have as many."""
LEAST_BINS, MAX_BINS = 8, 128
"""Of a number with limits, and near the center of one that is looked at closer."""
RESOLVED = 0.25
"""A number is resolved if bins' own widths make up at most this share of its variance."""
CLOSE_REACH = 2.0
"""Scales on either side that a closer look cuts finely."""

FAR_OCTAVES = 12
"""Beyond them, on either side."""
MAX_WIDENING = 2.2
"""Of a scale by bins that are not surely seen: more of it is noise, because limits are far."""
FEW_ROWS = 0.03
"""A share of the rows that may lie away from where the others crowd."""
OCTAVES_IN_A_ROW = 5
"""That rows which are not seen octave by octave are looked for in."""
SEEN_BLOCK = 4.2
"""Deviations of the noise from which they are surely found."""
SURE_REST, LIKELY_BLOCK = 4.0, 3.0
"""The same for rows beside a single octave, which surely lie somewhere, and for where they lie: a closer look tells whether."""
LEAST_FINE = 0.3
"""Of the rows: what the fine bins of a closer look have at least, however many the octaves beyond them seem to hold."""
BLOCKS = (1, 3, OCTAVES_IN_A_ROW)
"""The same in octaves, where only a single one is seen: rows that are surely left may lie close together too."""
MISSED = 2.0
"""Deviations of the noise that may hide rows outside the bins that a reading counts."""
LEAST_TAIL = 3.0
"""Deviations from the center to which the rows of any number are taken to reach: octaves do not tell, and noise hides a tail."""

_FINE = 2.0 ** np.arange(-14.0, 44.5, 1.0)
OPEN_EDGES: Floats = np.concatenate([-_FINE[::-1], _FINE])
"""Of a number without limits: octaves on both sides of zero, from 1/16,000 to 10^13."""
COUNT_EDGES: Floats = np.append(0.5 + np.arange(8), np.floor(8 * 1.25 ** np.arange(1, 40)) + 0.5)
"""Of a response of counts: one by one, then each a quarter farther, to some 50,000."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Public. Center, deviation and tail of a number, in units of its line; `resolved` if bins were narrow enough to see it.

    `apart` are the rows that were counted beside the fullest bin, less those that may lie where nothing was counted: a number has a
    slope by such rows alone, and they must be many as the rows of a level must. `kurtosis` is that of what was seen.
    """

    center: float
    deviation: float
    tail: float
    resolved: bool
    apart: float = math.inf
    kurtosis: float = 1.0


def limited_edges(rows_a_noise: float) -> Floats:
    """Of numbers with limits: 8 to 128 equal bins, as many as leave four deviations of noise in each."""
    bins = _bins(rows_a_noise)
    # The middles of the outer bins are the limits: answers on a scale of a few steps lie near middles.
    return np.asarray((np.arange(1, bins) - bins / 2) * (2.0 * GRID / (bins - 1)), dtype=np.float64)


def closer_edges(spread: Spread, rows_a_noise: float) -> Floats:
    """Fine bins near the center, then octaves of distance, for whatever was not seen there."""
    bins = _bins(rows_a_noise)
    fine = np.linspace(-CLOSE_REACH, CLOSE_REACH, bins + 1)
    far = CLOSE_REACH * 2.0 ** np.arange(1, FAR_OCTAVES + 1)
    return np.asarray(spread.center + spread.deviation * np.concatenate([-far[::-1], fine, far]))


def _bins(rows_a_noise: float) -> int:
    """A power of two."""
    bins = 1 << math.floor(math.log2(max(rows_a_noise / ROWS_A_BIN, 1)))
    return min(max(bins, LEAST_BINS), MAX_BINS)


def read_limited(noisy: Floats, edges: Floats, rows: float, noise: float, far_rows: float) -> Spread:
    """The first look at a number with limits.

    Once it is resolved and limits are not far, or its rows crowd at a limit and more than a few may lie elsewhere, all bins count
    as they are: noise far out makes the scale longer, which costs less than a tail that is cut off.
    """
    bins = len(noisy)
    counts = likely_counts(noisy, rows, noise)
    narrow = _spread(counts, edges, far_rows)
    fullest = int(np.argmax(noisy))
    near = np.abs(np.arange(bins) - fullest) <= 1
    beyond = rows - float(noisy[near].sum()) + MISSED * noise * math.sqrt(near.sum())
    crowded = fullest in (0, bins - 1) and beyond > FEW_ROWS * rows
    whole = replace(_spread(on_simplex(noisy, rows), edges, far_rows), resolved=True)
    near_limits = narrow.resolved and whole.deviation <= MAX_WIDENING * narrow.deviation
    return replace(whole if near_limits or crowded else narrow, apart=rows - float(noisy[fullest]))


def read_closer(noisy: Floats, edges: Floats, rows: float, noise: float, far_rows: float) -> Spread:
    """A closer look: fine bins as they are, of the octaves beyond them only those that are surely seen."""
    counts = np.where(noisy > SEEN_FAR * noise, noisy, 0.0)
    fine = slice(FAR_OCTAVES, len(noisy) - FAR_OCTAVES)
    counts[fine] = 0.0
    counts[fine] = likely_counts(noisy[fine], max(rows - float(counts.sum()), LEAST_FINE * rows), noise)
    spread = _spread(counts, edges, far_rows)
    # Rows in an outer bin lie anywhere beyond its edge: that they are seen there says to look again, from farther.
    resolved = spread.resolved and not (counts[0] or counts[-1])
    return replace(spread, resolved=resolved, apart=_apart(noisy, counts, rows, noise))


def _apart(noisy: Floats, counts: Floats, rows: float, noise: float) -> float:
    """Rows between the first and the last bin that count, without the fullest, less those that may lie beyond."""
    counted, bins = np.flatnonzero(counts), len(noisy)
    even = noisy + (rows - noisy.sum()) / bins
    window = even[counted[0] : counted[-1] + 1]
    beyond = rows - float(window.sum())
    hidden = MISSED * noise * math.sqrt(len(window) * (bins - len(window)) / bins)
    return rows - float(window.max()) - max(beyond, 0.0) - max(beyond + hidden, 0.0)


def read_counts(noisy: Floats, edges: Floats, rows: float, noise: float, far_rows: float) -> Spread:
    """The look at a response of counts, which are told apart one by one."""
    return replace(_spread(likely_counts(noisy, rows, noise), edges, far_rows), resolved=True)


def _spread(counts: Floats, edges: Floats, far_rows: float) -> Spread:
    """Center, deviation and the distance beyond which `far_rows` rows lie, in deviations."""
    # The outer bins have no end: they count as if they were as wide as their neighbours.
    widths = np.concatenate([[edges[1] - edges[0]], np.diff(edges), [edges[-1] - edges[-2]]])
    middles = np.concatenate([[edges[0]], edges]) + widths * np.append(-0.5, np.full(len(edges), 0.5))
    chances = counts / counts.sum()
    center = float(chances @ middles)
    within = float(chances @ widths**2) / 12
    between = float(chances @ (middles - center) ** 2)
    distances = np.abs(middles - center)
    order = np.argsort(-distances)
    last = min(int(np.searchsorted(np.cumsum(counts[order]), far_rows)), len(counts) - 1)
    deviation = math.sqrt(max(between, within))
    fourth = float(chances @ (middles - center) ** 4) / deviation**4
    return Spread(
        center, deviation, float(distances[order][last]) / deviation, within <= RESOLVED * between, kurtosis=fourth
    )


def locate(noisy: Floats, edges: Floats, rows: float, noise: float) -> Spread:
    """About where the rows lie on a scale of octaves: bins that are surely seen count, or the fullest.

    Where they leave rows over (many zeros, and the rest too thin to be seen bin by bin), the fullest octaves in a row count too. If
    a single octave is seen and rows are surely left, they lie somewhere: a guess at where is better than none.
    """
    lows, highs = np.append(2 * edges[0], edges), np.append(edges, 2 * edges[-1])
    seen = noisy > SURE_OCTAVE * noise
    if not seen.any():
        seen[int(np.argmax(noisy))] = True
    left = rows - float(noisy[seen].sum())
    counts = np.where(seen, np.maximum(noisy, 1.0), 0.0)
    if left > SEEN_TOGETHER * noise * math.sqrt(seen.sum()):
        others = np.where(seen, 0.0, noisy)
        alone = seen.sum() == 1 and left > SURE_REST * noise
        deviations, first, length = max(
            (float(sums.max()) / (noise * math.sqrt(length)), int(np.argmax(sums)), length)
            for length in (BLOCKS if alone else (OCTAVES_IN_A_ROW,))
            for sums in (np.convolve(others, np.ones(length), mode="valid"),)
        )
        block = np.zeros(len(noisy), dtype=bool)
        block[first : first + length] = True
        block &= ~seen
        if deviations > (LIKELY_BLOCK if alone else SEEN_BLOCK):
            counts[block] = on_simplex(noisy[block], left)
    chances = counts / counts.sum()
    center = float(chances @ (lows + highs)) / 2
    variance = float(chances @ (((lows + highs) / 2 - center) ** 2 + (highs - lows) ** 2 / 12))
    missed = max(left + MISSED * noise * math.sqrt(seen.sum()), 0.0)
    apart = float(noisy[seen].sum() - noisy[seen].max()) - missed
    return Spread(center, math.sqrt(variance), LEAST_TAIL, False, apart)


def likely_counts(noisy: Floats, rows: float, noise: float) -> Floats:
    """The nearest counts that there can be, in the shortest window that has all rows but as many as noise could hide.

    It starts with the bins that are surely seen. A side is doubled as long as what lies beyond it, known from the total as well, is
    surely not nothing.
    """
    bins = len(noisy)
    even = noisy + (rows - noisy.sum()) / bins
    seen = np.flatnonzero(even > SEEN_BIN * noise)
    low, high = (int(seen[0]), int(seen[-1])) if seen.size else (int(np.argmax(even)),) * 2
    low, high = max(low - 1, 0), min(high + 1, bins - 1)
    while True:
        length = high - low + 1
        wider = []
        for beyond in (even[:low], even[high + 1 :]):
            deviation = noise * math.sqrt(len(beyond) * (bins - len(beyond)) / bins)
            wider.append(length if float(beyond.sum()) > SEEN_TOGETHER * deviation else 0)
        if not any(wider):
            break
        low, high = max(low - wider[0], 0), min(high + wider[1], bins - 1)
    counts = np.zeros(bins)
    counts[low : high + 1] = on_simplex(noisy[low : high + 1], rows)
    return counts


def on_simplex(values: Floats, total: float) -> Floats:
    """The nearest numbers that are not negative and add up to `total`."""
    down = np.sort(values)[::-1]
    excess = (np.cumsum(down) - total) / np.arange(1, len(values) + 1)
    positive = int(np.flatnonzero(down - excess > 0)[-1])
    return np.asarray(np.maximum(values - excess[positive], 0.0))
