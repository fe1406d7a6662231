"""Private. The least losses of all candidates, and how far each may be off: what the scores of PCLS and PCPL are made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import Candidates


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Losses:
    """Private. The least loss of every candidate, in the candidates' order, with the response in [-1, 1].

    Formal guarantee: each of `values` is within `tolerance` (public) of the true loss.
    """

    values: NDArray[np.float64]
    tolerance: float
    candidates: Candidates

    def __repr__(self) -> str:
        return f"Losses(candidates={self.candidates.count}, values=<private>)"
