"""Private. A score is values, a range and a name; nothing after it asks which method it was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
