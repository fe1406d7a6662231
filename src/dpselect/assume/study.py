"""Public. All that a custodian states before dpselect reads a row, and the study file that holds it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self, get_args

import msgspec
from msgspec.structs import force_setattr

from dpselect.assume.budget import Neighbors, check_neighbors
from dpselect.assume.formula import formula_parts
from dpselect.assume.records import Public, sha256_of
from dpselect.assume.source_form import SourceForm, form_from_dict
from dpselect.assume.study_file import format_tables, located, parse_tables, read_text, write_whole
from dpselect.assume.subgroup import Only, only_from
from dpselect.assume.terms import INTERCEPT, Column, Term, check_width, design_columns, normal_terms
from dpselect.assume.variables import (
    Binary,
    Categorical,
    Count,
    Number,
    Numeric,
    Variable,
    as_number,
    check_choice,
    check_name,
    shown,
    variable_from_dict,
)
from dpselect.errors import DataError, StudyError

Intercept = Literal["always", "candidate", "none"]
Missing = Literal["error", "midpoint", "zero-row"]
MAX_ROWS_PER_PERSON = 100_000
MAX_ROWS = 2**32
MAX_RADIUS = 1e6
"""In units of the response's half range."""


class Study(Public, frozen=True, kw_only=False, dict=True):
    """All that a custodian states before dpselect reads a row: limits, categories, neighbours, and what to do about missing cells.

    The columns are scaled to [-1, 1] by their limits and the response to [-r, r], r being half its range.

    Of a survey, `weights`, `weight_limit` and `population` are stated together: a choice by votes then speaks of the population, at
    no cost in privacy, and about population / weight_limit rows count in each dealing.

    Parameters
    ----------
    response : Numeric, Binary or Count
        What is to be explained.
    predictors : sequence of Numeric, Binary or Categorical
        What may explain it.
    intercept : "always", "candidate" or "none", optional
        In every model, competing, or in none.
    radius : float, optional
        Bounds the sum of the absolute coefficients on the scale of [-1, 1], in the response's units; the default is r.
    neighbors : "replace-one" or "add-remove-one", optional
        Whether the number of rows is public, or itself secret.
    missing : "error", "midpoint" or "zero-row", optional
        What becomes of empty cells and unknown categories.
    terms : sequence of str or of sequences of str, optional
        The terms of the model, such as `["size", ["size", "year"]]`; each predictor by itself, if left out. A list is the product
        of its scaled factors, which is in [-1, 1] again.
    person : str, optional
        The column that tells persons apart; it makes the guarantee one for whole persons. Block votes then count all rows of each.
    max_rows_per_person : int, optional
        Whatever else than votes is released needs this: at most so many rows of each count, and sensitivities are so many times
        larger.
    cluster : str, optional
        The column of sampling clusters, schools or households: their rows go to one block together. It is no unit of privacy;
        `person` is.
    weights : str, optional
        The column of survey weights.
    weight_limit : float, optional
        A public number near the largest weight; larger ones are moved to it.
    population : float, optional
        What the weights add up to, as the survey publishes it.
    source : SourceForm, optional
        How the file of the rows is written, which no row may decide.
    only : Only or sequence of Only, optional
        Of which rows the study speaks, such as `[Only("sex", ["f"]), Only("age", lower=18, upper=65)]`, all of them holding. How
        many these are is private, so `rows` must say about how many (with weights, `population` is the subgroup's).
    rows : int, optional
        About how many rows there are, where that is public and either not counted (a long file) or secret to the last digit
        (add-remove-one); a wrong number costs accuracy, never privacy.
    always : sequence of str, optional
        Terms of every model, such as `["age", "age:school"]`; they are not selected, and get a coefficient.
    one_of : sequence of sequences of str, optional
        Groups of terms of each of which exactly one is in the model: `[["income", "wealth"]]`.
    hierarchy : bool, optional
        Whether a product is in a model only with its parts: `age:school` with `age` and `school`.

    Examples
    --------
    >>> study = Study(Numeric("price", 0, 1_000_000), [Numeric("size", 0, 3000), Categorical("county", ["Marin", "Napa"])])
    >>> [column.name for column in study.columns]
    ['intercept', 'size', 'county[Napa]']
    """

    response: Annotated[Number, msgspec.Meta(description="What is to be explained.")]
    predictors: Annotated[Sequence[Variable], msgspec.Meta(description="What may explain it.")]
    intercept: Annotated[Intercept, msgspec.Meta(description="In every model, competing, or in none.")] = "always"
    radius: Annotated[
        float | None, msgspec.Meta(description="Bound on the sum of |coefficients|, variables in [-1, 1].")
    ] = None
    neighbors: Annotated[Neighbors, msgspec.Meta(description="Is the number of rows public, or itself secret?")] = (
        "replace-one"
    )
    missing: Annotated[Missing, msgspec.Meta(description="What becomes of empty cells and unknown categories.")] = (
        "error"
    )
    terms: Annotated[
        Sequence[Term] | None, msgspec.Meta(description="The terms of the model; a list is a product.")
    ] = None
    person: Annotated[str | None, msgspec.Meta(description="The column that tells persons apart.")] = None
    max_rows_per_person: Annotated[int, msgspec.Meta(ge=1, le=MAX_ROWS_PER_PERSON)] | None = None
    cluster: Annotated[
        str | None, msgspec.Meta(description="The column of clusters whose rows are sampled together.")
    ] = None
    weights: Annotated[str | None, msgspec.Meta(description="The column of survey weights.")] = None
    weight_limit: Annotated[
        float | None,
        msgspec.Meta(description="A public number near the largest weight; larger weights are moved to it."),
    ] = None
    population: Annotated[
        float | None, msgspec.Meta(description="What the weights of all rows add up to, as the survey publishes it.")
    ] = None
    source: Annotated[
        SourceForm | None, msgspec.Meta(description="How the file of the rows is written, which no row may decide.")
    ] = None
    only: Annotated[
        Sequence[Only] | None, msgspec.Meta(description="The subgroup that the study speaks of; all rows without it.")
    ] = None
    rows: (
        Annotated[
            int, msgspec.Meta(ge=1, le=MAX_ROWS, description="About how many rows there are, if that may be said.")
        ]
        | None
    ) = None
    always: Annotated[Sequence[str], msgspec.Meta(description="Terms of every model.")] = ()
    one_of: Annotated[
        Sequence[tuple[str, ...]], msgspec.Meta(description="Groups of terms of each of which exactly one is in.")
    ] = ()
    hierarchy: Annotated[bool, msgspec.Meta(description="Is a product in only with its parts?")] = False

    def __post_init__(self) -> None:
        if not isinstance(self.response, Numeric | Binary):
            raise StudyError(
                "The response must be Numeric(name, lower, upper), Binary(name, [no, yes]) or Count(name)."
            )
        force_setattr(self, "predictors", tuple(self.predictors))
        if not all(isinstance(variable, Numeric | Binary | Categorical) for variable in self.predictors):
            raise StudyError(
                "Each predictor must be Numeric(name, lower, upper), Categorical(name, categories) or Binary(name, [no, yes])."
            )
        for variable in self.predictors:
            if isinstance(variable, Count):
                raise StudyError(f"{variable.name!r} is a Count, which only a response can be: state it as Numeric.")
        names = [self.response.name, *(variable.name for variable in self.predictors)]
        for name, times in Counter(names).items():
            if times > 1:
                raise StudyError(f"{name!r} is named twice among the response and the predictors; name each once.")
        # Also without one among the columns: in the units of the table a model has a constant of that name.
        if INTERCEPT in names[1:]:
            raise StudyError(f"A predictor is named {INTERCEPT!r}, as the constant of a model is; rename it.")
        check_choice("intercept", self.intercept, get_args(Intercept))
        check_choice("missing", self.missing, get_args(Missing))
        check_neighbors(self.neighbors)
        self._check_radius()
        force_setattr(self, "terms", normal_terms(self.terms, self.predictors))
        self._check_person(names)
        self._check_sample(names)
        _check_whole("rows", self.rows, MAX_ROWS)
        self._check_only()
        if not isinstance(self.source, SourceForm | None):
            raise StudyError("source must be SourceForm(...): how the file of the rows is written.")
        check_width(self.predictors, self._stated_terms)
        columns = [column.name for column in self.columns]
        if not columns:
            raise StudyError("There is nothing to choose from: name a predictor or allow an intercept.")
        for name, times in Counter(columns).items():
            if times > 1:
                raise StudyError(
                    f"Two columns of the model would be named {shown(name)}; rename a variable or a category."
                )
        self._check_terms()

    def _check_terms(self) -> None:
        """What is stated of terms: each by its name, `age` or `age:school`."""
        groups: Any = self.one_of
        if isinstance(groups, str) or not isinstance(groups, Iterable):
            raise StudyError(f"one_of is {shown(groups)}; it must be a list of groups, such as [['income', 'wealth']].")
        force_setattr(self, "always", self._terms_named(self.always, "always"))
        force_setattr(self, "one_of", tuple(self._terms_named(group, "A group of one_of") for group in groups))
        for name, times in Counter([*self.always, *(name for group in self.one_of for name in group)]).items():
            if times > 1:
                raise StudyError(f"{shown(name)} is stated twice in always and one_of; state it once.")
        if not all(len(group) > 1 for group in self.one_of):
            raise StudyError("A group of one_of needs two terms or more; a single one belongs in always.")
        if not isinstance(self.hierarchy, bool):
            raise StudyError(f"hierarchy is {shown(self.hierarchy)}; it must be true or false.")
        if self.hierarchy:
            self.require_parts()

    def _terms_named(self, given: object, what: str) -> tuple[str, ...]:
        """Terms by their names, the factors of a product in any order."""
        listed = None if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
        if listed is None or not all(isinstance(name, str) for name in listed):
            raise StudyError(f"{what} is {shown(given)}; it must be a list of terms, such as ['age', 'age:school'].")
        known = {tuple(sorted(name.split(":"))): name for name in (":".join(term) for term in self._stated_terms)}
        for name in listed:
            if tuple(sorted(name.split(":"))) not in known:
                raise StudyError(f"{shown(name)} is in always or one_of and is no term of the study: name one that is.")
        return tuple(known[tuple(sorted(name.split(":")))] for name in listed)

    def require_parts(self) -> None:
        """Refuse a product whose factors are not terms themselves: it could never be in with its parts."""
        single = {term[0] for term in self._stated_terms if len(term) == 1}
        for term in self._stated_terms:
            for name in term:
                if name not in single:
                    raise StudyError(
                        f"hierarchy needs {name!r} as a term of its own beside {shown(':'.join(term))}: add it to the terms."
                    )

    @property
    def _stated_terms(self) -> Sequence[Term]:
        return self.terms or tuple((variable.name,) for variable in self.predictors)

    def _check_radius(self) -> None:
        if not self.response.bounded:
            if self.radius is not None:
                raise StudyError(
                    f"A radius is stated and {self.response.name!r} has no range: state it, or leave the radius out."
                )
            return
        radius = self.r if self.radius is None else as_number(self.radius, "radius")
        if not 0 <= radius <= MAX_RADIUS * self.r:
            raise StudyError(
                f"radius is {radius:g}; it must be at least 0 and at most a million times the response's half range."
            )
        force_setattr(self, "radius", radius)

    def _check_person(self, names: list[str]) -> None:
        if self.person is None:
            if self.max_rows_per_person is not None:
                raise StudyError("max_rows_per_person needs person: name the column of persons, or leave it out.")
            return
        check_name(self.person)
        if self.person in names:
            raise StudyError(f"The column of persons {self.person!r} cannot also be the response or a predictor.")
        _check_whole("max_rows_per_person", self.max_rows_per_person, MAX_ROWS_PER_PERSON)

    def _check_sample(self, names: list[str]) -> None:
        used = {*names, self.person, self.cluster}
        if self.weights is None:
            if self.weight_limit is not None or self.population is not None:
                raise StudyError(
                    "weight_limit and population need weights: name the column of weights, or leave them out."
                )
        elif self.weight_limit is None or self.population is None:
            raise StudyError(
                "weights need weight_limit (--weight-limit), a number near the largest weight, and population (--population), the "
                "number that the weights add up to: state both, from the survey's documentation and not from the rows."
            )
        else:
            check_name(self.weights)
            if self.weights in used:
                raise StudyError(f"The column of weights {self.weights!r} can be nothing else: name another, or none.")
            limit, whole = as_number(self.weight_limit, "weight_limit"), as_number(self.population, "population")
            if not 0 < limit <= whole:
                raise StudyError(
                    f"weight_limit is {limit:g} and population {whole:g}; the limit must be above 0, and the population no smaller."
                )
            force_setattr(self, "weight_limit", limit)
            force_setattr(self, "population", whole)
        if self.cluster is None:
            return
        check_name(self.cluster)
        if self.cluster in names:
            raise StudyError(f"The column of clusters {self.cluster!r} cannot also be the response or a predictor.")
        if self.neighbors == "replace-one" and self.cluster != self.person:
            # Replaced, a row may come back in another cluster and change two blocks of a dealing (`lemmas.sampling.sampled_range`).
            raise StudyError(
                "cluster needs neighbors = 'add-remove-one' (and rows, about how many there are, unless weights are stated): a row "
                "that is replaced could come back in another cluster; or name the same column as person."
            )

    def _check_only(self) -> None:
        if self.only is None:
            return
        force_setattr(self, "only", only_from(self.only) or None)
        if self.only and self.expected_rows is None:
            raise StudyError(
                "only needs rows, about how many rows are in the subgroup: their number is private, so that it is not counted."
            )
        numbers = {each.name: isinstance(each, Numeric) for each in (self.response, *self.predictors)}
        numbers |= {
            v.name: not isinstance(v.categories[0], str)
            for v in (self.response, *self.predictors)
            if isinstance(v, Categorical | Binary)
        }
        for each in self.only or ():
            if each.name in (self.person, self.cluster, self.weights):
                raise StudyError(f"only cannot use {each.name!r}, the column of persons, clusters or weights.")
            if numbers.get(each.name, not each.is_text) == each.is_text:
                raise StudyError(f"{each.name!r} is stated as text in one place and as a number in another; see only.")

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """A study from plain values, as people write them: the inverse of `to_dict`, and less strict.

        Parameters
        ----------
        values : mapping
            A response, predictors, and any other of the fields.

        Returns
        -------
        Study
        """
        if not (isinstance(values, Mapping) and "response" in values and "predictors" in values):
            raise StudyError("A study needs a response and predictors.")
        if extra := sorted(map(str, set(values) - set(cls.__struct_fields__))):
            raise StudyError(f"{shown(extra[0])} is not an assumption; known are {', '.join(cls.__struct_fields__)}.")
        if not isinstance(values["predictors"], list | tuple):
            raise StudyError(f"The predictors are {shown(values['predictors'])}; they must be a list of variables.")
        response = variable_from_dict(values["response"])
        if isinstance(response, Categorical):
            raise StudyError(
                f"The response {response.name!r} must have lower and upper limits, or be of the kind 'binary' with two categories."
            )
        stated = {name: value for name, value in values.items() if name not in ("response", "predictors")}
        if "source" in stated:
            stated["source"] = form_from_dict(stated["source"])
        return cls(response, tuple(variable_from_dict(each) for each in values["predictors"]), **stated)

    @classmethod
    def from_formula(cls, formula: str, variables: Iterable[Variable], **settings: Any) -> Self:
        """A study whose terms are those of a formula. Variables that the formula does not use are left out.

        A product is that of the scaled factors, and a category stands for its dummies without the reference, also in products;
        "- 1" or "0 +" leave the intercept out.

        Parameters
        ----------
        formula : str
            Such as "price ~ size + C(county) + size:year".
        variables : iterable of Numeric, Binary, Count or Categorical
            What is stated of the variables that it names.
        **settings
            The other fields of a study.

        Returns
        -------
        Study
        """
        parts = formula_parts(formula, variables)
        settings.setdefault("intercept", "always" if parts.intercept else "none")
        if (settings["intercept"] == "none") == parts.intercept:
            raise StudyError("The formula and intercept disagree: write '0 +' exactly where intercept is 'none'.")
        return cls(parts.response, tuple(parts.predictors), terms=parts.terms, **settings)

    @classmethod
    def parse(cls, text: str, where: str = "The study file") -> Self:
        """A study from the text of a study file.

        Parameters
        ----------
        text : str
            TOML.
        where : str, optional
            What a refusal calls it.

        Returns
        -------
        Study
        """
        return cls._of_tables(parse_tables(text, where))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a study file.

        Parameters
        ----------
        path : str or path
            Such as "study.toml".

        Returns
        -------
        Study
        """
        text = read_text(path)
        tables = parse_tables(text, f"The study file {str(path)!r}")
        try:
            return cls._of_tables(tables)
        except StudyError as problem:
            raise located(problem, tables, text, os.fspath(path)) from None

    @classmethod
    def _of_tables(cls, tables: dict[str, Any]) -> Self:
        if "formula" not in tables:
            return cls.from_dict(tables)
        if "terms" in tables:
            raise StudyError("A study has both a formula and terms; give one or the other.")
        stated = {name: value for name, value in tables.items() if name != "formula"}
        variables = cls.from_dict({**stated, "intercept": "always"})
        settings = {name: value for name, value in stated.items() if name not in ("response", "predictors")}
        return cls.from_formula(tables["formula"], [variables.response, *variables.predictors], **settings)

    def text(self) -> str:
        """The text of the study file."""
        return format_tables(self.to_dict())

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a study file, whole or not at all.

        Parameters
        ----------
        path : str or path
            Such as "study.toml".
        """
        write_whole(path, self.text())

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the statement in canonical JSON: the same on every machine."""
        return sha256_of(self.to_dict())

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The design's columns: the intercept first if any, then the terms as stated; see `design_columns`."""
        return design_columns(self.predictors, self._stated_terms, intercept=self.intercept != "none")

    def require_places(self, columns: Sequence[int]) -> None:
        """Refuse what are not places of a model's columns in `columns`: each once, in the order of the design.

        Parameters
        ----------
        columns : sequence of int
            The places, counted from 0.
        """
        inside = all(0 <= place < len(self.columns) for place in columns)
        if not inside or any(place >= after for place, after in pairwise(columns)):
            raise DataError(
                f"The columns of a model must be places among the study's {len(self.columns)} columns, each once and in order."
            )

    @cached_property
    def unbounded(self) -> tuple[str, ...]:
        """The variables without limits."""
        return tuple(
            variable.name
            for variable in (self.response, *self.predictors)
            if isinstance(variable, Numeric) and not variable.bounded
        )

    def require_bounds(self, what: str, instead: str = "choose by votes") -> None:
        """Refuse what needs every limit, for persons how many rows of each count, and rows that all count alike.

        Parameters
        ----------
        what : str
            Who needs them, as the refusal begins.
        instead : str, optional
            What needs none of them.
        """
        if self.is_sample:
            raise StudyError(f"{what} cannot use weights, clusters or a subgroup: leave them out, or {instead}.")
        if self.unbounded:
            names = ", ".join(map(repr, self.unbounded))
            raise StudyError(
                f"{what} needs the range of {names}: state lower and upper of each, or {instead}, which needs none."
            )
        if self.person is not None and self.max_rows_per_person is None:
            raise StudyError(
                f"{what} needs max_rows_per_person, because its noise grows with the rows of a person: state it, or choose by "
                "votes, which need none."
            )

    def public_rows(self, count: int) -> int | None:
        """The number of rows where it may appear in a public formula: with replace-one neighbours have the same.

        Parameters
        ----------
        count : int
            The number of rows.

        Returns
        -------
        int or None
        """
        return count if self.neighbors == "replace-one" else None

    @property
    def is_sample(self) -> bool:
        """Whether weights, clusters or a subgroup are stated, so that rows do not all count alike and by themselves."""
        return self.weights is not None or self.cluster not in (None, self.person) or self.only is not None

    @property
    def together(self) -> str | None:
        """The column whose equal cells keep rows together, in blocks and in the variance of coefficients: clusters, or persons."""
        return self.cluster or self.person

    @property
    def expected_rows(self) -> int | None:
        """About how many rows count in a dealing, by what is stated: `rows`, or with weights the population over the limit."""
        if self.weights is None:
            return self.rows
        assert self.population is not None and self.weight_limit is not None
        return max(min(round(self.population / self.weight_limit), MAX_ROWS), 1)

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


def study_schema() -> dict[str, Any]:
    """The JSON Schema of a study file, by which editors complete and check it: that of `Study`, and what people may leave out."""
    schema = Study.json_schema()
    parts = schema["$defs"]
    for kind in (Numeric, Binary, Categorical):
        parts[kind.__name__]["required"].remove("kind")  # follows from limits or categories
    parts["Numeric"]["dependentRequired"] = {"lower": ["upper"], "upper": ["lower"]}
    settings = parts["Study"]["properties"]
    term = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    settings["terms"] = {"description": settings["terms"]["description"], "type": "array", "items": term}
    settings["formula"] = {"type": "string", "description": "In place of terms: rent ~ size + C(county) + size:year."}
    for variable in (settings["response"], settings["predictors"]["items"]):
        del variable["discriminator"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A dpselect study", **schema}


def _check_whole(what: str, value: object, most: int) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most):
        raise StudyError(f"{what} is {shown(value)}; it must be a whole number from 1 to {most:,}.")


RESPONSE = "y"


def plain_study(names: Sequence[str], *, r: float, R: float, neighbors: Neighbors = "replace-one") -> Study:
    """Columns in [-1, 1], the response in [-r, r], no intercept but one that is a column of X."""
    half = as_number(r, "r")
    if not half > 0:
        raise StudyError(f"r is {half:g}; the limit on |y| must be above 0.")
    radius = as_number(R, "R")
    if not 0 <= radius <= MAX_RADIUS * half:
        raise StudyError(f"R is {radius:g}; it must be at least 0 and at most a million times r.")
    response = RESPONSE if RESPONSE not in names else "response"
    predictors = [Numeric(name, -1, 1) for name in names]
    return Study(Numeric(response, -half, half), predictors, intercept="none", radius=radius, neighbors=neighbors)
