"""Private. Algorithm 1's score: the least loss plus the penalty."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.budget import Neighbors
from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS, certified_range, loss_range, score_rounding
from dpselect.minimize.losses import Losses
from dpselect.penalize.scores import Scores


def pcls_scores(
    losses: Losses,
    penalties: NDArray[np.float64],
    rho: float,
    neighbors: Neighbors,
    rows: int | None,
    records: int = 1,
) -> Scores:
    """The score loss + penalty, with the range of its change: the losses' range, the solver's error and rounding.

    `rows` is n where it is public, else None, and then the largest n that is allowed stands for it; `records` is by how many
    rows neighbouring tables may differ.
    """
    paid = pcls_range(losses.tolerance, penalties, rho, neighbors, rows, records)
    return Scores(losses.values + penalties, paid, "pcls")


def pcls_range(
    tolerance: float,
    penalties: NDArray[np.float64],
    rho: float,
    neighbors: Neighbors,
    rows: int | None,
    records: int = 1,
) -> float:
    """The range of the score's change, from public values alone."""
    largest_loss = float(MAXIMUM_ROWS if rows is None else rows)
    error = tolerance + score_rounding(largest_loss, float(penalties.max()))
    return certified_range(loss_range(1.0, rho, neighbors, records), error)
