"""Public. The variance of a gradient whose rows come in clusters: where clusters' sums are clipped, and what is added for safety.

The sum over clusters of ss' is seen with noise, and clipped sums are shorter than they were; either could make an interval too
short. So half a deviation of the noise and all that the clip may have taken are added in every direction: where clusters are hard
to see, intervals are longer than need be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dpselect.assume.queries import Floats, Noisy
from dpselect.release.rounds.facts import Facts
from dpselect.release.rounds.radii import falling

CLUSTER_EDGES: Floats = 2.0 ** np.arange(-1.0, 18.0)
"""Of the histogram of the lengths of clusters' sums, in lengths of a usual row's gradient."""
CLUSTER_RADII: Floats = 2.0 ** np.arange(0, 18.01, 0.25)
"""That the clip of a cluster's sum may have, in the same unit."""
TAIL_RATIO = 0.25
"""Beyond the last bin that is seen each has at most this share of the clusters of the one before."""
SEEN = 3.0
"""Deviations of the noise from which a bin is seen. One that is empty and seems seen makes intervals longer, not shorter."""
HIDDEN_NOISE = 0.5
"""Deviations of the noise that are added to the variance."""
MIN_CLUSTERS = 20
"""Fewer do not tell how far clusters differ."""
MIN_VARIANCE = 0.5
"""Of the variance that rows would have by themselves: clusters do not make it much smaller."""

_POINTS_OF_A_BIN = 2.0 ** ((np.arange(8) + 0.5) / 8)


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
    seen = np.flatnonzero(counts > SEEN * noise)
    if not seen.size:
        return None
    last = int(seen[-1])
    counts = np.append(np.maximum(counts[:last], 0.0), falling(counts[last:], TAIL_RATIO))
    squares = (CLUSTER_EDGES[:, None] * _POINTS_OF_A_BIN) ** 2
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
