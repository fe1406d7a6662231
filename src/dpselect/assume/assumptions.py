"""Public. All that a custodian states before dpselect reads a row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dpselect.assume.budget import check_neighbors
from dpselect.assume.sensitivity import Neighbors
from dpselect.assume.variables import Categorical, Level, Numeric, Variable, as_number, variable_from_dict
from dpselect.errors import AssumptionError

Intercept = Literal["always", "candidate", "none"]
Missing = Literal["error", "midpoint", "zero-row"]
INTERCEPT = "intercept"


@dataclass(frozen=True, slots=True)
class Factor:
    """Public. A scaled number (level None) or the indicator of one level of a category."""

    variable: str
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """Public. A column of the design: a product of factors, each in [-1, 1]; the intercept is the product of none."""

    name: str
    factors: tuple[Factor, ...]
    term: int


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Public. Bounds, levels, radius, neighbours and what to do about missing cells.

    The columns are scaled to [-1, 1] by their bounds and the response to [-r, r], r being half its range. `radius` bounds
    the sum of the absolute coefficients on that scale, in the response's units; the default is r.

    Example: `Assumptions(Numeric("price", 0, 1_000_000), [Numeric("size", 0, 3000), Categorical("county", ["Marin", "Napa"])])`.
    """

    response: Numeric
    predictors: tuple[Variable, ...]
    intercept: Intercept = "always"
    radius: float | None = None
    neighbors: Neighbors = "replace-one"
    missing: Missing = "error"

    def __init__(
        self,
        response: Numeric,
        predictors: Sequence[Variable],
        intercept: Intercept = "always",
        radius: float | None = None,
        neighbors: Neighbors = "replace-one",
        missing: Missing = "error",
    ) -> None:
        """State the public facts; see the class."""
        values = (response, tuple(predictors), intercept, radius, neighbors, missing)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not isinstance(self.response, Numeric):
            raise AssumptionError("The response must be Numeric(name, lower, upper).")
        if not all(isinstance(variable, Numeric | Categorical) for variable in self.predictors):
            raise AssumptionError("Each predictor must be Numeric(name, lower, upper) or Categorical(name, levels).")
        names = [self.response.name, *(variable.name for variable in self.predictors)]
        for name in names:
            if names.count(name) > 1:
                raise AssumptionError(f"{name!r} is named twice among the response and the predictors; name each once.")
        if self.intercept != "none" and INTERCEPT in names[1:]:
            raise AssumptionError(f"A predictor is named {INTERCEPT!r}; rename it or set intercept to 'none'.")
        _check_choice("intercept", self.intercept, get_args(Intercept))
        _check_choice("missing", self.missing, get_args(Missing))
        check_neighbors(self.neighbors)
        radius = self.r if self.radius is None else as_number(self.radius, "radius")
        if not 0 <= radius <= 1e6 * self.r:
            raise AssumptionError(
                f"radius is {radius:g}; it must be at least 0 and at most a million times the response's half range."
            )
        object.__setattr__(self, "radius", radius)
        if not self.columns:
            raise AssumptionError("There is nothing to choose from: name a predictor or allow an intercept.")

    @property
    def r(self) -> float:
        """Half the response's range."""
        return self.response.half_width

    @property
    def rho(self) -> float:
        """The radius with the response scaled to [-1, 1]."""
        assert self.radius is not None
        return self.radius / self.r

    @property
    def columns(self) -> tuple[Column, ...]:
        """The design's columns: the intercept first if any, then the predictors as stated, a category's dummies in level order."""
        listed = [] if self.intercept == "none" else [Column(INTERCEPT, (), 0)]
        for place, variable in enumerate(self.predictors):
            term = place + (self.intercept != "none")
            if isinstance(variable, Numeric):
                listed.append(Column(variable.name, (Factor(variable.name),), term))
            else:
                listed += [
                    Column(f"{variable.name}[{level}]", (Factor(variable.name, level),), term)
                    for level in variable.dummies
                ]
        return tuple(listed)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; with `from_dict` the statement survives any file format."""
        return {
            "response": self.response.to_dict(),
            "predictors": [variable.to_dict() for variable in self.predictors],
            "intercept": self.intercept,
            "radius": self.radius,
            "neighbors": self.neighbors,
            "missing": self.missing,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Assumptions:
        """The inverse of `to_dict`."""
        extra = sorted(set(values) - set(cls.__slots__))
        if extra:
            raise AssumptionError(f"{extra[0]!r} is not an assumption; known are {', '.join(cls.__slots__)}.")
        if not ("response" in values and "predictors" in values):
            raise AssumptionError("A study needs a response and predictors.")
        response = variable_from_dict(values["response"])
        if not isinstance(response, Numeric):
            raise AssumptionError(f"The response {response.name!r} must have lower and upper bounds.")
        rest = {name: value for name, value in values.items() if name not in ("response", "predictors")}
        return cls(response, [variable_from_dict(each) for each in values["predictors"]], **rest)

    @property
    def hash(self) -> str:
        """SHA-256 of the statement in canonical JSON: the same on every machine and in every version that means the same."""
        return hashlib.sha256(canonical_json(self.to_dict()).encode()).hexdigest()


def canonical_json(values: Any) -> str:
    """One text for one meaning: sorted keys, no white space, shortest numbers."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _check_choice(what: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise AssumptionError(f"{what} is {value!r}; it must be one of {', '.join(map(repr, allowed))}.")
