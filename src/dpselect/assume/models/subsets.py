"""Public. Which models compete, said in words of the study: names or places of columns, sizes, terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpselect.assume.models.candidates import CandidateList, Candidates, SubsetRule, mask_of
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import INTERCEPT, Column
from dpselect.errors import AssumptionError

Model = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Subsets:
    """Public. All sets of terms, within limits.

    `max_size` bounds the columns (those always in not counted); `always` names columns or variables that every candidate
    has; `empty` lets the model without any column compete; `split` lets a category's dummies enter one by one instead
    of together. Example: `Subsets(max_size=4, always=("age",))`.
    """

    max_size: int | None = None
    always: tuple[str | int, ...] = ()
    empty: bool = False
    split: bool = False


def candidates_for(
    assumptions: Assumptions, models: Subsets | Iterable[Model] | Candidates | None = None
) -> Candidates:
    """The candidates over the design's columns: by default every set of terms, the empty model left out."""
    columns = assumptions.columns
    if isinstance(models, Candidates):
        if models.width != len(columns):
            raise AssumptionError(
                f"The candidates range over {models.width} columns, and the study has {len(columns)}."
            )
        return models
    if models is None or isinstance(models, Subsets):
        return _rule(assumptions, models or Subsets())
    return CandidateList(len(columns), tuple(model_mask(assumptions, model) for model in models))


def _rule(assumptions: Assumptions, subsets: Subsets) -> SubsetRule:
    columns = assumptions.columns
    always = _mask(columns, subsets.always)
    if assumptions.intercept == "always":
        always |= mask_of([0])
    terms: dict[int, int] = {}
    for place, column in enumerate(columns):
        if not always >> place & 1:
            key = place if subsets.split else column.term
            terms[key] = terms.get(key, 0) | mask_of([place])
    rule = SubsetRule(len(columns), tuple(terms.values()), always, subsets.max_size, subsets.empty)
    if rule.max_size is None or rule.max_size <= len(columns):
        return rule
    return replace(rule, max_size=len(columns))  # a report has no place for a number that says no more


def model_mask(assumptions: Assumptions, model: Model) -> int:
    """A model, named by its columns or variables, as a mask; with the intercept if that is always in."""
    forced = mask_of([0]) if assumptions.intercept == "always" else 0
    return _mask(assumptions.columns, model) | forced


def _mask(columns: Sequence[Column], model: Model) -> int:
    given: object = model
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise AssumptionError(f"A candidate is given as {model!r}; give each as a list of columns.")
    return mask_of([place for name in model for place in _places(columns, name)])


def _places(columns: Sequence[Column], name: str | int) -> list[int]:
    """The columns meant by a place, a column's name or a variable's name (then all of its columns)."""
    if isinstance(name, str):
        found = [i for i, column in enumerate(columns) if column.name == name]
        found = found or [i for i, column in enumerate(columns) if {f.variable for f in column.factors} == {name}]
    else:
        found = [int(name)] if isinstance(name, int | np.integer) and 0 <= name < len(columns) else []
    if not found:
        known = ", ".join(column.name for column in columns[:8]) + (", ..." if len(columns) > 8 else "")
        raise AssumptionError(f"{name!r} is not a column of the study; the columns are {known}.")
    return found


def variables_of(columns: Sequence[Column]) -> tuple[str, ...]:
    """The variables behind some columns, each once, the intercept left out."""
    return tuple(
        dict.fromkeys(factor.variable for column in columns for factor in column.factors if column.name != INTERCEPT)
    )
