"""Public. What a person states about each variable before any row is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpselect.errors import AssumptionError

Level = str | int

GRID = 2**20
"""A number scaled to [-1, 1] becomes a whole number of steps of 1/GRID, so that sums of products are exact everywhere."""

LARGEST_LEVEL = 2**53 - 1
"""Whole numbers up to here are told apart as doubles, in which every engine compares them."""


def check_name(name: object) -> None:
    """Refuse anything but a non-empty string."""
    if not isinstance(name, str) or not name.strip():
        raise AssumptionError(f"A variable is named {name!r}; a name must be a non-empty string.")


def as_number(value: Any, what: str) -> float:
    """A finite float, or one sentence about why not."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise AssumptionError(f"{what} is {value!r}; it must be a number.")
    number = float(value)
    if not math.isfinite(number):
        raise AssumptionError(f"{what} is {number}; it must be finite.")
    return number


@dataclass(frozen=True, slots=True)
class Numeric:
    """Public. A number between two bounds; cells outside are clipped to the nearer one.

    Example: `Numeric("size", 0, 3000)`.
    """

    name: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        check_name(self.name)
        for side in ("lower", "upper"):
            bound = as_number(getattr(self, side), f"The {side} bound of {self.name!r}")
            object.__setattr__(self, side, bound)
        if not self.lower < self.upper:
            raise AssumptionError(
                f"The bounds of {self.name!r} are {self.lower:g} to {self.upper:g}; the lower must be below the upper."
            )
        if not (math.isfinite(self.middle) and 1e-150 < self.half_width < 1e150):
            raise AssumptionError(
                f"The bounds of {self.name!r} are {self.lower:g} to {self.upper:g}; their distance must be "
                "between 1e-150 and 1e150: state the variable in other units."
            )
        # Then the grid reaches from -GRID to GRID, and clipping before or after rounding is the same in every engine.
        ends = [math.floor((bound - self.middle) * self.scale + 0.5) for bound in (self.lower, self.upper)]
        if ends != [-GRID, GRID]:
            raise AssumptionError(
                f"The bounds of {self.name!r} are {self.lower!r} to {self.upper!r}, too close together for numbers of their "
                "size: subtract a public constant from the variable first."
            )

    @property
    def middle(self) -> float:
        """Half-way between the bounds."""
        return (self.lower + self.upper) / 2

    @property
    def half_width(self) -> float:
        """Half the distance of the bounds."""
        return (self.upper - self.lower) / 2

    @property
    def scale(self) -> float:
        """Grid steps in one unit: a cell v becomes floor((v - middle) * scale + 0.5)."""
        return GRID / self.half_width

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "lower": self.lower, "upper": self.upper}


@dataclass(frozen=True, slots=True)
class Categorical:
    """Public. One of a few levels, stated in advance; each level but the reference becomes a column of zeros and ones.

    Example: `Categorical("county", ["Marin", "Napa", "Sonoma"])`. Levels are strings or whole numbers; the reference is the
    first unless another is named.
    """

    name: str
    levels: tuple[Level, ...]
    reference: Level | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        given: object = self.levels
        if isinstance(given, str) or not hasattr(given, "__iter__"):
            raise AssumptionError(f"The levels of {self.name!r} must be a list of levels.")
        levels = tuple(self.levels)
        object.__setattr__(self, "levels", levels)
        texts = all(isinstance(level, str) for level in levels)
        wholes = all(isinstance(level, int) and not isinstance(level, bool) for level in levels)
        if not (texts or wholes):
            raise AssumptionError(f"The levels of {self.name!r} must be all strings or all whole numbers.")
        if wholes and not all(abs(int(level)) <= LARGEST_LEVEL for level in levels):
            raise AssumptionError(f"The levels of {self.name!r} must be below 2^53 in size: state larger ones as text.")
        if len(levels) < 2:
            raise AssumptionError(f"{self.name!r} has {len(levels)} level(s); it needs at least two.")
        if len(set(levels)) < len(levels):
            raise AssumptionError(f"The levels of {self.name!r} name one twice; name each once.")
        if self.reference is None:
            object.__setattr__(self, "reference", levels[0])
        if self.reference not in levels:
            raise AssumptionError(
                f"The reference {self.reference!r} is not a level of {self.name!r}; choose one of them."
            )

    @property
    def dummies(self) -> tuple[Level, ...]:
        """The levels that get a column, in order."""
        return tuple(level for level in self.levels if level != self.reference)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "levels": list(self.levels), "reference": self.reference}


Variable = Numeric | Categorical


def variable_from_dict(values: dict[str, Any]) -> Variable:
    """The inverse of `to_dict`, for study files and releases."""
    known = {"name", "lower", "upper", "levels", "reference"}
    name = values.get("name")
    check_name(name)
    assert isinstance(name, str)
    if extra := sorted(set(values) - known):
        raise AssumptionError(f"{name!r} has the unknown entry {extra[0]!r}; known are {', '.join(sorted(known))}.")
    if "levels" in values:
        if "lower" in values or "upper" in values:
            raise AssumptionError(f"{name!r} has both levels and bounds; give one or the other.")
        return Categorical(name, values["levels"], values.get("reference"))
    if not ("lower" in values and "upper" in values):
        raise AssumptionError(f"{name!r} needs lower and upper bounds, or levels.")
    return Numeric(name, values["lower"], values["upper"])
