"""Public. What a person states about each variable before any row is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from dpselect.assume.study.labels import WORDS, Described, check_words, checked_level_labels, said_words
from dpselect.assume.study.names import Level, check_name, checked_levels, shown
from dpselect.errors import AssumptionError

GRID = 2**20
"""A number scaled to [-1, 1] becomes a whole number of steps of 1/GRID, so that sums of products are exact everywhere."""


def as_number(value: Any, what: str) -> float:
    """A finite float, or one sentence about why not."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise AssumptionError(f"{what} is {shown(value)}; it must be a number.")
    try:
        number = float(value)
    except (OverflowError, ValueError, TypeError):  # too large for a double, or an object that only looks like a number
        raise AssumptionError(f"{what} is {shown(value)}; it must be a number below 1e308 in size.") from None
    if not math.isfinite(number):
        raise AssumptionError(f"{what} is {number}; it must be finite.")
    return number


@dataclass(frozen=True, slots=True)
class Numeric(Described):
    """Public. A number between two bounds; cells outside are clipped to the nearer one.

    Example: `Numeric("size", 0, 3000)`. `Numeric("size")` states no bounds: block votes need none, everything else does.
    Reports use `label` and `unit` where they are given, and print the `reason` for the bounds.
    """

    name: str
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        check_words(self.name, self)
        if (self.lower is None) != (self.upper is None):
            raise AssumptionError(f"{self.name!r} has one bound; state lower and upper, or leave both out.")
        if self.lower is None:
            return
        for side in ("lower", "upper"):
            bound = as_number(getattr(self, side), f"The {side} bound of {self.name!r}")
            object.__setattr__(self, side, bound)
        self._check_bounds(*self.bounds)

    def _check_bounds(self, lower: float, upper: float) -> None:
        if not lower < upper:
            raise AssumptionError(
                f"The bounds of {self.name!r} are {lower:g} to {upper:g}; the lower must be below the upper."
            )
        if not (math.isfinite(self.middle) and 1e-150 < self.half_width < 1e150):
            raise AssumptionError(
                f"The bounds of {self.name!r} are {lower:g} to {upper:g}; their distance must be "
                "between 1e-150 and 1e150: state the variable in other units."
            )
        # Then the grid reaches from -GRID to GRID, and clipping before or after rounding is the same in every engine.
        ends = [math.floor((bound - self.middle) * self.scale + 0.5) for bound in (lower, upper)]
        if ends != [-GRID, GRID]:
            raise AssumptionError(
                f"The bounds of {self.name!r} are {lower!r} to {upper!r}, too close together for numbers of their "
                "size: subtract a public constant from the variable first."
            )

    @property
    def bounded(self) -> bool:
        """Whether bounds are stated."""
        return self.lower is not None

    @property
    def bounds(self) -> tuple[float, float]:
        """Both bounds; refused where none are stated."""
        if self.lower is None or self.upper is None:
            raise AssumptionError(f"{self.name!r} has no bounds: state lower and upper.")
        return self.lower, self.upper

    @property
    def middle(self) -> float:
        """Half-way between the bounds."""
        lower, upper = self.bounds
        return (lower + upper) / 2

    @property
    def half_width(self) -> float:
        """Half the distance of the bounds."""
        lower, upper = self.bounds
        return (upper - lower) / 2

    @property
    def scale(self) -> float:
        """Grid steps in one unit: a cell v becomes floor((v - middle) * scale + 0.5)."""
        return GRID / self.half_width

    def to_dict(self) -> dict[str, Any]:
        """Plain values; without bounds the kind says what it is."""
        if not self.bounded:
            return {"name": self.name, "kind": "number", **said_words(self)}
        return {"name": self.name, "lower": self.lower, "upper": self.upper, **said_words(self)}


@dataclass(frozen=True, slots=True)
class Binary(Described):
    """Public. No or yes: the first level counts as 0 and the second as 1, so that its bounds are 0 and 1 by nature.

    Example: `Binary("died", ["no", "yes"])`, or `Binary("died", [0, 1])`.
    """

    name: str
    levels: tuple[Level, ...]
    level_labels: tuple[str, ...] = field(default=(), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        _check_levelled(self)
        if len(self.levels) != 2:
            raise AssumptionError(
                f"{self.name!r} has {len(self.levels)} levels; a binary variable has two, no and yes."
            )

    bounded = True
    bounds = (0.0, 1.0)
    lower, upper = bounds
    middle = half_width = 0.5
    scale = GRID / half_width

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "kind": "binary", "levels": list(self.levels), **_said_of_levels(self)}


@dataclass(frozen=True, slots=True)
class Categorical(Described):
    """Public. One of a few levels, stated in advance; each level but the reference becomes a column of zeros and ones.

    Example: `Categorical("county", ["Marin", "Napa", "Sonoma"])`. Levels are strings or whole numbers; the reference is the
    first unless another is named.
    """

    name: str
    levels: tuple[Level, ...]
    reference: Level | None = None
    level_labels: tuple[str, ...] = field(default=(), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        _check_levelled(self)
        if self.reference is None:
            object.__setattr__(self, "reference", self.levels[0])
        if self.reference not in self.levels:
            raise AssumptionError(
                f"The reference {shown(self.reference)} is not a level of {self.name!r}; choose one of them."
            )

    @property
    def dummies(self) -> tuple[Level, ...]:
        """The levels that get a column, in order."""
        return tuple(level for level in self.levels if level != self.reference)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values = {"name": self.name, "levels": list(self.levels), "reference": self.reference}
        return {**values, **_said_of_levels(self)}


Number = Numeric | Binary
"""What is one column of numbers."""

Variable = Numeric | Binary | Categorical


def _check_levelled(variable: Binary | Categorical) -> None:
    check_name(variable.name)
    check_words(variable.name, variable)
    levels = checked_levels(variable.name, variable.levels)
    labels = checked_level_labels(variable.name, variable.level_labels, len(levels))
    object.__setattr__(variable, "levels", levels)
    object.__setattr__(variable, "level_labels", labels)


def _said_of_levels(variable: Binary | Categorical) -> dict[str, Any]:
    labels = {"level_labels": list(variable.level_labels)} if variable.level_labels else {}
    return {**labels, **said_words(variable)}


KINDS = ("number", "binary", "category")


def variable_from_dict(values: dict[str, Any]) -> Variable:
    """The inverse of `to_dict`, for study files and releases."""
    if not isinstance(values, dict):
        raise AssumptionError(f"A variable is {shown(values)}; it must have a name, and bounds or levels.")
    known = {"name", "kind", "lower", "upper", "levels", "reference", "level_labels", *WORDS}
    name = values.get("name")
    check_name(name)
    assert isinstance(name, str)
    if extra := sorted(map(str, set(values) - known)):
        raise AssumptionError(
            f"{name!r} has the unknown entry {shown(extra[0])}; known are {', '.join(sorted(known))}."
        )
    kind = values.get("kind", "category" if "levels" in values else "number")
    if kind not in KINDS:
        raise AssumptionError(
            f"The kind of {name!r} is {shown(kind)}; it must be one of {', '.join(map(repr, KINDS))}."
        )
    words = {what: values[what] for what in WORDS if what in values}
    if kind == "number":
        if {"levels", "reference", "level_labels"} & set(values):
            raise AssumptionError(f"{name!r} has both levels and bounds; give one or the other.")
        return Numeric(name, values.get("lower"), values.get("upper"), **words)
    if "lower" in values or "upper" in values:
        raise AssumptionError(f"{name!r} has both levels and bounds; give one or the other.")
    if "levels" not in values:
        raise AssumptionError(f"{name!r} needs levels, because its kind is {kind!r}.")
    words["level_labels"] = values.get("level_labels", ())
    if kind == "category":
        return Categorical(name, values["levels"], values.get("reference"), **words)
    if "reference" in values:
        raise AssumptionError(f"{name!r} is binary and has no reference: its first level counts as 0.")
    return Binary(name, values["levels"], **words)
