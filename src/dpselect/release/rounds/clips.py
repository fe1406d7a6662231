"""Public. Where the last gradient is clipped: noise grows with the radius, what is cut off falls; a noisy histogram weighs them.

Lengths are in units of the root of the width times the residual deviation, which is that of a usual row's gradient. Rows that come
in clusters are clipped twice: each by itself, and then the sum of each cluster, whose squares say how far clusters differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dpselect.assume.queries import Floats, Noisy, yes_variance
from dpselect.release.rounds.facts import Facts

ANSWER_EDGES: Floats = 2.0 ** np.array([-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0])
"""Of the histogram of gradient lengths where the response is yes or no, in two halves. Each bin more is one where rows can hide."""
TAIL_EDGES: Floats = np.array([0.0, 2.0, 2.0**1.5, 4.0, 2.0**2.5, 8.0, 16.0, 32.0])
"""Of any other response: few bins far out, for each of them has noise of its own."""
CLIP_RADII: Floats = 2.0 ** np.arange(1, 6.01, 0.1)
"""That a clip may have."""
ONE_WAY, MOST_ONE_WAY = 1.8, 0.6
"""Of the clip's bound that is added to an interval: the first over the width, or the second where that is less.

What is cut off points both ways, and the more columns there are, the less of it at one coefficient.
"""
YES_ONE_WAY, MOST_YES_ONE_WAY = 2.0, 0.4
"""The same of a response of no and yes: the rows of a rare yes lie on one side, and more of it points one way."""
SHORT_TAIL_RATIO, LONG_TAIL_RATIO = 0.25, 0.5
"""Beyond the last bin that is surely seen rows fall at least to this share in half an octave: tails have a variance."""
UNSEEN_SHAPE = 1
"""Where no later bin than this is surely seen the tail may be long: nothing of how it falls was seen."""
SURELY_SEEN, NEXT_SEEN = 4.0, 3.0
"""Deviations of the noise from which a bin is surely not empty; and one of those after such a bin."""
HALF_OCTAVE_RATIOS = (0.3, 0.5, 0.7)
"""How a tail may fall over half an octave: the steepest of these that the counts allow."""
MISFIT = 2.0
"""Squared deviations by which a steeper tail may fit worse than the best of them."""
HIDDEN_ROWS = 1.2
"""Deviations of a bin's noise: so many rows may lie in one that the limits of the variables allow, whatever was counted."""
HIDDEN_FROM = 4.0
"""The length from which on there are fewer of them: half as many at twice the length."""
SEEN_BEYOND = 1.5
"""Deviations of the noise from which a bin counts that lies farther than limits suggest."""
TAIL_SEEN = 3.0
"""The same for a bin whose rows count as they are, however few lie before it: rows that share a value lie at one length."""
FEW_COLUMNS, MOST_FARTHER = 4.0, 2.0
"""In a model of fewer columns than these a row far out in one of them is long: bins count farther by their ratio, at most twice."""
MOST_USUAL = 4.0
"""A usual length, of the one that was supposed."""
TAIL_START = 1.9
"""Usual lengths: a bin that begins beyond them is one of a tail."""
LONG_ROW, LONG_COUNT_ROW = 1.5, 3.0
"""The residual of a row that lies as far as limits allow, in deviations; that of a count grows with the mean, which is large there
or next to nothing."""
FARTHEST_ANSWER = 0.7
"""Of the length of a row that lies as far as limits or a rare level allow, and has the answer that nobody expects."""
MAX_SQUARES = 4.0
"""Times the rows: squared lengths add up to less, for their mean is near one. What is more in a bin is noise."""
NATURAL_SHARE = 0.5
"""Of the rows of one answer: as many at least lie where its residuals do by nature, if no bin is surely seen."""
NEXT_BINS = 2
"""So many bins after one that is seen are looked at for the next: noise may hide one between."""
TAIL_SHARE, MAX_LEAST_RADIUS = 0.5, 32.0
"""Of the response's tail: no clip is shorter, up to so many units. A histogram hides the few rows of a tail."""
USUAL_QUANTILE = 1.96
"""Of the interval whose length a radius is chosen by."""


POINTS_A_BIN = 8
"""At which the rows of a bin are taken to lie, spread over it evenly by the logarithm of their length."""


def _points(edges: Floats) -> Floats:
    """Where rows in bins from these edges on lie; the last bin is as wide as an octave."""
    octaves = np.diff(np.log2(np.append(edges, 2 * edges[-1])))
    return np.asarray(edges[:, None] * 2.0 ** (octaves[:, None] * (np.arange(POINTS_A_BIN) + 0.5) / POINTS_A_BIN))


ANSWER_POINTS, TAIL_POINTS = _points(ANSWER_EDGES), _points(TAIL_EDGES[1:])


@dataclass(frozen=True, slots=True)
class Half:
    """Public. A noisy histogram of the rows of one answer, no or yes, and where they lie by nature.

    The residual has two values near public ones: `start` is the bin there, `rows` how many they are.
    """

    noisy: Floats
    start: int
    rows: float


@dataclass(frozen=True, slots=True)
class Clip:
    """Public. A radius, the summed excess beyond it, and how long a usual gradient was seen to be: all in units."""

    radius: float
    excess: float
    usual: float = 1.0


def choose_radius_of_answers(
    halves: list[Half], noise: float, rows: float, *, width: int, tail: float, farthest: float, noise_a_radius: float
) -> Clip:
    """Of a response of no and yes: the radius that makes intervals shortest, not below half the tail.

    The few rows of a cell in which yes is rare, or of no where nearly all say yes, are long; up to `farthest` noise may hide them.
    """
    hidden = hidden_rows(ANSWER_EDGES, farthest, noise)
    counts = sum((np.maximum(answer_counts(half, noise, rows), hidden) for half in halves), np.zeros(len(ANSWER_EDGES)))
    excess = _beyond(ANSWER_POINTS) @ counts
    return _best(excess, _half_lengths(excess, yes_clip_share(width), rows / width, noise_a_radius), tail)


def choose_radius(
    noisy: Floats, noise: float, rows: float, *, width: int, tail: float, farthest: float, noise_a_radius: float
) -> Clip:
    """Of any other response: the radius that makes intervals shortest, with what they count of the excess; not below half the tail.

    A few dozen rows far out can carry a slope, and noise hides as many. Whether there are any is known to the limits that were
    stated: no row has a gradient longer than about `farthest`. Up to there rows are counted that noise may hide; beyond it only
    those that are seen.
    """
    usual = usual_length(noisy, noise, rows)
    first = int(np.flatnonzero(TAIL_EDGES > TAIL_START * usual)[0])
    edges, lengths = TAIL_EDGES[first:] / usual, TAIL_POINTS[first - 1 :] / usual
    counted_until = farthest * min(max(FEW_COLUMNS / width, 1.0), MOST_FARTHER)
    counts = np.minimum(noisy[first:], MAX_SQUARES * rows / edges**2)
    counts = np.where((edges < counted_until / usual) | (counts > SEEN_BEYOND * noise), counts, 0.0)
    octaves = np.log2(edges / edges[0])
    fits = [falling(counts, ratio ** (2 * octaves)) for ratio in HALF_OCTAVE_RATIOS]
    misfits = np.array([float(((counts - fit) ** 2).sum()) / noise**2 for fit in fits])
    fit = fits[int(np.flatnonzero(misfits <= misfits.min() + MISFIT)[0])]
    seen = np.where(counts > TAIL_SEEN * noise, counts, 0.0)
    excess = _beyond(lengths) @ np.maximum(np.maximum(fit, hidden_rows(edges, farthest / usual, noise)), seen)
    clip = _best(excess, _half_lengths(excess, clip_share(width), rows / width, noise_a_radius), tail)
    return Clip(clip.radius * usual, clip.excess * usual, usual)


def hidden_rows(edges: Floats, farthest: float, noise: float) -> Floats:
    """How many rows may lie in each bin unseen, where rows can lie there at all."""
    return np.asarray(HIDDEN_ROWS * noise * np.where(edges < farthest, np.minimum(HIDDEN_FROM / edges, 1.0), 0.0))


def _beyond(points: Floats) -> Floats:
    """What one row in a bin (column) has beyond a radius (row), on average."""
    return np.array([np.maximum(points - radius, 0).mean(axis=1) for radius in CLIP_RADII])


def clip_share(width: int) -> float:
    """Of the clip's bound: what may point at one of so many coefficients."""
    return min(ONE_WAY / width, MOST_ONE_WAY)


def yes_clip_share(width: int) -> float:
    """The same of a response of no and yes."""
    return min(YES_ONE_WAY / width, MOST_YES_ONE_WAY)


def usual_length(noisy: Floats, noise: float, rows: float) -> float:
    """The length of a usual gradient in units: more than one if the squares of those that are seen add up to more than the rows.

    The unit was found before residuals were seen: where the first look has missed rows far out, it is too short.
    """
    seen = np.where(noisy[1:] > SURELY_SEEN * noise, noisy[1:], 0.0)
    square = float(seen @ (TAIL_POINTS**2).mean(axis=1)) / rows
    return min(max(math.sqrt(square), 1.0), MOST_USUAL)


def farthest_row(response_extent: float, extent: float, deviation: float, width: int, *, counts: bool = False) -> float:
    """About how long a gradient can be, in units, if limits lie so many deviations from the centers: far in one of them.

    `deviation` is that of a residual in deviations of the response; of counts the two are about the same.
    """
    if counts:
        return max(response_extent, LONG_COUNT_ROW * extent / math.sqrt(width))
    return max(response_extent / deviation, LONG_ROW * extent / math.sqrt(width))


def farthest_answer(reach: float, chance: float, width: int) -> float:
    """The same of a response of no and yes, where the column with the longest rows reaches so far: a residual is at most one.

    In units a usual row with such a residual is as long as one over the deviation of the response.
    """
    return FARTHEST_ANSWER * max(1.0, reach / math.sqrt(width)) / math.sqrt(yes_variance(chance))


def _half_lengths(excess: Floats, share: float, sampling: float, noise_a_radius: float) -> Floats:
    """Of an interval, by radius: noise and sampling, and what is added for the clip."""
    return np.asarray(USUAL_QUANTILE * np.sqrt((noise_a_radius * CLIP_RADII) ** 2 + sampling) + share * excess)


def _best(excess: Floats, risk: Floats, tail: float) -> Clip:
    least = min(TAIL_SHARE * tail, MAX_LEAST_RADIUS)
    best = int(np.argmin(np.where(least <= CLIP_RADII, risk, np.inf)))
    return Clip(float(CLIP_RADII[best]), float(excess[best]))


def answer_counts(half: Half, noise: float, rows: float) -> Floats:
    """A noisy histogram of one answer made fit for tails: not negative, and falling from the last bin that is surely seen.

    Bins that would make the squares add up to more than they can (their mean is near one) are noise, whatever they hold. Rows that
    share their values lie at one length: a bin that is seen counts as it is, however few lie before it.
    """
    counts = half.noisy.copy()
    possible = counts * ANSWER_EDGES**2 <= MAX_SQUARES * rows
    sure = np.flatnonzero((counts > SURELY_SEEN * noise) & possible)
    if sure.size:
        last = int(sure[-1])
    else:
        last = half.start
        counts[last] = max(counts[last], NATURAL_SHARE * half.rows)
    seen = (half.noisy > NEXT_SEEN * noise) & possible
    while (following := np.flatnonzero(seen[last + 1 : last + 1 + NEXT_BINS])).size:
        last += 1 + int(following[0])
    ratio = SHORT_TAIL_RATIO if last > UNSEEN_SHAPE else LONG_TAIL_RATIO
    octaves = np.log2(ANSWER_EDGES[last:] / ANSWER_EDGES[last])
    fit = np.append(np.maximum(counts[:last], 0.0), falling(counts[last:], ratio ** (2 * octaves)))
    return np.asarray(np.maximum(fit, np.where(seen, half.noisy, 0.0)))


def _powers(ratio: float, count: int) -> Floats:
    return np.asarray(ratio ** np.arange(count), dtype=np.float64)


def falling(values: Floats, parts: Floats) -> Floats:
    """The nearest numbers that are not negative and fall at least as `parts` do, from each to the next.

    Over their parts they do not rise: an isotonic regression with the parts' squares as weights, by pooling neighbours that do.
    """
    pools: list[tuple[float, float, int]] = []
    for value, part in zip(values.tolist(), parts.tolist(), strict=True):
        pools.append((value / part, part * part, 1))
        while len(pools) > 1 and pools[-1][0] > pools[-2][0]:
            (level, heavy, many), (before, weighty, number) = pools.pop(), pools.pop()
            total = heavy + weighty
            pools.append(((level * heavy + before * weighty) / total, total, many + number))
    levels = np.concatenate([np.full(number, max(level, 0.0)) for level, _, number in pools])
    return np.asarray(levels * parts)


# The sum over clusters of ss' is seen with noise, and clipped sums are shorter than they were; either could make an interval too
# short. So half a deviation of the noise and all that the clip may have taken are added in every direction: where clusters are hard
# to see, intervals are longer than need be.

CLUSTER_EDGES: Floats = 2.0 ** np.arange(-1.0, 18.0)
"""Of the histogram of the lengths of clusters' sums, in lengths of a usual row's gradient."""
CLUSTER_RADII: Floats = 2.0 ** np.arange(0, 18.01, 0.25)
"""That the clip of a cluster's sum may have, in the same unit."""
CLUSTER_TAIL_RATIO = 0.25
"""Beyond the last bin that is seen each has at most this share of the clusters of the one before."""
SEEN_CLUSTERS = 3.0
"""Deviations of the noise from which a bin is seen. One that is empty and seems seen makes intervals longer, not shorter."""
HIDDEN_NOISE = 0.5
"""Deviations of the noise that are added to the variance."""
MIN_CLUSTERS = 20
"""Fewer do not tell how far clusters differ."""
MIN_VARIANCE = 0.5
"""Of the variance that rows would have by themselves, and alike in all directions: what is seen of none is taken to be less."""

_POINTS_OF_AN_OCTAVE = 2.0 ** ((np.arange(POINTS_A_BIN) + 0.5) / POINTS_A_BIN)


@dataclass(frozen=True, slots=True)
class ClusterClip:
    """Public. The radius of clusters' sums and the sum of squares beyond it, both in usual gradients; and how many clusters."""

    radius: float
    excess: float
    count: float


def choose_cluster_radius(facts: Facts, lengths: Noisy, clip_radius: float) -> ClusterClip | None:
    """The radius that makes noise and lost squares least together; nothing where no bin of clusters is seen.

    `clip_radius` is that of a row. The deviation of the noise is `cluster_product_sensitivity` over the sandwich's part of mu.
    """
    counts, noise = lengths.sums.copy(), lengths.deviation
    seen = np.flatnonzero(counts > SEEN_CLUSTERS * noise)
    if not seen.size:
        return None
    last = int(seen[-1])
    counts = np.append(
        np.maximum(counts[:last], 0.0), falling(counts[last:], _powers(CLUSTER_TAIL_RATIO, len(counts) - last))
    )
    squares = (CLUSTER_EDGES[:, None] * _POINTS_OF_AN_OCTAVE) ** 2
    excess = np.array([counts @ np.maximum(squares - radius**2, 0.0).mean(axis=1) for radius in CLUSTER_RADII])
    squared = CLUSTER_RADII**2
    moved = math.sqrt(facts.replaced) * squared
    if not facts.cluster_is_unit:
        moved = np.minimum(math.sqrt(2) * squared, 2 * facts.mu / facts.row_mu * clip_radius * CLUSTER_RADII)
    risk = HIDDEN_NOISE * moved / (facts.mu * math.sqrt(facts.shares.sandwich)) + excess
    best = int(np.argmin(risk))
    return ClusterClip(float(CLUSTER_RADII[best]), float(excess[best]), float(counts.sum()))


def clustered_covariance(hessian: Floats, variance: float, seen: Noisy, excess: float) -> Floats:
    """The covariance of the gradient: what was seen, at least half of what rows alone would have, and what may be hidden."""
    root = np.linalg.cholesky(hessian)
    inverse = np.linalg.inv(root)
    relative = inverse @ seen.sums @ inverse.T
    values, vectors = np.linalg.eigh((relative + relative.T) / 2)
    turned = root @ vectors
    inside = (turned * np.maximum(values, MIN_VARIANCE * variance)) @ turned.T
    return np.asarray(inside + (HIDDEN_NOISE * seen.deviation + excess) * np.eye(len(hessian)))


def few_clusters_factor(facts: Facts, count: float) -> float:
    """By how much sampling errors are longer because clusters are few: Student's quantile over the normal one, and G/(G - 1)."""
    freedom = max(count - 1, 1.0)
    z = NormalDist().inv_cdf((1 + facts.level) / 2)
    return (1 + (z * z + 1) / (4 * freedom)) * math.sqrt(1 + 1 / freedom)
