"""Public. Released coefficients as facts: each in the user's units, and as an effect that can be compared with the others."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import Column
from dpselect.assume.study.variables import Categorical
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.coefficients.terms import Term
from dpselect.report.public.facts import CoefficientFact, EstimateFact, IntervalFact
from dpselect.report.public.numbers import number
from dpselect.report.public.titles import column_titles, level_title, variable_title


def estimate_facts(coefficients: Coefficients) -> EstimateFact:
    """The facts of an estimate; where the model was chosen from the same rows, with the intervals that count that too."""
    wide = coefficients.selected and coefficients.intervals != "after-selection"
    wider = coefficients.with_intervals(intervals="after-selection") if wide else None
    return EstimateFact(
        coefficients=_facts(coefficients, coefficients.terms, wider.terms if wider else None),
        level=f"{100 * coefficients.level:g}%",
        wide=wide,
        how=f"{coefficients.noisy.noise.scale.noise} noise on the moments",
        residual=_fit(coefficients),
        cautions=tuple(caveat for caveat in coefficients.caveats if "with_intervals" not in caveat),
        alone=_facts(coefficients, coefficients.alone, wider.alone if wider else None),
    )


def _facts(
    coefficients: Coefficients, terms: Sequence[Term], wider: Sequence[Term] | None
) -> tuple[CoefficientFact, ...]:
    widths, levels = _widths(coefficients), _levels(coefficients.assumptions)
    titles = column_titles(coefficients.assumptions)
    return tuple(
        CoefficientFact(
            name=titles.get(term.name, term.name),
            coefficient=_interval(term, outer, 1.0),
            effect=None if widths.get(term.name) is None else _interval(term, outer, widths[term.name]),
            group=levels.get(term.name, ("", ""))[0],
            label=levels.get(term.name, ("", ""))[1],
        )
        for term, outer in zip(terms, wider or (None,) * len(terms), strict=True)
    )


def _interval(term: Term, outer: Term | None, width: float) -> IntervalFact:
    def times(end: float | None) -> float | None:
        return None if end is None else end * width

    return IntervalFact(
        value=times(term.value),
        lower=times(term.lower),
        upper=times(term.upper),
        wide_lower=None if outer is None else times(outer.lower),
        wide_upper=None if outer is None else times(outer.upper),
        visible=term.visible * width,
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


def _widths(coefficients: Coefficients) -> dict[str, float]:
    """How far each column's variable can move, in its own units."""
    assumptions = coefficients.assumptions
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
    if share.value is not None:
        ends = f"{100 * (share.lower or 0.0):.0f}% to {100 * (share.upper or 0.0):.0f}%"
        said.append(f"It explains about {100 * share.value:.0f}% of the response's variance ({ends}).")
    return " ".join(said) or "How much the model leaves unexplained could not be estimated at this price."
