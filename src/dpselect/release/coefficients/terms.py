"""Public. A model solved from noisy moments: its terms in the user's units, and what to say about them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpselect.assume.study.assumptions import Assumptions
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.release.coefficients.intervals import (
    IntervalKind,
    Redraws,
    check_kind,
    check_level,
    half_widths,
    standard_errors,
)
from dpselect.release.coefficients.normal_equations import Equations, Fit, Floats, equations, solve
from dpselect.release.coefficients.units import user_scale

DROWNED = 0.1
"""The share of X'X that shrinking may change before a caveat says that noise is as large as what it hides."""


@dataclass(frozen=True, slots=True)
class Term:
    """Public. One coefficient in the user's units.

    `error` counts sampling and privacy noise; `privacy_share` is the part of its square that privacy noise brings.
    """

    name: str
    value: float
    error: float
    lower: float
    upper: float
    privacy_share: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class FittedTerms:
    """Public. All that is computed from noisy moments for one model."""

    terms: tuple[Term, ...]
    scaled: tuple[float, ...]
    residual_deviation: float
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
    """Solve the model, go back to the user's units, and put an interval around each coefficient."""
    check_level(level)
    check_kind(intervals)
    model = equations(noisy, [noisy.layout.columns.index(column) for column in columns])
    fit = solve(noisy.entries[None], model)
    scale = user_scale(assumptions, columns)
    values = scale.offsets + scale.matrix @ fit.coefficients[0]
    errors = standard_errors(fit, scale.matrix)[0]
    widths = half_widths(
        fit,
        model,
        scale.matrix,
        level=level,
        kind=intervals,
        redraws=Redraws.of(noisy),
        columns=len(assumptions.columns),
    )
    sampling = fit.variance[0] * np.einsum("ci,ij,cj->c", scale.matrix, np.linalg.inv(fit.gram[0]), scale.matrix)
    shares = np.clip(1 - sampling / errors**2, 0.0, 1.0)
    terms = [
        Term(name, float(value), float(error), float(value - width), float(value + width), float(share))
        for name, value, error, width, share in zip(scale.names, values, errors, widths, shares, strict=True)
    ]
    return FittedTerms(
        terms=tuple(terms),
        scaled=tuple(float(value) for value in fit.coefficients[0]),
        residual_deviation=float(np.sqrt(fit.variance[0])) * assumptions.r,
        rows=float(fit.rows[0]),
        caveats=_caveats(_changed(noisy.entries, model, fit), intervals, selected),
    )


def _changed(entries: Floats, model: Equations, fit: Fit) -> float:
    """The share of X'X that made it positive definite."""
    width = fit.gram.shape[1]
    gram = (model.known + np.tensordot(entries, model.patterns, axes=1))[:width, :width]
    return float(np.linalg.norm(fit.gram[0] - gram) / max(float(np.linalg.norm(gram)), 1e-300))


def _caveats(changed: float, intervals: IntervalKind, selected: bool) -> tuple[str, ...]:
    said = [
        "The intervals count sampling and privacy noise, not the bias that clipping to the stated bounds can bring."
    ]
    if selected and intervals != "after-selection":
        said.append(
            "The model was chosen from the same rows, which these intervals do not count; "
            "with_intervals(intervals='after-selection') does, at no price."
        )
    if changed > DROWNED:
        said.append(
            "Privacy noise is about as large as the columns' own products: the coefficients are shrunk and their intervals "
            "rough. A smaller model, a larger epsilon or more rows would help."
        )
    return tuple(said)
