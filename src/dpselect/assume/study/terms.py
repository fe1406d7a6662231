"""Public. Terms of a model: a variable by itself, or a product of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dpselect.assume.study.names import shown
from dpselect.assume.study.variables import Categorical, Variable
from dpselect.errors import AssumptionError

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
        raise AssumptionError(f"terms is {shown(terms)}; it must be a list, such as ['size', ['size', 'year']].")
    order = {variable.name: place for place, variable in enumerate(predictors)}
    normal = tuple(_normal(term, order, predictors) for term in terms)
    for term in normal:
        if normal.count(term) > 1:
            raise AssumptionError(f"The term {shown(':'.join(term))} is listed twice; list it once.")
    for name in order:
        if not any(name in term for term in normal):
            raise AssumptionError(f"The predictor {name!r} is in no term; add one, or leave the predictor out.")
    return None if normal == tuple((name,) for name in order) else normal


def _normal(term: Any, order: dict[str, int], predictors: Sequence[Variable]) -> Term:
    names = (term,) if isinstance(term, str) else term
    if not (isinstance(names, Sequence) and names and all(isinstance(name, str) for name in names)):
        raise AssumptionError(f"A term is {shown(term)}; it must be a predictor's name or a list of them.")
    if not len(names) <= MOST_FACTORS:
        raise AssumptionError(
            f"The term {shown(':'.join(names))} has {len(names)} factors; the most is {MOST_FACTORS}."
        )
    for name in names:
        if name not in order:
            raise AssumptionError(
                f"The term {shown(':'.join(names))} names {shown(name)}, which is not among the predictors: add it."
            )
        if names.count(name) > 1 and isinstance(predictors[order[name]], Categorical):
            raise AssumptionError(
                f"The term {shown(':'.join(names))} has the category {name!r} twice; once says the same."
            )
    return tuple(sorted(names, key=order.__getitem__))
