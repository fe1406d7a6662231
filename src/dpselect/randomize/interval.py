"""Private. Scores of the intervals to which a response could be clipped, from how many responses lie beyond each edge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study.neighbors import Neighbors
from dpselect.gather.responses import Beyond, Counts
from dpselect.penalize.scores import Scores


def edges(lower: float, upper: float, steps: int) -> NDArray[np.float64]:
    """Public. The places where an interval may begin or end."""
    return np.linspace(lower, upper, steps + 1)


def intervals(steps: int) -> tuple[Counts, Counts]:
    """Public. The first and the last edge of every interval, in the order of the scores."""
    first, last = np.triu_indices(steps + 1, 1)
    return first, last


def interval_scores(beyond: Beyond, outside: float, neighbors: Neighbors) -> Scores:
    """How far an interval is from leaving the share `outside` of the n responses on either side, in rows: low is good.

    The score of the interval from edge i to edge j is max(|below_i - outside n|, |above_j - outside n|), and the range of its
    change is 2 (replace-one) or 2 (1 - outside) (add-remove-one; outside is below 1/2).

    Why: replacing a record leaves n and moves a count by at most 1. Adding one adds 0 or 1 to a count and `outside` to
    outside n, so it moves their difference by at most 1 - outside. Absolute values and maxima of things that move by at most
    D move by at most D, up or down, so two scores' changes differ by at most 2D. `outside` is a multiple of 1/1024 and
    n at most 2^32, so all of this is exact in doubles.

    Source: ours; for one quantile, Smith, *Privacy-preserving statistical estimation with optimal convergence rates* (2011).
    Tested: tests/claims/test_interval_range.py
    """
    wanted = outside * beyond.n
    low, high = np.abs(beyond.below - wanted), np.abs(beyond.above - wanted)
    first, last = intervals(beyond.below.size - 1)
    return Scores(np.maximum(low[first], high[last]), interval_range(outside, neighbors), "interval")


def interval_range(outside: float, neighbors: Neighbors) -> float:
    """Public. The range that `interval_scores` proves."""
    return 2 * (1.0 if neighbors == "replace-one" else 1 - outside)
