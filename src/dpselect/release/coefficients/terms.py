"""Public. A model solved from noisy moments: its terms in the user's units, and what to say about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import INTERCEPT
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.release.coefficients.intervals import IntervalKind, check_kind, check_level
from dpselect.release.coefficients.units import UserScale, user_scale
from dpselect.release.equations.findings import Finding, Fit, findings, fit
from dpselect.release.equations.problem import problem
from dpselect.release.equations.residual import Amount, unexplained

CLIPPING = "The intervals count sampling and privacy noise, not the bias that clipping to the stated bounds can bring."
CHOSEN = (
    "The model was chosen from the same rows, which these intervals do not count; "
    "with_intervals(intervals='after-selection') does, at no price."
)
ALIKE = (
    "The rows of a person count as if they had nothing in common: where they are alike, the intervals are too short."
)
UNSEEN = "A smaller model, a larger epsilon or more rows would help."

PREDICTING = 2.0
"""For predictions slopes are expected to be so many times smaller: less error on short tables, next to none on long ones."""


@dataclass(frozen=True, slots=True)
class Term:
    """Public. One coefficient in the user's units, or the word that this price could not show it.

    Without a `value` it could not be estimated at this price. An end of its interval that is None is open. `error` counts
    sampling and privacy noise, `privacy_share` is the part of its square that privacy noise brings, and `visible` is
    the size of a coefficient that could have been told from zero: None where an end is open, for then no size could.
    """

    name: str
    value: float | None
    error: float | None
    lower: float | None
    upper: float | None
    privacy_share: float | None
    visible: float | None

    @property
    def determined(self) -> bool:
        """Whether this price could show it."""
        return self.value is not None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class FittedTerms:
    """Public. All that is computed from noisy moments for one model.

    `alone` are slopes of a term in a model by itself, for terms whose slopes in the whole model could not be estimated.
    """

    terms: tuple[Term, ...]
    alone: tuple[Term, ...]
    residual_deviation: Amount
    r_squared: Amount
    rows: float
    caveats: tuple[str, ...]


def fitted_terms(
    noisy: NoisyMoments,
    columns: tuple[int, ...],
    assumptions: Assumptions,
    *,
    level: float,
    intervals: IntervalKind,
    selected: bool,
) -> FittedTerms:
    """Solve the model, go back to the user's units, and put an interval around each coefficient that can be seen."""
    check_level(level)
    check_kind(intervals)
    choice = len(assumptions.columns) if intervals == "after-selection" else None
    solved = fit(problem(noisy, columns)) if columns else None
    terms = _terms(solved, user_scale(assumptions, columns), level, choice)
    alone = _alone(noisy, columns, assumptions, terms, (level, choice))
    deviation, share = (Amount(), Amount()) if solved is None else unexplained(solved, level)
    return FittedTerms(
        terms=terms,
        alone=alone,
        residual_deviation=deviation.times(assumptions.r),
        r_squared=share,
        rows=float(noisy.known_rows or 0) if solved is None else solved.problem.rows,
        caveats=_caveats(terms, alone, (intervals, selected), assumptions),
    )


def most_likely(noisy: NoisyMoments, columns: tuple[int, ...], assumptions: Assumptions) -> dict[str, float]:
    """The coefficients that predict best, by name in the user's units: shrunk where noise is large, not to be read one by one."""
    scale = user_scale(assumptions, columns)
    scaled = fit(problem(noisy, columns).expecting_less(PREDICTING)).scaled if columns else np.zeros(0)
    return dict(zip(scale.names, map(float, scale.offsets + scale.matrix @ scaled), strict=True))


def _terms(solved: Fit | None, scale: UserScale, level: float, choice: int | None) -> tuple[Term, ...]:
    moving = [bool(np.any(row)) for row in scale.matrix]
    found = iter(findings(solved, scale.matrix[moving], level=level, choice=choice) if solved and any(moving) else [])
    known = Finding(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # whatever the data
    return tuple(
        _term(name, next(found) if moves else known, float(offset))
        for name, moves, offset in zip(scale.names, moving, scale.offsets, strict=True)
    )


def _term(name: str, finding: Finding, offset: float) -> Term:
    return Term(
        name,
        None if finding.value is None else finding.value + offset,
        finding.error,
        finding.lower + offset if math.isfinite(finding.lower) else None,
        finding.upper + offset if math.isfinite(finding.upper) else None,
        finding.privacy_share,
        finding.visible,
    )


def _alone(
    noisy: NoisyMoments,
    columns: tuple[int, ...],
    assumptions: Assumptions,
    terms: Sequence[Term],
    asked: tuple[float, int | None],
) -> tuple[Term, ...]:
    """Slopes one term at a time, from the same noisy moments, where the whole model's are drowned."""
    drowned = {term.name for term in terms if not term.determined}
    design = {place: assumptions.columns[place] for place in columns}
    constants = [place for place, column in design.items() if not column.factors]
    groups = dict.fromkeys(column.term for column in design.values() if column.factors)
    if not constants or len(groups) < 2:
        return ()
    found: list[Term] = []
    for group in groups:
        members = [place for place, column in design.items() if column.factors and column.term == group]
        if drowned.isdisjoint(design[place].name for place in members):
            continue
        small = (*constants, *members)
        solved = fit(problem(noisy, small))
        if not solved.quiet:
            continue  # too loud for any slope: nothing would be said
        found += [one for one in _terms(solved, user_scale(assumptions, small), *asked) if one.name != INTERCEPT]
    return tuple(found)


def _caveats(
    terms: Sequence[Term], alone: Sequence[Term], how: tuple[IntervalKind, bool], assumptions: Assumptions
) -> tuple[str, ...]:
    intervals, selected = how
    said = [CLIPPING, ALIKE] if assumptions.rows_per_person > 1 else [CLIPPING]
    if selected and intervals != "after-selection":
        said.append(CHOSEN)
    unseen = sum(not term.determined for term in terms)
    if unseen:
        which = "None of the coefficients" if unseen == len(terms) else f"{unseen} of {len(terms)} coefficients"
        could = "could" if unseen == len(terms) else "could not"
        said.append(f"{which} {could} be estimated at this price: privacy noise hides them. {UNSEEN}")
    if any(term.determined for term in alone):
        said.append("Slopes alone are those of models with one variable each: they do not hold the others fixed.")
    return tuple(said)
