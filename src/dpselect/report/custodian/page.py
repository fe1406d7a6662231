"""Custodian's eyes only. The page that must not leave the building: what was clipped, and what would be chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpselect.assume.study import Study
from dpselect.rehearse.check.fit import TableFit
from dpselect.rehearse.check.preview import Curve, Preview, model_names
from dpselect.report.custodian.curves import LETTERS, curve_chart
from dpselect.report.custodian.remarks import (
    FITS,
    WATERMARK,
    advice,
    direction_text,
    fit_rows,
    percent,
    price_sentence,
    share_sentence,
)
from dpselect.report.public.numbers import number
from dpselect.report.public.page import render


@dataclass(frozen=True, slots=True, repr=False)
class CurveFact:
    """Private. The chart over the price, in two widths; below it a table: what, and a chance at each price with its shade."""

    wide: str
    narrow: str
    prices: tuple[str, ...]
    models: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    variables: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]

    def __repr__(self) -> str:
        return "CurveFact(values=<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class PrivateFacts:
    """Private. All that the custodian's page shows. No template of the public report accepts it."""

    response: str
    rows: str
    fit: tuple[tuple[str, ...], ...]
    advice: tuple[str, ...]
    price: str
    how: str
    share: str
    models: tuple[tuple[str, str, str], ...]
    asked: tuple[tuple[str, str], ...]
    variables: tuple[tuple[str, str, int, str], ...]
    directions: bool
    curves: tuple[CurveFact, ...]

    def __repr__(self) -> str:
        return "PrivateFacts(values=<private>)"


def custodian_page(study: Study, fit: TableFit, seen: Preview | None) -> str:
    """The page as HTML."""
    facts = PrivateFacts(
        response=study.response.name,
        rows=f"{fit.rows:,}",
        fit=tuple(tuple(row) for row in fit_rows(fit)),
        advice=tuple(advice(fit, study.missing)),
        price="" if seen is None else price_sentence(seen),
        how="" if seen is None else seen.how,
        share="" if seen is None else share_sentence(seen),
        models=() if seen is None else _models(seen),
        asked=() if seen is None else tuple((percent(c), model_names([model])[0]) for model, c in seen.asked),
        variables=() if seen is None else _variables(seen),
        directions=seen is not None and bool(seen.directions),
        curves=() if seen is None else tuple(_curve(curve, seen) for curve in seen.curves),
    )
    return render("custodian.html.j2", facts=facts, watermark=WATERMARK, fits=FITS)


def _models(seen: Preview) -> tuple[tuple[str, str, str], ...]:
    named = zip(LETTERS, seen.chances, model_names(seen.models), strict=False)
    return tuple((letter, percent(chance), name) for letter, chance, name in named)


def _variables(seen: Preview) -> tuple[tuple[str, str, int, str], ...]:
    """Each term with its chance, in words and in hundredths, the likeliest first; and its direction, where that is told."""
    return tuple(
        (name, percent(seen.inclusion[i]), round(100 * seen.inclusion[i]), direction_text(name, seen))
        for i, name in _ranked(seen)
    )


def _ranked(seen: Preview) -> list[tuple[int, str]]:
    return sorted(enumerate(seen.terms), key=lambda pair: -seen.inclusion[pair[0]])


def _curve(curve: Curve, seen: Preview) -> CurveFact:
    now = float(seen.epsilon)
    wide, narrow = (
        curve_chart("whole epsilon", curve.settings, curve.chances, now, narrow=narrow) for narrow in (False, True)
    )
    variables = [(name, _shaded([row[i] for row in curve.inclusion])) for i, name in _ranked(seen)]
    shares = [share for share in curve.shares if share is not None]
    if len(shares) == len(curve.shares):
        variables.append(("expected share of the R²", _shaded(shares)))
    models = [(letter, _shaded([row[i] for row in curve.chances])) for i, (letter, _, _) in enumerate(_models(seen))]
    prices = tuple(number(setting, 3) for setting in curve.settings)
    return CurveFact(wide, narrow, prices, tuple(models), tuple(variables))


def _shaded(chances: Sequence[float]) -> tuple[tuple[str, int], ...]:
    """Chances in words, each with a shade from 0 to 30 hundredths, which leaves the words legible."""
    return tuple((percent(chance), round(30 * chance)) for chance in chances)
