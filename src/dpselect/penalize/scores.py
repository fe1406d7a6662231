"""Private. A score is values, a range and a name; nothing after it asks which method it was. The paper's two are here.

PCLS (Algorithm 1) is the least loss plus the penalty; PCPL (Algorithm 2) n log(loss/n) plus the penalty, and its range has to be
bought.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.budget import Neighbors
from dpselect.assume.lemmas.sensitivity import (
    MAXIMUM_ROWS,
    certified_range,
    loss_range,
    loss_sensitivity,
    profile_change,
    profile_rounding,
    round_up,
    score_rounding,
)
from dpselect.minimize.losses.losses import Losses


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Scores:
    """Private. One number a candidate, low is good.

    Formal guarantee: on neighbouring tables the changes of `values` differ between any two candidates by at most
    `range`, which is public. An infinite range means that nothing is known, and the choice must be uniform.
    """

    values: NDArray[np.float64]
    range: float
    name: str

    def __repr__(self) -> str:
        return f"Scores(name={self.name!r}, candidates={self.values.size}, range={self.range:g}, values=<private>)"


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


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LocalScores:
    """Private. Scores whose range depends on the table through its least loss alone.

    Formal guarantee: `least_loss` moves by at most `sensitivity` (public); and `bounded(m)` has a valid range towards
    every neighbour whenever m does not exceed the least loss.
    """

    values: NDArray[np.float64]
    least_loss: float
    sensitivity: float
    rows: int
    rounding: float
    as_printed: bool
    name: str

    def __repr__(self) -> str:
        return f"LocalScores(name={self.name!r}, candidates={self.values.size}, values=<private>)"

    def bounded(self, least_loss: float) -> Scores:
        """The scores with the range that follows from a (noisy, lowered) least loss."""
        return Scores(self.values, self.range_for(least_loss), self.name)

    def range_for(self, least_loss: float) -> float:
        """Public once `least_loss` is: twice the change G, and rounding."""
        change = profile_change(least_loss, self.rows, self.sensitivity, as_printed=self.as_printed)
        return certified_range(2 * change, self.rounding)


def pcpl_scores(
    losses: Losses,
    penalties: NDArray[np.float64],
    rho: float,
    rows: int,
    *,
    as_printed: bool = False,
    records: int = 1,
) -> LocalScores:
    """The score n log(loss/n) + penalty. Replace-one only: n is in the formula.

    Computed losses move by at most B = k (1 + rho)^2 + 2 tau when k `records` change, the solver's error on either table
    included, so B takes the place of (r+R)^2 throughout. Losses are floored at B: where the least loss exceeds B nothing
    changes, and where it does not the range is infinite anyway; log max(loss, B) moves no further than log loss, and it is
    never infinite.
    """
    sensitivity = round_up(loss_sensitivity(1.0, rho, records) + 2 * losses.tolerance)
    values = rows * np.log(np.maximum(losses.values, sensitivity) / rows) + penalties
    rounding = profile_rounding(rows, sensitivity, float(penalties.max()))
    least = float(losses.values.min())
    return LocalScores(values, least, sensitivity, rows, rounding, as_printed, "pcpl")
