"""Public. The forest plot: each effect with its interval, on one axis in the response's units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpselect.report.facts import CoefficientFact
from dpselect.report.numbers import number, ticks
from dpselect.report.svg import element, label, line, picture


@dataclass(frozen=True, slots=True)
class Axis:
    """Public. A linear map from values to places."""

    low: float
    high: float
    left: float
    right: float

    def at(self, value: float) -> float:
        """The place of a value, held inside the picture."""
        inside = min(max(value, self.low), self.high)
        return self.left + (inside - self.low) / (self.high - self.low) * (self.right - self.left)


def forest_plot(coefficients: Sequence[CoefficientFact], unit: str, *, narrow: bool = False) -> str:
    """An SVG of every coefficient that has an effect; empty if none has one."""
    shown = [each for each in coefficients if each.effect is not None]
    if not shown:
        return ""
    names = [_short(each.name) for each in shown]
    room = 24.0 + 7.6 * max(map(len, names))
    width, left, row = (360.0, 14.0, 46.0) if narrow else (720.0, max(room, 90.0), 34.0)
    axis = Axis(*_span(shown), left, width - 16.0)
    top, bottom = 10.0, 10.0 + row * len(shown)
    parts = [_grid(axis, top, bottom, narrow), line(axis.at(0), top, axis.at(0), bottom, "zero")]
    for place, each in enumerate(shown):
        parts.append(_row(each, axis, top + row * place, row, narrow))
    parts.append(label((axis.left + axis.right) / 2, bottom + 38, f"change in {unit}", "axis-name", "middle"))
    return picture(width, bottom + 48, _title(shown, unit), parts, "narrow" if narrow else "wide")


def _span(shown: Sequence[CoefficientFact]) -> tuple[float, float]:
    """An axis that holds zero and every interval, unless one interval is wild: then the others stay readable."""
    ends = [abs(end) for each in shown for end in (each.effect_lower or 0.0, each.effect_upper or 0.0)]
    finite = sorted(end for end in ends if math.isfinite(end))
    limit = min(finite[-1], 4 * finite[len(finite) // 2]) if finite else 1.0
    values = [0.0, *(each.effect or 0.0 for each in shown)]
    values += [min(max(end or 0.0, -limit), limit) for each in shown for end in (each.effect_lower, each.effect_upper)]
    low, high = min(values), max(values)
    room = 0.04 * (high - low) or 1.0
    return low - room, high + room


def _short(name: str, most: int = 32) -> str:
    """A name that fits beside the axis; the table and the alternative text have it whole."""
    return name if len(name) <= most else f"{name[: most - 8]}…{name[-7:]}"


def _grid(axis: Axis, top: float, bottom: float, narrow: bool) -> str:
    parts = []
    for value in ticks(axis.low, axis.high, 5 if narrow else 8):
        parts.append(line(axis.at(value), top, axis.at(value), bottom, "grid"))
        parts.append(label(axis.at(value), bottom + 18, number(value), "tick", "middle"))
    return "".join(parts)


def _row(each: CoefficientFact, axis: Axis, top: float, height: float, narrow: bool) -> str:
    middle = top + (height - 12 if narrow else height / 2)
    name = (
        label(axis.left, top + 16, _short(each.name))
        if narrow
        else label(axis.left - 14, middle + 4, _short(each.name), anchor="end")
    )
    low, high = axis.at(each.effect_lower or 0.0), axis.at(each.effect_upper or 0.0)
    caps = line(low, middle - 5, low, middle + 5, "interval") + line(high, middle - 5, high, middle + 5, "interval")
    point = element("circle", cx=axis.at(each.effect or 0.0), cy=middle, r=5, class_="point")
    return name + line(low, middle, high, middle, "interval") + caps + point


def _title(shown: Sequence[CoefficientFact], unit: str) -> str:
    each = "; ".join(
        f"{one.name} {number(one.effect or 0)} ({number(one.effect_lower or 0)} to {number(one.effect_upper or 0)})"
        for one in shown
    )
    return f"Change in {unit} from one bound of each variable to the other, with intervals: {each}."
