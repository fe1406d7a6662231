"""Public. The terms of a model and the columns of its design: the intercept, numbers, dummies of categories, and products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from dpselect.assume.variables import Categorical, Category, Variable, shown
from dpselect.errors import StudyError

Term = tuple[str, ...]
MOST_FACTORS = 4


def normal_terms(terms: Iterable[Any] | None, predictors: Sequence[Variable]) -> tuple[Term, ...] | None:
    """The terms in one form, each with its factors in the order of the predictors; None if each predictor is one term.

    A term is a name or a list of names. Products are rounded to the grid factor by factor, so their order is fixed here and is
    the same in every engine.
    """
    if terms is None:
        return None
    if isinstance(terms, str) or not isinstance(terms, Iterable):
        raise StudyError(f"terms is {shown(terms)}; it must be a list, such as ['size', ['size', 'year']].")
    order = {variable.name: place for place, variable in enumerate(predictors)}
    normal = tuple(_normal(term, order, predictors) for term in terms)
    for term in normal:
        if normal.count(term) > 1:
            raise StudyError(f"The term {shown(':'.join(term))} is listed twice; list it once.")
    for name in order:
        if not any(name in term for term in normal):
            raise StudyError(f"The predictor {name!r} is in no term; add one, or leave the predictor out.")
    return None if normal == tuple((name,) for name in order) else normal


def _normal(term: Any, order: dict[str, int], predictors: Sequence[Variable]) -> Term:
    names = (term,) if isinstance(term, str) else term
    if not (isinstance(names, Sequence) and names and all(isinstance(name, str) for name in names)):
        raise StudyError(f"A term is {shown(term)}; it must be a predictor's name or a list of them.")
    if not len(names) <= MOST_FACTORS:
        raise StudyError(f"The term {shown(':'.join(names))} has {len(names)} factors; the most is {MOST_FACTORS}.")
    for name in names:
        if name not in order:
            raise StudyError(
                f"The term {shown(':'.join(names))} names {shown(name)}, which is not among the predictors: add it."
            )
        if names.count(name) > 1 and isinstance(predictors[order[name]], Categorical):
            raise StudyError(f"The term {shown(':'.join(names))} has the category {name!r} twice; once says the same.")
    return tuple(sorted(names, key=order.__getitem__))


INTERCEPT = "intercept"
MAX_STUDY_COLUMNS = 20_000
"""Votes in wide tables keep a few thousand rows of so many columns in half a gigabyte."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Public. A scaled number (level None) or the indicator of one level of a category."""

    variable: str
    level: Category | None = None

    def __str__(self) -> str:
        return self.variable if self.level is None else f"{self.variable}[{self.level}]"


@dataclass(frozen=True, slots=True)
class Column:
    """Public. A column of the design: a product of factors, each in [-1, 1]; the intercept is the product of none."""

    name: str
    factors: tuple[Factor, ...]
    term: int


def design_columns(predictors: Sequence[Variable], terms: Sequence[Term], *, intercept: bool) -> tuple[Column, ...]:
    """The intercept first if any, then the terms as stated, a category's dummies in level order.

    A product has a column for each way to pick one column of every factor, the last factor's changing fastest.
    """
    listed = [Column(INTERCEPT, (), 0)] if intercept else []
    factors = {variable.name: _factors(variable) for variable in predictors}
    for place, term in enumerate(terms, start=len(listed)):
        for picked in product(*(factors[name] for name in term)):
            listed.append(Column(":".join(map(str, picked)), picked, place))
    return tuple(listed)


def _factors(variable: Variable) -> tuple[Factor, ...]:
    if not isinstance(variable, Categorical):
        return (Factor(variable.name),)
    return tuple(Factor(variable.name, level) for level in variable.dummies)


def check_width(predictors: Sequence[Variable], terms: Sequence[Term]) -> None:
    """Refuse more columns than can be added up, before they are listed: a product has as many as its levels multiplied."""
    columns = {variable.name: len(_factors(variable)) for variable in predictors}
    width = sum(prod(columns[name] for name in term) for term in terms)
    if width > MAX_STUDY_COLUMNS:
        raise StudyError(
            f"The study has {width:,} columns, and the most is {MAX_STUDY_COLUMNS:,}: state fewer categories or products."
        )
