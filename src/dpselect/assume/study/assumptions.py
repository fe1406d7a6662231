"""Public. All that a custodian states before dpselect reads a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dpselect.assume.study.canonical import sha256_of
from dpselect.assume.study.columns import INTERCEPT, Column, check_width, design_columns
from dpselect.assume.study.names import check_name, shown
from dpselect.assume.study.neighbors import Neighbors, check_neighbors
from dpselect.assume.study.terms import Term, normal_terms
from dpselect.assume.study.variables import (
    Binary,
    Categorical,
    Number,
    Numeric,
    Variable,
    as_number,
    variable_from_dict,
)
from dpselect.errors import AssumptionError

Intercept = Literal["always", "candidate", "none"]
Missing = Literal["error", "midpoint", "zero-row"]
MOST_ROWS_PER_PERSON = 100_000
MOST_ROWS = 2**32


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Public. Bounds, levels, radius, neighbours and what to do about missing cells.

    The columns are scaled to [-1, 1] by their bounds and the response to [-r, r], r being half its range. `radius` bounds
    the sum of the absolute coefficients on that scale, in the response's units; the default is r.

    Each predictor is a term of the model by itself unless `terms` lists others, such as `["size", ["size", "year"]]`: a list
    is the product of its scaled factors, which is in [-1, 1] again. The column `person` makes the guarantee one for whole
    persons. Block votes then count all rows of each; whatever else is released needs `max_rows_per_person`: at most so many
    rows of each count, and sensitivities are so many times larger. `rows` says about how many rows there are, where that
    is public and either not counted (a long file) or secret to the last digit (add-remove-one); a wrong number costs
    accuracy, never privacy.

    Example: `Assumptions(Numeric("price", 0, 1_000_000), [Numeric("size", 0, 3000), Categorical("county", ["Marin", "Napa"])])`.
    """

    response: Number
    predictors: tuple[Variable, ...]
    intercept: Intercept = "always"
    radius: float | None = None
    neighbors: Neighbors = "replace-one"
    missing: Missing = "error"
    terms: tuple[Term, ...] | None = None
    person: str | None = None
    max_rows_per_person: int | None = None
    rows: int | None = None

    def __init__(
        self,
        response: Number,
        predictors: Sequence[Variable],
        intercept: Intercept = "always",
        radius: float | None = None,
        neighbors: Neighbors = "replace-one",
        missing: Missing = "error",
        *,
        terms: Iterable[str | Sequence[str]] | None = None,
        person: str | None = None,
        max_rows_per_person: int | None = None,
        rows: int | None = None,
    ) -> None:
        """State the public facts; see the class."""
        rest = (intercept, radius, neighbors, missing, terms, person, max_rows_per_person, rows)
        values = (response, tuple(predictors), *rest)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not isinstance(self.response, Numeric | Binary):
            raise AssumptionError("The response must be Numeric(name, lower, upper) or Binary(name, [no, yes]).")
        if not all(isinstance(variable, Numeric | Binary | Categorical) for variable in self.predictors):
            raise AssumptionError(
                "Each predictor must be Numeric(name, lower, upper), Categorical(name, levels) or Binary(name, [no, yes])."
            )
        names = [self.response.name, *(variable.name for variable in self.predictors)]
        for name, times in Counter(names).items():
            if times > 1:
                raise AssumptionError(f"{name!r} is named twice among the response and the predictors; name each once.")
        # Also without one among the columns: in the units of the table a model has a constant of that name.
        if INTERCEPT in names[1:]:
            raise AssumptionError(f"A predictor is named {INTERCEPT!r}, as the constant of a model is; rename it.")
        _check_choice("intercept", self.intercept, get_args(Intercept))
        _check_choice("missing", self.missing, get_args(Missing))
        check_neighbors(self.neighbors)
        self._check_radius()
        object.__setattr__(self, "terms", normal_terms(self.terms, self.predictors))
        self._check_person(names)
        self._check_rows()
        check_width(self.predictors, self.terms or [(variable.name,) for variable in self.predictors])
        columns = [column.name for column in self.columns]
        if not columns:
            raise AssumptionError("There is nothing to choose from: name a predictor or allow an intercept.")
        for name, times in Counter(columns).items():
            if times > 1:
                raise AssumptionError(
                    f"Two columns of the model would be named {shown(name)}; rename a variable or a level."
                )

    def _check_radius(self) -> None:
        if not self.response.bounded:
            if self.radius is not None:
                raise AssumptionError(
                    f"A radius is stated and {self.response.name!r} has no bounds: state them, or leave the radius out."
                )
            return
        radius = self.r if self.radius is None else as_number(self.radius, "radius")
        if not 0 <= radius <= 1e6 * self.r:
            raise AssumptionError(
                f"radius is {radius:g}; it must be at least 0 and at most a million times the response's half range."
            )
        object.__setattr__(self, "radius", radius)

    def _check_rows(self) -> None:
        if self.rows is None:
            return
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or not 1 <= self.rows <= MOST_ROWS:
            raise AssumptionError(f"rows is {shown(self.rows)}; it must be a whole number from 1 to {MOST_ROWS:,}.")

    def _check_person(self, names: list[str]) -> None:
        most = self.max_rows_per_person
        if self.person is None:
            if most is not None:
                raise AssumptionError("max_rows_per_person needs person: name the column of persons, or leave it out.")
            return
        check_name(self.person)
        if self.person in names:
            raise AssumptionError(f"The column of persons {self.person!r} cannot also be the response or a predictor.")
        if most is None:
            return
        if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_ROWS_PER_PERSON:
            raise AssumptionError(
                f"max_rows_per_person is {shown(most)}; it must be a whole number from 1 to {MOST_ROWS_PER_PERSON:,}."
            )

    @property
    def unbounded(self) -> tuple[str, ...]:
        """The variables without bounds."""
        return tuple(
            variable.name
            for variable in (self.response, *self.predictors)
            if isinstance(variable, Numeric) and not variable.bounded
        )

    def require_bounds(self, what: str) -> None:
        """Refuse what needs every bound, and for persons how many rows of each count, naming all that is missing."""
        if self.unbounded:
            names = ", ".join(map(repr, self.unbounded))
            raise AssumptionError(
                f"{what} needs the bounds of {names}: state lower and upper of each; only a choice by votes (select) needs none."
            )
        if self.person is not None and self.max_rows_per_person is None:
            raise AssumptionError(
                f"{what} needs max_rows_per_person, because its noise grows with the rows of a person: state it, or choose by "
                "votes, which need none."
            )

    def public_rows(self, count: int) -> int | None:
        """The number of rows where it may appear in a public formula: with replace-one neighbours have the same."""
        return count if self.neighbors == "replace-one" else None

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
        """The design's columns: the intercept first if any, then the terms as stated; see `design_columns`."""
        terms = self.terms or tuple((variable.name,) for variable in self.predictors)
        return design_columns(self.predictors, terms, intercept=self.intercept != "none")

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
            values["person"] = self.person
        if self.max_rows_per_person is not None:
            values["max_rows_per_person"] = self.max_rows_per_person
        if self.rows is not None:
            values["rows"] = self.rows
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Assumptions:
        """The inverse of `to_dict`."""
        if not isinstance(values, dict):
            raise AssumptionError("A study needs a response and predictors.")
        extra = sorted(map(str, set(values) - set(cls.__slots__)))
        if extra:
            raise AssumptionError(f"{shown(extra[0])} is not an assumption; known are {', '.join(cls.__slots__)}.")
        if not ("response" in values and "predictors" in values):
            raise AssumptionError("A study needs a response and predictors.")
        if not isinstance(values["predictors"], list | tuple):
            raise AssumptionError(
                f"The predictors are {shown(values['predictors'])}; they must be a list of variables."
            )
        response = variable_from_dict(values["response"])
        if isinstance(response, Categorical):
            raise AssumptionError(
                f"The response {response.name!r} must have lower and upper bounds, or be of the kind 'binary' with two levels."
            )
        rest = {name: value for name, value in values.items() if name not in ("response", "predictors")}
        return cls(response, [variable_from_dict(each) for each in values["predictors"]], **rest)

    @property
    def hash(self) -> str:
        """SHA-256 of the statement in canonical JSON: the same on every machine and in every version that means the same."""
        return sha256_of(self.to_dict())


def _check_choice(what: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise AssumptionError(f"{what} is {shown(value)}; it must be one of {', '.join(map(repr, allowed))}.")
