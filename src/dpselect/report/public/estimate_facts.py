"""Public. A released estimate as facts: each term in the user's units, and as an effect that can be compared with the others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT, Column
from dpselect.assume.variables import Binary, Categorical, Variable
from dpselect.release.drawn import MAX_LOGARITHM, Term
from dpselect.release.estimate import Estimate
from dpselect.release.titles import column_titles, level_title, variable_title
from dpselect.release.units import beyond_range
from dpselect.report.public.facts import CoefficientFact, EstimateFact, IntervalFact
from dpselect.report.public.numbers import number

UNLIKELY_LOGARITHM = 7.0
"""Of a ratio (about 1,100) that nobody has to be told could have been seen."""


def estimate_facts(estimate: Estimate) -> EstimateFact:
    """The facts of an estimate, from its terms as they are: nothing is solved here."""
    words = estimate.kind.words
    coefficients = _facts(estimate, estimate.terms)
    return EstimateFact(
        coefficients=coefficients,
        one=words.one,
        many=words.many,
        quantity=words.quantity,
        subject=_subject(estimate),
        level=f"{100 * estimate.level:g}%",
        selected=estimate.selected,
        how=estimate.kind.noise(estimate.released),
        residual="" if estimate.kind.ratios else _fit(estimate),
        cautions=estimate.caveats,
        unadjusted=_facts(estimate, estimate.unadjusted),
        unseen=_unseen(estimate, coefficients),
    )


def _subject(estimate: Estimate) -> str:
    """Whose odds or rates: of a yes, or of what the response counts."""
    response = estimate.study.response
    title = variable_title(response)
    return f"{title} = {level_title(response, response.categories[1])}" if isinstance(response, Binary) else title


def _unseen(estimate: Estimate, coefficients: Sequence[CoefficientFact]) -> str:
    """What it means that a number is not seen; empty if all are."""
    hidden = [each.coefficient.visible for each in coefficients if each.coefficient.value is None]
    if not hidden:
        return ""
    one = estimate.kind.words.one
    known = f"a {one} of the size given could have been told from zero, smaller ones not"
    within = f" within the stated range of {variable_title(estimate.study.response)}"
    if estimate.kind.ratios:
        article = "an" if one[0] in "aeiou" else "a"
        known = f"{article} {one} of the size given, or its inverse, could have been told from 1, those between not"
        within = ""
    sizes = [known] if hidden.count(None) < len(hidden) else []
    whose = "where no size is given, none" if sizes else "no effect"
    never = [f"{whose}{within} could have been"] if None in hidden else []
    return f"What is not seen could not be estimated at this price: {'; '.join([*sizes, *never])}."


def _facts(estimate: Estimate, terms: Sequence[Term]) -> tuple[CoefficientFact, ...]:
    widths, levels = _widths(estimate.study), _levels(estimate.study)
    titles = column_titles(estimate.study)
    return tuple(
        CoefficientFact(
            name=titles.get(term.name, term.name),
            coefficient=_interval(term, 1.0, estimate),
            effect=None if widths.get(term.name) is None else _interval(term, widths[term.name], estimate),
            group=levels.get(term.name, ("", ""))[0],
            label=levels.get(term.name, ("", ""))[1],
        )
        for term in terms
    )


def _interval(term: Term, width: float, estimate: Estimate) -> IntervalFact:
    """A term times a width; of a logarithm the ratio of it."""
    ratios = estimate.kind.ratios

    def times(end: float | None) -> float | None:
        return None if end is None else math.exp(min(end * width, MAX_LOGARITHM)) if ratios else end * width

    return IntervalFact(
        value=times(term.value),
        lower=times(term.lower),
        upper=times(term.upper),
        adjusted_lower=times(term.adjusted_lower) if estimate.selected else None,
        adjusted_upper=times(term.adjusted_upper) if estimate.selected else None,
        visible=None if _beyond(term, width, estimate) else times(term.visible),
    )


def _beyond(term: Term, width: float, estimate: Estimate) -> bool:
    """Whether the size that could have been seen, of a term times a width, is more than can be."""
    if estimate.kind.ratios:
        return term.visible is None or term.visible * width > UNLIKELY_LOGARITHM
    return beyond_range(estimate.study, term.name, term.visible)


def _levels(study: Study) -> dict[str, tuple[str, str]]:
    """The category of each of its levels, said with its reference, and the level."""
    variables = {each.name: each for each in study.predictors if isinstance(each, Categorical)}
    found = {}
    for column in study.columns:
        if len(column.factors) == 1 and column.factors[0].level is not None:
            (factor,) = column.factors
            variable = variables[factor.variable]
            assert variable.reference is not None and factor.level is not None
            against = f"{variable_title(variable)}, against {level_title(variable, variable.reference)}"
            found[column.name] = (against, level_title(variable, factor.level))
    return found


def _widths(study: Study) -> dict[str, float]:
    """How far each column's variable can move, in its own units."""
    variables = {variable.name: variable for variable in study.predictors}
    found = {column.name: _width(column, variables) for column in study.columns}
    return {name: width for name, width in found.items() if width is not None}


def _width(column: Column, variables: Mapping[str, Variable]) -> float | None:
    if len(column.factors) != 1:
        return None
    variable = variables[column.factors[0].variable]
    if isinstance(variable, Categorical):
        return 1.0
    return 2 * variable.half_width if variable.bounded else None


def _fit(estimate: Estimate) -> str:
    """What the model leaves unexplained, as far as this price can show it."""
    rest, share = estimate.residual_deviation, estimate.r_squared
    said = []
    if rest.value is not None:
        ends = f"{number(rest.lower or 0.0, 3)} to {number(rest.upper or 0.0, 3)}"
        said.append(
            f"What the model leaves unexplained has a standard deviation of about {number(rest.value, 3)} ({ends})."
        )
    if share.value is not None and any(term.name != INTERCEPT for term in estimate.terms):
        ends = f"{100 * (share.lower or 0.0):.0f}% to {100 * (share.upper or 0.0):.0f}%"
        said.append(f"It explains about {100 * share.value:.0f}% of the response's variance ({ends}).")
    return " ".join(said) or "How much the model leaves unexplained could not be estimated at this price."
