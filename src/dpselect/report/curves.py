"""A chart of chances over a setting such as epsilon, as SVG: of models in a check, of what a plan expects in the studio."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpselect.report.figure import element, label, line, picture
from dpselect.report.numbers import number, significant

LETTERS = "ABCDEFGH"
"""What the lines of a chart are called."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Public. Where a chart's lines run: chances from 0 to 1 upwards, the setting's logarithm to the right."""

    left: float
    right: float
    top: float
    bottom: float
    low: float
    high: float

    def x(self, value: float) -> float:
        """The place of a setting."""
        share = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return self.left + share * (self.right - self.left)

    def y(self, chance: float) -> float:
        """The place of a chance."""
        return self.bottom - chance * (self.bottom - self.top)


def curve_chart(
    title: str,
    settings: Sequence[float],
    chances: Sequence[Sequence[float]],
    now: float,
    *,
    narrow: bool = False,
    what: str = "Chance of each model",
) -> str:
    """An SVG with one line a model; `now` is the setting in use, marked by a vertical line."""
    width, height = (360.0, 240.0) if narrow else (720.0, 280.0)
    frame = Frame(44.0, width - 30.0, 14.0, height - 44.0, settings[0], settings[-1])
    parts = [_grid(frame, settings, narrow), line(frame.x(now), frame.top, frame.x(now), frame.bottom, "zero")]
    # Lines may end in one point; their letters stand apart, and a letter is the only name a line has without colours.
    ends = _spread([frame.y(chance) for chance in chances[-1]], frame.bottom - 4)
    for place, height_at_end in enumerate(ends):
        points = [(frame.x(setting), frame.y(row[place])) for setting, row in zip(settings, chances, strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(element("polyline", points=path, class_=f"line s{place}"))
        if len(ends) > 1:
            parts.append(label(frame.right + 8, height_at_end + 4, LETTERS[place], f"letter t{place}"))
    parts.append(label((frame.left + frame.right) / 2, height - 6, title, "axis-name", "middle"))
    return picture(
        width,
        height,
        f"{what} against {title}; the table below has the numbers.",
        parts,
        "narrow" if narrow else "wide",
    )


def _grid(frame: Frame, settings: Sequence[float], narrow: bool) -> str:
    parts = []
    for percentage in (0, 25, 50, 75, 100):
        height = frame.y(percentage / 100)
        parts.append(line(frame.left, height, frame.right, height, "grid"))
        parts.append(label(frame.left - 6, height + 4, f"{percentage}%", "tick", "end"))
    for setting in settings[:: 2 if narrow else 1]:
        parts.append(label(frame.x(setting), frame.bottom + 18, number(significant(setting, 2)), "tick", "middle"))
    return "".join(parts)


def _spread(heights: Sequence[float], bottom: float, gap: float = 14.0) -> list[float]:
    """Heights moved apart upwards so that letters do not overlap, none below `bottom`."""
    placed = list(heights)
    room = bottom
    for place in sorted(range(len(heights)), key=lambda place: -heights[place]):
        placed[place] = min(heights[place], room)
        room = placed[place] - gap
    return placed
