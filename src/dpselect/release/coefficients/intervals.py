"""Public. What intervals can be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dpselect.errors import AssumptionError

IntervalKind = Literal["plain", "after-selection"]
INTERVALS: tuple[IntervalKind, ...] = get_args(IntervalKind)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Public. Which intervals are wanted: their level of confidence, and what they count; made once, at the door."""

    level: float = 0.95
    kind: IntervalKind = "plain"

    def __post_init__(self) -> None:
        check_level(self.level)
        object.__setattr__(
            self, "level", float(self.level)
        )  # a NumPy number would be paid for and could not be written
        check_kind(self.kind)


def check_level(level: float) -> None:
    """Refuse what is not a level of confidence."""
    if not (isinstance(level, float | int | np.floating) and 0.5 <= level <= 0.999):
        raise AssumptionError(f"level is {level!r}; it must be between 0.5 and 0.999 (0.95 is usual).")


def check_kind(kind: object) -> None:
    """Refuse a kind of interval that is not known."""
    if kind not in INTERVALS:
        raise AssumptionError(f"intervals is {kind!r}; it must be one of {', '.join(map(repr, INTERVALS))}.")


USUAL = Intervals()
"""What nobody has to ask for."""
