"""Public. The columns of the design: the intercept, numbers, dummies of categories, and products of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from dpselect.assume.study.names import Level
from dpselect.assume.study.terms import Term
from dpselect.assume.study.variables import Categorical, Variable
from dpselect.errors import AssumptionError

INTERCEPT = "intercept"
MOST_COLUMNS = 4000
"""The sums of the products of so many columns fit in a gigabyte."""


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
    if width > MOST_COLUMNS:
        raise AssumptionError(
            f"The study has {width:,} columns, and the most is {MOST_COLUMNS:,}: state fewer levels or products."
        )
