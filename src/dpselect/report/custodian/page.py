"""Custodian's eyes only. The page that must not leave the building: what was clipped, and what would be chosen."""

from __future__ import annotations

from dataclasses import dataclass

from dpselect.assume.study.assumptions import Assumptions
from dpselect.rehearse.check.fit import Fit
from dpselect.rehearse.check.preview import Curve, Preview, model_names
from dpselect.report.custodian.curves import LETTERS, curve_chart
from dpselect.report.custodian.remarks import WATERMARK, advice, fit_rows
from dpselect.report.public.numbers import number
from dpselect.report.public.page import render

UNITS = {"epsilon": "epsilon", "penalty": "penalty a column", "radius": "radius"}


@dataclass(frozen=True, slots=True, repr=False)
class CurveFact:
    """Private. One chart, in two widths, and its numbers."""

    name: str
    wide: str
    narrow: str
    rows: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        return f"CurveFact(name={self.name!r}, values=<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class PrivateFacts:
    """Private. All that the custodian's page shows. No template of the public report accepts it."""

    response: str
    rows: str
    fit: tuple[tuple[str, ...], ...]
    advice: tuple[str, ...]
    guarantee: str
    how: str
    models: tuple[tuple[str, str, str], ...]
    curves: tuple[CurveFact, ...]

    def __repr__(self) -> str:
        return "PrivateFacts(values=<private>)"


def custodian_page(assumptions: Assumptions, fit: Fit, seen: Preview | None) -> str:
    """The page as HTML."""
    models: tuple[tuple[str, str, str], ...] = ()
    curves: tuple[CurveFact, ...] = ()
    guarantee = how = ""
    if seen is not None:
        named = zip(LETTERS, seen.chances, model_names(seen.models), strict=False)
        models = tuple((letter, f"{chance:.1%}", name) for letter, chance, name in named)
        curves = tuple(_curve(curve) for curve in seen.curves)
        guarantee, how = str(seen.recipe.guarantee), f"{seen.recipe.method} by {seen.recipe.mechanism}"
    facts = PrivateFacts(
        response=assumptions.response.name,
        rows=f"{fit.rows:,}",
        fit=tuple(tuple(row) for row in fit_rows(fit)),
        advice=tuple(advice(fit, assumptions.missing)),
        guarantee=guarantee,
        how=how,
        models=models,
        curves=curves,
    )
    return render("custodian.html.j2", facts=facts, watermark=WATERMARK)


def _curve(curve: Curve) -> CurveFact:
    now = curve.settings[len(curve.settings) // 2]
    wide, narrow = (
        curve_chart(UNITS[curve.name], curve.settings, curve.chances, now, narrow=narrow) for narrow in (False, True)
    )
    rows = tuple(
        (number(setting, 3), *(f"{chance:.1%}" for chance in row))
        for setting, row in zip(curve.settings, curve.chances, strict=True)
    )
    return CurveFact(curve.name, wide, narrow, rows)
