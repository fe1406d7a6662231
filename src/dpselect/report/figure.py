"""Public. The figure of a report: each effect with its interval on one axis, in the cells of the table and as one drawing.

A cell is drawn in shares of its width, so that one drawing serves a wide page, a phone and paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from dpselect.report.facts import Facts
from dpselect.report.numbers import MINUS, TIMES, number, ratio_ticks, ticks
from dpselect.report.table import Bar, Row, Table

WILD = 12
"""How many times as far from zero as the middle one of all ends one must lie to be cut, so that the others stay readable."""
MAX_LOG_RATIO = math.log(1000)
"""The axis of ratios ends here: an interval that goes on says nothing that can be read off a figure."""
LETTER = 0.03
"""The share of the width that a letter of a bar's number takes, so that it is put where it has room."""
TICKS_APART = 0.16
"""The share of the width that two names on the axis need between them."""
SHORT = 0.03
"""An interval shorter than this share of the width is drawn as a point in its color."""
NEAR_END = 0.92
"""Beyond this share of the width the name of a tick has no room to its right."""
MAX_LABEL = 36
"""Letters of a label in the drawing; the table has it whole."""
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; fill: #1b2330; }
.soft { fill: #556070; font-size: 12px; } .name { font-weight: 600; } .title { font-weight: 600; font-size: 15px; }
.grid { stroke: #e6e9ef; } .zero { stroke: #556070; } .ci { stroke-width: 8; } .adj { stroke-width: 1.5; }
.s-up { stroke: #0b66a3; } .s-down { stroke: #b1480c; } .s-none { stroke: #1b2330; }
.s-hidden { stroke: #6d7683; stroke-width: 2; stroke-dasharray: 2 4; stroke-linecap: round; fill: none; }
.head { stroke-dasharray: none; fill: none; } circle { fill: #fff; } .t-up { fill: #0b66a3; } .t-down { fill: #b1480c; }
.t-up, .t-down, .t-none { font-weight: 600; }
"""


@dataclass(frozen=True, slots=True)
class Axis:
    """Public. From values to shares of the width; of ratios the values are logarithms."""

    low: float
    high: float
    ratios: bool

    def at(self, value: float) -> float:
        """The share of the width where a value lies, held inside."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round values with their names; zero, or a ratio of 1, is among them."""
        if self.ratios:
            found = sorted(
                ratio_ticks(math.exp(self.low), math.exp(self.high), 5), key=lambda value: abs(math.log(value))
            )
            kept: list[float] = []  # from 1 outwards, where there is room
            for value in map(math.log, found):
                if all(abs(self.at(value) - self.at(other)) > TICKS_APART for other in kept):
                    kept.append(value)
            return [(value, f"{TIMES} {number(math.exp(value))}") for value in sorted(kept)]
        return [(value, _tick(value)) for value in ticks(self.low, self.high, 6)]


def axis_of(table: Table) -> Axis:
    """An axis that holds zero and every interval, unless one interval is wild: then the others stay readable."""
    bars = _bars(table)
    ends = sorted(abs(end) for bar in bars for end in _ends(bar))
    limit = min(ends[-1], WILD * ends[len(ends) // 2]) if ends else 1.0
    values = [0.0, *(bar.value for bar in bars if bar.value is not None)]
    values += [min(max(end, -limit), limit) for bar in bars for end in _ends(bar)]
    low, high = min(values), max(values)
    if table.ratios:
        low, high = max(min(low, -math.log(1.2)), -MAX_LOG_RATIO), min(max(high, math.log(1.2)), MAX_LOG_RATIO)
    room = 0.05 * (high - low) or 1.0
    return Axis(low - room, high + room, table.ratios)


def _bars(table: Table) -> list[Bar]:
    return [row.bar for row in table.shown if row.bar is not None]


def _ends(bar: Bar) -> list[float]:
    return [end for end in (bar.lower, bar.upper, bar.adjusted_lower, bar.adjusted_upper) if end is not None]


def runs_out(table: Table, axis: Axis) -> bool:
    """Whether some interval goes on beyond the figure: it has an unbounded end, or one that was cut."""
    bars = _bars(table)
    ends = [end for bar in bars for end in (bar.lower, bar.upper)]
    ends += [end for bar in bars if table.adjusted for end in (bar.adjusted_lower, bar.adjusted_upper)]
    return any(end is None or not axis.low <= end <= axis.high for end in ends)


def axis_cell(axis: Axis) -> str:
    """The names of the ticks, for the head of the table."""
    parts = [
        element("text", name, x=_share(axis.at(value)), y=12, class_="tick", text_anchor=_anchor(axis.at(value)))
        for value, name in axis.ticks
    ]
    return element("svg", "".join(parts), width="100%", height="16", aria_hidden="true")


def _anchor(share: float) -> str:
    """The name of a tick ends where it would stand out of the figure, in the next column of the table."""
    return "end" if share > NEAR_END else "middle"


def row_cell(row: Row, axis: Axis, *, adjusted: bool) -> str:
    """The bar of a row; what it shows is also in the row's cells, so readers of the screen hear it there."""
    return element("svg", _bar(row, axis, adjusted), width="100%", height="100%", aria_hidden="true")


def _bar(row: Row, axis: Axis, adjusted: bool) -> str:
    bar = row.bar
    assert bar is not None
    kind = "hidden" if bar.value is None else row.direction or "none"
    parts = [_upright(axis.at(value), "grid") for value, _ in axis.ticks]
    parts.append(_upright(axis.at(0.0), "zero"))
    if bar.value is None:
        parts.append(_whisker(axis, bar.lower, bar.upper, "s-hidden", kind))
        return "".join(parts)
    outer = (bar.adjusted_lower, bar.adjusted_upper) if adjusted else (bar.lower, bar.upper)
    if adjusted:
        parts.append(_whisker(axis, *outer, f"adj s-{kind}", kind))
    parts.append(_whisker(axis, bar.lower, bar.upper, f"ci s-{kind}", kind, heads=not adjusted))
    ends = [
        axis.at(axis.low if bar.lower is None else bar.lower),
        axis.at(axis.high if bar.upper is None else bar.upper),
    ]
    short = ends[1] - ends[0] < SHORT  # a white point would cover all of such an interval
    point = {"class_": f"t-{kind}", "r": 3.2} if short else {"r": 2.2}
    parts.append(element("circle", cx=_share(axis.at(bar.value)), cy="50%", **point))
    if bar.text:
        ends = [axis.low if outer[0] is None else outer[0], axis.high if outer[1] is None else outer[1]]
        side = _side(axis.at(ends[0]), axis.at(ends[1]), axis.at(0.0), LETTER * (len(bar.text) + 1))
        if side is not None:  # else the bar fills the figure, and the number stands beside it in the table alone
            x, anchor, dx = side
            parts.append(
                element(
                    "text", bar.text, x=_share(x), y="50%", dx=dx, dy="0.36em", class_=f"t-{kind}", text_anchor=anchor
                )
            )
    return "".join(parts)


def _side(left: float, right: float, zero: float, width: float) -> tuple[float, str, int] | None:
    """Where a bar's number stands: to the right or left of it, where there is room, rather not across the line of zero."""
    places = {"start": (right, right + width), "end": (left - width, left)}
    room = {anchor: ends for anchor, ends in places.items() if ends[0] >= 0 and ends[1] <= 1}
    if not room:
        return None
    anchor = min(room, key=lambda each: room[each][0] < zero < room[each][1])
    return (right, anchor, 7) if anchor == "start" else (left, anchor, -7)


def _share(share: float) -> str:
    return f"{100 * share:.2f}%"


def _upright(share: float, kind: str) -> str:
    return element("line", x1=_share(share), y1="0%", x2=_share(share), y2="100%", class_=kind)


def _whisker(
    axis: Axis, lower: float | None, upper: float | None, kind: str, colour: str, *, heads: bool = True
) -> str:
    """A line, with an arrowhead at an end where it goes on beyond the figure."""
    low, high = axis.low if lower is None else lower, axis.high if upper is None else upper
    parts = [element("line", x1=_share(axis.at(low)), y1="50%", x2=_share(axis.at(high)), y2="50%", class_=kind)]
    for end, inside, path in (
        (lower, low >= axis.low, "M7,-5 L0,0 L7,5"),
        (upper, high <= axis.high, "M-7,-5 L0,0 L-7,5"),
    ):
        if heads and (end is None or not inside):
            place = "0%" if path.startswith("M7") else "100%"
            head = element("path", d=path, class_=f"head s-{colour}")
            parts.append(element("svg", head, x=place, y="50%", overflow="visible", aria_hidden="true"))
    return "".join(parts)


def effects_figure(facts: Facts) -> str:
    """The figure by itself, as an SVG file: labels, bars and numbers in columns."""
    table = facts.table
    if table is None or not table.effects:
        return _directions_figure(facts)
    axis, left, plot, gap, height = axis_of(table), 250.0, 300.0, 24.0, 34.0
    columns = (left + plot + gap, left + plot + gap + 130)
    width, top = columns[1] + 190, 76.0
    heads = [(8.0, "Selected variable"), (columns[0], table.head), (columns[1], f"{table.level} interval")]
    parts = [element("style", STYLE), element("rect", width=width, height="100%", fill="#ffffff")]
    parts.append(label(8, 24, _cut(facts.title, 88), "title"))
    parts += [label(x, 58, words, "soft") for x, words in heads]
    parts.append(label(left, 44, f"{table.head}, low to high value (2 SD)" if table.compared else table.head, "soft"))
    for value, name in axis.ticks:
        parts.append(label(left + plot * axis.at(value), 66, name, "soft", "middle"))
    for place, row in enumerate(table.shown):
        parts.append(_line(row, table, axis, top + height * place, (left, plot, *columns), height))
    bottom = top + height * len(table.shown)
    parts.append(label(8, bottom + 24, _key(table, runs_out(table, axis)), "soft"))
    return picture(width, bottom + 38, figure_title(table), parts, "effects")


def _line(row: Row, table: Table, axis: Axis, top: float, places: tuple[float, ...], height: float) -> str:
    left, plot, effect, interval = places
    middle = top + height / 2
    name = f"{row.arrow} {_cut(row.label)}" if row.arrow else _cut(row.label)
    if row.names:
        return label(22, middle + 5, name, "") + label(effect, middle + 5, row.effect, "soft")
    if row.bar is None:
        return label(8, middle + 5, f"{name}, {row.note}", "name")
    parts = [label(22 if row.level else 8, middle + (5 if not row.note else -2), name, "" if row.level else "name")]
    if row.note:
        parts.append(label(8, middle + 12, _cut(row.note, 42), "soft"))
    parts.append(
        element("svg", _bar(row, axis, table.adjusted), x=left, y=top, width=plot, height=height, overflow="visible")
    )
    kind = "soft" if row.hidden else f"t-{row.direction or 'none'}"
    parts.append(label(effect, middle + (-2 if row.per else 5), row.effect, kind))
    if row.per:
        parts.append(label(effect, middle + 12, row.per, "soft"))
    return "".join([*parts, label(interval, middle + 5, row.interval, "")])


def _directions_figure(facts: Facts) -> str:
    """What was selected, where nothing was estimated: one line a variable with its direction."""
    lines = facts.selected
    parts = [element("style", STYLE), element("rect", width="100%", height="100%", fill="#ffffff")]
    parts.append(label(8, 24, _cut(facts.title, 72), "title"))
    if not lines:
        parts.append(label(8, 56, "No variable was selected.", ""))
    for place, each in enumerate(lines):
        parts.append(label(8, 56 + 26 * place, f"{each.arrow or MINUS} {_cut(each.title, 60)}", "name"))
    return picture(620, 70 + 26 * max(len(lines), 1), facts.summary, parts, "effects")


def _key(table: Table, arrows: bool) -> str:
    said = [f"Thick: {table.level} interval."]
    said += ["Thin: adjusted for selection."] if table.adjusted else []
    said += ["Dashed: hidden by noise."] if any(row.hidden for row in table.effects) else []
    said += ["An arrow: it goes on beyond the figure."] if arrows else []
    return " ".join(said)


def _cut(name: str, most: int = MAX_LABEL) -> str:
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}…"


def figure_title(table: Table) -> str:
    """The figure in words, for those who cannot see it."""
    each = "; ".join(
        f"{row.label} {row.effect}{f' {row.per}' if row.per else ''} ({row.interval})" for row in table.effects
    )
    return f"{table.head} of each selected variable with its {table.level} interval: {each}."


def _tick(value: float) -> str:
    """The label of a tick: with its sign, and thousands separated as in the table beside it."""
    whole = value == round(value) and 1000 <= abs(value) < 1e9
    text = f"{value:,.0f}".replace("-", MINUS) if whole else number(value)
    return f"{'+' if value > 0 else ''}{text}"


def element(name: str, content: str = "", /, **attributes: str | float) -> str:
    """One element; a trailing underscore is dropped from a name and the others become hyphens."""
    parts = [f'{key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items()]
    opened = " ".join([name, *parts])
    return f"<{opened}>{content}</{name}>" if content else f"<{opened}/>"


def _value(value: str | float) -> str:
    return escape(value, quote=True) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def label(x: float, y: float, text: str, kind: str = "label", anchor: str = "start") -> str:
    """A piece of text; the anchor is start, middle or end."""
    return element("text", escape(text), x=x, y=y, class_=kind, text_anchor=anchor)


def picture(width: float, height: float, title: str, parts: Iterable[str], kind: str) -> str:
    """The whole drawing with its alternative text."""
    content = element("title", escape(title)) + "".join(parts)
    return element(
        "svg",
        content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        aria_label=title,
        class_=kind,
    )
