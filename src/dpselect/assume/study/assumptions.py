"""Public. All that a custodian states before dpselect reads a row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, get_args

from dpselect.assume.study.neighbors import Neighbors, check_neighbors
from dpselect.assume.study.terms import Term, normal_terms
from dpselect.assume.study.variables import (
    Categorical,
    Level,
    Numeric,
    Variable,
    as_number,
    check_name,
    variable_from_dict,
)
from dpselect.errors import AssumptionError

Intercept = Literal["always", "candidate", "none"]
Missing = Literal["error", "midpoint", "zero-row"]
INTERCEPT = "intercept"
MOST_ROWS_PER_PERSON = 100_000


@dataclass(frozen=True, slots=True)
class Factor:
    """Public. A scaled number (level None) or the indicator of one level of a category."""

    variable: str
    level: Level | None = None

    def __str__(self) -> str:
        return self.variable if self.level is None else f"{self.variable}[{self.level}]"


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

    Each predictor is a term of the model by itself unless `terms` lists others, such as `["size", ["size", "year"]]`: a list
    is the product of its scaled factors, which is in [-1, 1] again. `max_rows_per_person` with the column `person` makes
    the guarantee one for whole persons: at most so many rows of each count, and sensitivities are so many times larger.

    Example: `Assumptions(Numeric("price", 0, 1_000_000), [Numeric("size", 0, 3000), Categorical("county", ["Marin", "Napa"])])`.
    """

    response: Numeric
    predictors: tuple[Variable, ...]
    intercept: Intercept = "always"
    radius: float | None = None
    neighbors: Neighbors = "replace-one"
    missing: Missing = "error"
    terms: tuple[Term, ...] | None = None
    person: str | None = None
    max_rows_per_person: int | None = None

    def __init__(
        self,
        response: Numeric,
        predictors: Sequence[Variable],
        intercept: Intercept = "always",
        radius: float | None = None,
        neighbors: Neighbors = "replace-one",
        missing: Missing = "error",
        *,
        terms: Iterable[str | Sequence[str]] | None = None,
        person: str | None = None,
        max_rows_per_person: int | None = None,
    ) -> None:
        """State the public facts; see the class."""
        rest = (intercept, radius, neighbors, missing, terms, person, max_rows_per_person)
        values = (response, tuple(predictors), *rest)
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
        object.__setattr__(self, "terms", normal_terms(self.terms, self.predictors))
        self._check_person(names)
        columns = [column.name for column in self.columns]
        if not columns:
            raise AssumptionError("There is nothing to choose from: name a predictor or allow an intercept.")
        for name in columns:
            if columns.count(name) > 1:
                raise AssumptionError(
                    f"Two columns of the model would be named {name!r}; rename a variable or a level."
                )

    def _check_person(self, names: list[str]) -> None:
        most = self.max_rows_per_person
        if (self.person is None) != (most is None):
            raise AssumptionError("person and max_rows_per_person belong together: give both or neither.")
        if self.person is None:
            return
        check_name(self.person)
        if self.person in names:
            raise AssumptionError(f"The column of persons {self.person!r} cannot also be the response or a predictor.")
        if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_ROWS_PER_PERSON:
            raise AssumptionError(
                f"max_rows_per_person is {most!r}; it must be a whole number from 1 to {MOST_ROWS_PER_PERSON:,}."
            )

    @property
    def rows_per_person(self) -> int:
        """By how many rows neighbouring tables may differ: one, unless the guarantee is for persons."""
        return self.max_rows_per_person or 1

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
        """The design's columns: the intercept first if any, then the terms as stated, a category's dummies in level order.

        A product has a column for each way to pick one column of every factor, the last factor's changing fastest.
        """
        listed = [] if self.intercept == "none" else [Column(INTERCEPT, (), 0)]
        factors = {variable.name: _factors(variable) for variable in self.predictors}
        terms = self.terms or tuple((variable.name,) for variable in self.predictors)
        for place, term in enumerate(terms, start=len(listed)):
            for picked in product(*(factors[name] for name in term)):
                listed.append(Column(":".join(map(str, picked)), picked, place))
        return tuple(listed)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; with `from_dict` the statement survives any file format."""
        values: dict[str, Any] = {
            "response": self.response.to_dict(),
            "predictors": [variable.to_dict() for variable in self.predictors],
            "intercept": self.intercept,
            "radius": self.radius,
            "neighbors": self.neighbors,
            "missing": self.missing,
        }
        # Left out where they say nothing, so that the hash of a study that does not use them stays what it was.
        if self.terms is not None:
            values["terms"] = [list(term) for term in self.terms]
        if self.person is not None:
            values |= {"person": self.person, "max_rows_per_person": self.max_rows_per_person}
        return values

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


def _factors(variable: Variable) -> tuple[Factor, ...]:
    if isinstance(variable, Numeric):
        return (Factor(variable.name),)
    return tuple(Factor(variable.name, level) for level in variable.dummies)


def canonical_json(values: Any) -> str:
    """One text for one meaning: sorted keys, no white space, shortest numbers."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _check_choice(what: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise AssumptionError(f"{what} is {value!r}; it must be one of {', '.join(map(repr, allowed))}.")
