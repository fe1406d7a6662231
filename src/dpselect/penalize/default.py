"""Public. A penalty from public facts alone, for those who do not want to guess one."""

from __future__ import annotations

import math

from dpselect.assume.assumptions import Assumptions
from dpselect.assume.candidates import Candidates
from dpselect.assume.sensitivity import loss_range


def default_penalty(
    assumptions: Assumptions, candidates: Candidates, epsilon: float, method: str, rows: int | None
) -> float:
    """A column must lower the score by more than the choice's noise would pretend for one of `width` idle columns.

    PCLS: (w/epsilon) log(2 width), in squared units of the response. With it the weight of the models with idle columns,
    relative to the one without, is at most (1 + 1/(2 width))^width < exp(1/2). PCPL: BIC, log n.
    """
    if method == "pcpl":
        assert rows is not None
        return math.log(rows)
    scaled = loss_range(1.0, assumptions.rho, assumptions.neighbors) / epsilon * math.log(2 * candidates.width)
    return scaled * assumptions.r**2
