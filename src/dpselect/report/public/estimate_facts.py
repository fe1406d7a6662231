"""Public. Released coefficients as facts: each in the user's units, and as an effect that can be compared with the others."""

from __future__ import annotations

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import Column
from dpselect.assume.study.variables import Categorical
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.coefficients.terms import Term
from dpselect.report.public.facts import CoefficientFact, EstimateFact, IntervalFact
from dpselect.report.public.numbers import number


def estimate_facts(coefficients: Coefficients) -> EstimateFact:
    """The facts of an estimate; where the model was chosen from the same rows, with the intervals that count that too."""
    wide = coefficients.selected and coefficients.intervals != "after-selection"
    wider = (
        coefficients.with_intervals(intervals="after-selection").terms if wide else (None,) * len(coefficients.terms)
    )
    widths = _widths(coefficients)
    facts = [
        CoefficientFact(
            name=term.name,
            coefficient=_interval(term, outer, 1.0),
            effect=None if widths.get(term.name) is None else _interval(term, outer, widths[term.name]),
        )
        for term, outer in zip(coefficients.terms, wider, strict=True)
    ]
    return EstimateFact(
        coefficients=tuple(facts),
        level=f"{100 * coefficients.level:g}%",
        wide=wide,
        how=f"{coefficients.noisy.noise.scale.noise} noise on the moments",
        residual=_residual(coefficients),
        cautions=tuple(caveat for caveat in coefficients.caveats if "with_intervals" not in caveat),
    )


def _interval(term: Term, outer: Term | None, width: float) -> IntervalFact:
    return IntervalFact(
        value=term.value * width,
        lower=term.lower * width,
        upper=term.upper * width,
        wide_lower=None if outer is None else outer.lower * width,
        wide_upper=None if outer is None else outer.upper * width,
    )


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


def _residual(coefficients: Coefficients) -> str:
    deviation = number(coefficients.residual_deviation, 3)
    return f"What the model leaves unexplained has a standard deviation of about {deviation}."
