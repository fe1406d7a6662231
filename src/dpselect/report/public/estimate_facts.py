"""Public. Released coefficients as facts: each in the user's units, and as an effect that can be compared with the others."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import INTERCEPT, Column
from dpselect.assume.study.variables import Binary, Categorical
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.coefficients.terms import Term
from dpselect.release.coefficients.units import beyond_range
from dpselect.release.odds.odds_ratios import OddsRatios
from dpselect.report.public.facts import CoefficientFact, EstimateFact, IntervalFact
from dpselect.report.public.numbers import number
from dpselect.report.public.titles import column_titles, level_title, variable_title

UNLIKELY = 7.0
"""A logarithm of an odds ratio (about 1,100) that nobody has to be told could have been seen."""
LARGEST = 700.0
"""Of a logarithm whose ratio is still a number."""


def estimate_facts(estimate: Coefficients | OddsRatios) -> EstimateFact:
    """The facts of an estimate; where the model was chosen from the same rows, with the intervals that count that too."""
    if isinstance(estimate, OddsRatios):
        return _odds_facts(estimate)
    wide = estimate.selected and estimate.intervals != "after-selection"
    wider = estimate.with_intervals(intervals="after-selection") if wide else None
    coefficients = _facts(estimate, estimate.terms, wider.terms if wider else None)
    return EstimateFact(
        coefficients=coefficients,
        level=f"{100 * estimate.level:g}%",
        wide=wide,
        how=f"{estimate.noisy.noise.scale.noise} noise on the moments",
        residual=_fit(estimate),
        cautions=_cautions(estimate),
        alone=_facts(estimate, estimate.alone, wider.alone if wider else None),
        unseen=_unseen(coefficients, f" within the stated range of {variable_title(estimate.assumptions.response)}"),
    )


def _odds_facts(odds: OddsRatios) -> EstimateFact:
    wide = odds.selected and odds.intervals.kind != "after-selection"
    wider = odds.with_intervals(intervals="after-selection") if wide else None
    response = odds.assumptions.response
    assert isinstance(response, Binary)
    coefficients = _facts(odds, odds.terms, wider.terms if wider else None)
    return EstimateFact(
        coefficients=coefficients,
        level=f"{100 * odds.intervals.level:g}%",
        wide=wide,
        how=odds_noise(odds),
        residual="",
        cautions=_cautions(odds),
        odds=True,
        yes=f"{variable_title(response)} = {level_title(response, response.levels[1])}",
        unseen=_unseen(coefficients, odds=True),
    )


def _unseen(coefficients: Sequence[CoefficientFact], within: str = "", *, odds: bool = False) -> str:
    """What it means that a number is not seen; empty if all are."""
    hidden = [each.coefficient.visible for each in coefficients if each.coefficient.value is None]
    if not hidden:
        return ""
    from_where, smaller = ("1", "those between") if odds else ("zero", "smaller ones")
    size = "an odds ratio of the size given, or its inverse," if odds else "a coefficient of the size given"
    known = (
        [f"{size} could have been told from {from_where}, {smaller} not"] if hidden.count(None) < len(hidden) else []
    )
    whose = "where no size is given, none" if known else "no effect"
    never = [f"{whose}{within} could have been"] if None in hidden else []
    return f"What is not seen could not be estimated at this price: {'; '.join([*known, *never])}."


def odds_noise(odds: OddsRatios) -> str:
    """How odds ratios were drawn."""
    return f"gaussian noise on the sums of {len(odds.rounds)} rounds"


def _cautions(estimate: Coefficients | OddsRatios) -> tuple[str, ...]:
    """What the page and the terminal say below; both show the intervals that count the choice, so none has to be asked for."""
    return tuple(caveat for caveat in estimate.caveats if "with_intervals" not in caveat)


def _facts(
    estimate: Coefficients | OddsRatios, terms: Sequence[Term], wider: Sequence[Term] | None
) -> tuple[CoefficientFact, ...]:
    widths, levels = _widths(estimate.assumptions), _levels(estimate.assumptions)
    titles = column_titles(estimate.assumptions)
    return tuple(
        CoefficientFact(
            name=titles.get(term.name, term.name),
            coefficient=_interval(term, outer, 1.0, estimate),
            effect=None if widths.get(term.name) is None else _interval(term, outer, widths[term.name], estimate),
            group=levels.get(term.name, ("", ""))[0],
            label=levels.get(term.name, ("", ""))[1],
        )
        for term, outer in zip(terms, wider or (None,) * len(terms), strict=True)
    )


def _visible(term: Term, width: float, estimate: Coefficients | OddsRatios) -> float | None:
    """The size that could have been seen of a term times a width; None where that is beyond what can be."""
    if term.visible is None:
        return None
    if isinstance(estimate, OddsRatios):
        return None if term.visible * width > UNLIKELY else math.exp(term.visible * width)
    return None if beyond_range(estimate.assumptions, term.name, term.visible) else term.visible * width


def _interval(term: Term, outer: Term | None, width: float, estimate: Coefficients | OddsRatios) -> IntervalFact:
    """A term times a width; of log odds ratios the ratio of it."""
    odds = isinstance(estimate, OddsRatios)

    def times(end: float | None) -> float | None:
        return None if end is None else math.exp(min(end * width, LARGEST)) if odds else end * width

    return IntervalFact(
        value=times(term.value),
        lower=times(term.lower),
        upper=times(term.upper),
        wide_lower=None if outer is None else times(outer.lower),
        wide_upper=None if outer is None else times(outer.upper),
        visible=_visible(term, width, estimate),
    )


def _levels(assumptions: Assumptions) -> dict[str, tuple[str, str]]:
    """The category of each of its levels, said with its reference, and the level."""
    variables = {each.name: each for each in assumptions.predictors if isinstance(each, Categorical)}
    found = {}
    for column in assumptions.columns:
        if len(column.factors) == 1 and column.factors[0].level is not None:
            (factor,) = column.factors
            variable = variables[factor.variable]
            assert variable.reference is not None and factor.level is not None
            against = f"{variable_title(variable)}, against {level_title(variable, variable.reference)}"
            found[column.name] = (against, level_title(variable, factor.level))
    return found


def _widths(assumptions: Assumptions) -> dict[str, float]:
    """How far each column's variable can move, in its own units."""
    found = {column.name: _width(column, assumptions) for column in assumptions.columns}
    return {name: width for name, width in found.items() if width is not None}


def _width(column: Column, assumptions: Assumptions) -> float | None:
    if len(column.factors) != 1:
        return None
    (factor,) = column.factors
    variable = next(each for each in assumptions.predictors if each.name == factor.variable)
    return 1.0 if isinstance(variable, Categorical) else 2 * variable.half_width


def _fit(coefficients: Coefficients) -> str:
    """What the model leaves unexplained, as far as this price can show it."""
    rest, share = coefficients.residual_deviation, coefficients.r_squared
    said = []
    if rest.value is not None:
        ends = f"{number(rest.lower or 0.0, 3)} to {number(rest.upper or 0.0, 3)}"
        said.append(
            f"What the model leaves unexplained has a standard deviation of about {number(rest.value, 3)} ({ends})."
        )
    if share.value is not None and any(term.name != INTERCEPT for term in coefficients.terms):
        ends = f"{100 * (share.lower or 0.0):.0f}% to {100 * (share.upper or 0.0):.0f}%"
        said.append(f"It explains about {100 * share.value:.0f}% of the response's variance ({ends}).")
    return " ".join(said) or "How much the model leaves unexplained could not be estimated at this price."
