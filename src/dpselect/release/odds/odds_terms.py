"""Public. From the last noisy round to log odds ratios and odds ratios in the user's units."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.moment_layout import moment_layout
from dpselect.assume.study.assumptions import Assumptions
from dpselect.release.coefficients.intervals import Intervals
from dpselect.release.coefficients.terms import Term
from dpselect.release.coefficients.units import user_scale
from dpselect.release.equations.findings import findings
from dpselect.release.odds.rounds import Round, close_together, last_fit


def odds_terms(
    last: Round, rows: float, assumptions: Assumptions, columns: tuple[int, ...], intervals: Intervals
) -> tuple[Term, ...]:
    """Log odds ratios in the user's units, from the last round and about how many rows there are."""
    constant = constant_of(assumptions, columns)
    fitted = last_fit(last, constant, rows)
    names, matrix = directions(assumptions, columns)
    kinds = moment_layout(assumptions, columns).kinds[: len(columns)]
    if close_together(last, constant, [place for place, kind in enumerate(kinds) if kind == "number"]):
        return tuple(Term(name, None, None, None, None, None, None) for name in names)
    choice = len(assumptions.columns) if intervals.kind == "after-selection" else None
    found = findings(fitted, matrix, level=intervals.level, choice=choice)
    terms = []
    for name, row, one in zip(names, matrix, found, strict=True):
        start = float(row @ last.at)
        lower, upper = (end + start if math.isfinite(end) else None for end in (one.lower, one.upper))
        value = None if one.value is None else one.value + start
        terms.append(Term(name, value, one.error, lower, upper, one.privacy_share, one.visible))
    return tuple(terms)


def likeliest(last: Round, rows: float, constant: int | None) -> NDArray[np.float64]:
    """The likeliest coefficients of the scaled columns."""
    return np.asarray(last.at + last_fit(last, constant, rows).scaled)


def directions(assumptions: Assumptions, columns: tuple[int, ...]) -> tuple[list[str], NDArray[np.float64]]:
    """Names and combinations of the scaled columns' log odds ratios that are the user's; what never moves is left out."""
    scale = user_scale(assumptions, columns)
    moving = [bool(np.any(row)) for row in scale.matrix]
    kept = [name for name, moves in zip(scale.names, moving, strict=True) if moves]
    return kept, scale.matrix[moving] / assumptions.response.half_width


def constant_of(assumptions: Assumptions, columns: tuple[int, ...]) -> int | None:
    """The intercept's place in the model."""
    found = [i for i, place in enumerate(columns) if not assumptions.columns[place].factors]
    return found[0] if found else None


def exponential(term: Term) -> Term:
    """The odds ratio of a log odds ratio; its `error` stays that of the logarithm, and `visible` becomes a ratio too."""

    def grown(value: float | None) -> float | None:
        return None if value is None else math.exp(min(value, 700.0))

    ends = grown(term.lower), grown(term.upper)
    return Term(term.name, grown(term.value), term.error, *ends, term.privacy_share, grown(term.visible))
