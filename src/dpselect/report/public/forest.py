"""Public. The forest plot: each effect with its interval, on one axis in the response's units, or of ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpselect.report.public.facts import CoefficientFact, IntervalFact
from dpselect.report.public.numbers import number, ratio_ticks, span, ticks
from dpselect.report.public.svg import element, label, line, picture

WILD = 12
"""How many times as far from zero as the middle one of all ends one must lie to be cut, so that the others stay readable."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Public. A map from values to places: linear, or by logarithms for ratios, where 1 is no effect."""

    low: float
    high: float
    left: float
    right: float
    ratios: bool = False

    @property
    def nothing(self) -> float:
        """The value that is no effect."""
        return 1.0 if self.ratios else 0.0

    def at(self, value: float) -> float:
        """The place of a value, held inside the picture."""
        inside, low, high = min(max(value, self.low), self.high), self.low, self.high
        if self.ratios:
            inside, low, high = math.log(inside), math.log(low), math.log(high)
        return self.left + (inside - low) / (high - low) * (self.right - self.left)


Effects = Sequence[tuple[str, IntervalFact]]


def forest_plot(
    coefficients: Sequence[CoefficientFact],
    what: str,
    *,
    narrow: bool = False,
    adjusted: bool = True,
    ratios: bool = False,
) -> str:
    """An SVG of every coefficient that has an effect; empty if none has one that was seen. `what` names the axis."""
    shown = [(_called(each), each.effect) for each in coefficients if each.effect is not None]
    if all(effect.value is None for _, effect in shown):
        return ""
    room = 24.0 + 7.6 * max(len(_short(name)) for name, _ in shown)
    width, left, row = (360.0, 14.0, 46.0) if narrow else (720.0, max(room, 90.0), 34.0)
    axis = Axis(*(_ratio_span(shown) if ratios else _span(shown)), left, width - 16.0, ratios)
    top, bottom = 10.0, 10.0 + row * len(shown)
    parts = [_grid(axis, top, bottom, narrow), line(axis.at(axis.nothing), top, axis.at(axis.nothing), bottom, "zero")]
    for place, (name, effect) in enumerate(shown):
        parts.append(_row(name, effect, axis, (top + row * place, row), narrow, adjusted))
    parts.append(label((axis.left + axis.right) / 2, bottom + 38, what, "axis-name", "middle"))
    return picture(width, bottom + 48, _title(shown, what), parts, "narrow" if narrow else "wide")


def _called(fact: CoefficientFact) -> str:
    return f"{fact.group.split(', against ')[0]}: {fact.label}" if fact.group else fact.name


def _ends(effect: IntervalFact) -> list[float]:
    return [
        end for end in (effect.lower, effect.upper, effect.adjusted_lower, effect.adjusted_upper) if end is not None
    ]


def _span(shown: Effects) -> tuple[float, float]:
    """An axis that holds zero and every interval, unless one interval is wild: then the others stay readable."""
    ends = [abs(end) for _, effect in shown for end in _ends(effect)]
    finite = sorted(end for end in ends if math.isfinite(end))
    limit = min(finite[-1], WILD * finite[len(finite) // 2]) if finite else 1.0
    values = [0.0, *(effect.value for _, effect in shown if effect.value is not None)]
    values += [min(max(end, -limit), limit) for _, effect in shown for end in _ends(effect)]
    low, high = min(values), max(values)
    room = 0.04 * (high - low) or 1.0
    return low - room, high + room


def _ratio_span(shown: Effects) -> tuple[float, float]:
    """The same by logarithms, at least from a half to two."""

    def logarithms(effect: IntervalFact) -> IntervalFact:
        ends = (effect.value, effect.lower, effect.upper, effect.adjusted_lower, effect.adjusted_upper)
        value, lower, upper, adjusted_lower, adjusted_upper = (
            None if end is None else math.log(max(end, 1e-300)) for end in ends
        )
        return IntervalFact(
            value=value, lower=lower, upper=upper, adjusted_lower=adjusted_lower, adjusted_upper=adjusted_upper
        )

    low, high = _span([(name, logarithms(effect)) for name, effect in shown])
    return math.exp(max(min(low, -math.log(2)), -300.0)), math.exp(min(max(high, math.log(2)), 300.0))


def _short(name: str, most: int = 32) -> str:
    """A name that fits beside the axis; the table and the alternative text have it whole."""
    return name if len(name) <= most else f"{name[: most - 8]}…{name[-7:]}"


def _grid(axis: Axis, top: float, bottom: float, narrow: bool) -> str:
    parts = []
    most = 5 if narrow else 8
    for value in ratio_ticks(axis.low, axis.high, most) if axis.ratios else ticks(axis.low, axis.high, most):
        parts.append(line(axis.at(value), top, axis.at(value), bottom, "grid"))
        parts.append(label(axis.at(value), bottom + 18, number(value), "tick", "middle"))
    return "".join(parts)


def _row(name: str, effect: IntervalFact, axis: Axis, place: tuple[float, float], narrow: bool, adjusted: bool) -> str:
    top, height = place
    middle = top + (height - 12 if narrow else height / 2)
    text = _short(name)
    parts = [label(axis.left, top + 16, text) if narrow else label(axis.left - 14, middle + 4, text, anchor="end")]
    if adjusted:
        parts.append(_whisker(axis, (effect.adjusted_lower, effect.adjusted_upper), middle, "outer"))
    seen = effect.value is not None
    parts.append(_whisker(axis, (effect.lower, effect.upper), middle, "interval" if seen else "unseen"))
    if effect.value is not None:
        parts.append(element("circle", cx=axis.at(effect.value), cy=middle, r=5, class_="point"))
    return "".join(parts)


def _whisker(axis: Axis, ends: tuple[float | None, float | None], middle: float, kind: str) -> str:
    """A line with a cap at each end that lies inside the picture, and an arrowhead where it goes on beyond."""
    places = (axis.low if ends[0] is None else ends[0], axis.high if ends[1] is None else ends[1])
    parts = [line(axis.at(places[0]), middle, axis.at(places[1]), middle, kind)]
    for end, inwards in zip(ends, (6, -6), strict=True):
        if end is not None and axis.low <= end <= axis.high:
            parts.append(line(axis.at(end), middle - 5, axis.at(end), middle + 5, kind))
            continue
        edge = axis.at(axis.low if inwards > 0 else axis.high)
        parts += [line(edge, middle, edge + inwards, middle + up, kind) for up in (-5, 5)]
    return "".join(parts)


def runs_out(coefficients: Sequence[CoefficientFact], *, adjusted: bool = True, ratios: bool = False) -> bool:
    """Whether some interval goes on beyond the picture: it has an open end, or one that was cut."""
    shown = [(_called(each), each.effect) for each in coefficients if each.effect is not None]
    low, high = _ratio_span(shown) if ratios else _span(shown)
    ends = [end for _, each in shown for end in (each.lower, each.upper)]
    ends += [end for _, each in shown if adjusted for end in (each.adjusted_lower, each.adjusted_upper)]
    return any(end is None or not low <= end <= high for end in ends)


def _title(shown: Effects, what: str) -> str:
    each = "; ".join(
        f"{name} {'not seen' if effect.value is None else number(effect.value)} ({span(effect.lower, effect.upper)})"
        for name, effect in shown
    )
    return f"{what[0].upper()}{what[1:]} from one bound of each variable to the other, with intervals: {each}."
