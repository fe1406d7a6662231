"""Public. The table of results as people read it: one row an effect, rounded to its error, in words and with its bar.

Everything that shows results takes its cells from here: the page, the terminal, `str`, the notebook, the studio and the exports.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median

from msgspec.structs import replace

from dpselect.assume.records import Public
from dpselect.assume.variables import Binary, Categorical
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.drawn import MAX_LOGARITHM, Direction
from dpselect.release.estimate import Estimate
from dpselect.release.tables import Effect, effects_of
from dpselect.report.numbers import (
    MIN_EFFECT,
    MIN_LOG_RATIO,
    TIMES,
    estimate_text,
    interval_place,
    interval_text,
    response_unit,
    rounded,
    steps_text,
    unit_power,
    unit_text,
    written,
)
from dpselect.report.phrases import HIDDEN_BY_NOISE, capitalized, clash, compared_with

ARROWS: dict[Direction | None, str] = {
    "up": "\N{BLACK UP-POINTING TRIANGLE}",
    "down": "\N{BLACK DOWN-POINTING TRIANGLE}",
    None: "",
}
MAX_HIDDEN = 5
"""Categories of one variable that are hidden by noise up to which each has a row; more share one."""
MAX_SPREAD = 1e150
"""Of a standard deviation that can be: an edited release may state any."""


class Bar(Public, frozen=True, kw_only=True):
    """An effect in the figure, on the scale that all of them share; of ratios their logarithms. `text` stands beside it."""

    value: float | None
    lower: float | None
    upper: float | None
    adjusted_lower: float | None
    adjusted_upper: float | None
    text: str


class Row(Public, frozen=True, kw_only=True):
    """One effect, or the variable that the categories below it belong to (then it has no bar).

    A variable of two categories is one row, a "pair". `folded` says that the effect stands in no row of its own: `names` of such
    effects share one. `direction` is what the selection said, or else the sign of a clear estimate.
    `note` says what is compared, `per` which step the
    number is for, and `clash` that selection and estimate disagree. `size` orders effects that can be compared.
    """

    term: str
    label: str
    stated: bool
    kind: str
    note: str
    direction: Direction | None
    effect: str
    per: str
    interval: str
    adjusted: str
    hidden: bool
    clash: str
    bar: Bar | None
    power: int = 0
    size: float | None = None
    folded: bool = False
    names: tuple[str, ...] = ()

    @property
    def level(self) -> bool:
        """Whether it is a category below its variable."""
        return self.kind == "category" and self.bar is not None

    @property
    def arrow(self) -> str:
        """Its direction as a sign."""
        return ARROWS[self.direction]


class Table(Public, frozen=True, kw_only=True):
    """All rows: variables of one column first, those that can be compared by size; then categories under their variable.

    `compared` says that the figure has steps of two standard deviations. `constant` is the constant of the model.
    """

    rows: tuple[Row, ...]
    constant: Row | None
    ratios: bool
    compared: bool
    adjusted: bool
    level: str
    one: str
    measure: str

    @property
    def head(self) -> str:
        """What its numbers are, at the head of their column."""
        return capitalized(self.measure)

    @property
    def effects(self) -> tuple[Row, ...]:
        """The rows that have a number, or none because noise hides it."""
        return tuple(row for row in self.rows if row.bar is not None)

    @property
    def shown(self) -> tuple[Row, ...]:
        """The rows that are drawn and printed: all but those that share one."""
        return tuple(row for row in self.rows if not row.folded)


def table_of(analysis: AnalysisRecord) -> Table | None:
    """The table of an analysis; None if nothing was estimated."""
    estimate = analysis.coefficients
    return None if estimate is None else estimate_table(estimate, analysis.selection.directions)


def estimate_table(estimate: Estimate, directions: Mapping[str, Direction | None] | None = None) -> Table:
    """The table of an estimate."""
    told = estimate.directions or directions or {}
    effects = effects_of(estimate.terms, estimate.study, told)
    spreads = {name: size for name, size in estimate.scales.items() if 0 < size < MAX_SPREAD}
    numeric = [each for each in effects if each.kind == "number"]
    # A term that noise hides altogether has no spread and no bar: the others can still be compared with one another.
    drawn = [each for each in numeric if each.conf_low is not None or each.conf_high is not None]
    compared = bool(drawn) and all(each.term in spreads for each in drawn)
    scale = response_scale(estimate)
    rows = [
        _row(each, estimate, scale, spreads.get(each.term) if each.kind == "number" else None, compared=compared)
        for each in effects
    ]
    single = [row for row in rows if row.kind not in ("category", "constant")]
    if compared:
        single.sort(key=lambda row: (row.kind == "product", row.hidden, -(row.size or 0.0)))
    return Table(
        rows=tuple(_labelled(single, estimate.kind.ratios) + _grouped(rows, effects)),
        constant=next((row for row in rows if row.kind == "constant"), None),
        ratios=estimate.kind.ratios,
        compared=compared,
        adjusted=estimate.selected,
        level=f"{100 * estimate.level:g}%",
        one=estimate.kind.words.one,
        measure=_measure(estimate),
    )


def response_scale(estimate: Estimate) -> float:
    """100 where effects are differences of chances, which are told in percentage points (`response_unit`); else 1."""
    return 100.0 if isinstance(estimate.study.response, Binary) and not estimate.kind.ratios else 1.0


def _measure(estimate: Estimate) -> str:
    """What the numbers of the table are, for its head."""
    words = estimate.kind.words
    if estimate.kind.ratios:
        return words.one
    return response_unit(estimate.study) or "effect"


def _widest_step(span: float | None, spread: float | None) -> float:
    """The largest step that a variable can sensibly take, which a scaled unit may not exceed.

    Two standard deviations, a typical low against a typical high value; else the stated range. Where nothing is known of its
    spread a unit stays what it is: nobody wants an effect per 10,000 years.
    """
    known = [step for step in (span, None if spread is None else 2 * spread) if step is not None]
    return min(known, default=1.0)


def _row(each: Effect, estimate: Estimate, scale: float, wide: float | None, *, compared: bool) -> Row:
    """One effect in words. A unit is scaled by tens where the effect is small; two deviations are one step in the figure."""
    ratios = estimate.kind.ratios
    spread = wide if compared else None
    number_like = each.kind == "number"
    kind = "pair" if each.kind == "category" and _is_pair(each, estimate) else each.kind
    ends = [each.estimate, each.conf_low, each.conf_high, each.adjusted_low, each.adjusted_high]
    sizes = [abs(end) * scale for end in ends[:3] if end is not None]
    size = sizes[0] if each.estimate is not None else max(sizes, default=0.0)
    power = (
        unit_power(size, _widest_step(each.span, wide), MIN_LOG_RATIO if ratios else MIN_EFFECT) if number_like else 0
    )
    value, low, high, wide_low, wide_high = (_times(end, scale * 10.0**power, ratios) for end in ends)
    step = 2 * spread if spread is not None else 10.0**power
    bar = [None if end is None else end * scale * step for end in ends]
    estimated = None if each.hidden or each.estimate is None else ("up" if each.estimate > 0 else "down")
    shown: Direction | None = each.direction or estimated  # type: ignore[assignment]
    disagree = each.direction is not None and estimated is not None and each.direction != estimated
    place = interval_place(value, low, high)
    return Row(
        term=each.term,
        label=_shown_label(each, kind),
        stated=each.stated or kind == "category",
        kind=kind,
        note=_note(each, kind, spread),
        direction=None if disagree else shown,
        effect=HIDDEN_BY_NOISE if each.hidden or value is None else _effect_text(value, low, high, ratios),
        per=f"per {unit_text(each.unit, power)}" if number_like else "",
        interval=interval_text(low, high, value, ratio=ratios),
        adjusted=interval_text(wide_low, wide_high, value, place, ratio=ratios) if estimate.selected else "",
        hidden=each.hidden,
        clash=clash(each.direction, estimated) if disagree and each.direction and estimated else "",  # type: ignore[arg-type]
        bar=Bar(
            value=None if each.hidden else bar[0],
            lower=bar[1],
            upper=bar[2],
            adjusted_lower=bar[3] if estimate.selected else None,
            adjusted_upper=bar[4] if estimate.selected else None,
            text="",
        ),
        power=power,
        size=None if bar[0] is None else abs(bar[0]),
    )


def _is_pair(each: Effect, estimate: Estimate) -> bool:
    """Whether the variable of a category has one other, its reference."""
    name = each.term.partition("[")[0]
    named = [one for one in estimate.study.predictors if one.name == name and isinstance(one, Categorical)]
    return any(len(one.categories) == 2 for one in named)


def _shown_label(each: Effect, kind: str) -> str:
    """What a row is called; a stated label begins with a capital letter, and without the article that sentences need."""
    called = each.category if kind == "category" and each.category else each.label
    return capitalized(called.removeprefix("the ")) if each.stated else called


def _times(end: float | None, factor: float, ratios: bool) -> float | None:
    if end is None:
        return None
    return math.exp(min(end * factor, MAX_LOGARITHM)) if ratios else end * factor


def _effect_text(value: float, low: float | None, high: float | None, ratios: bool) -> str:
    size = estimate_text(value, low, high, sign=not ratios, ratio=ratios)
    return f"{TIMES} {size}" if ratios else size


def _note(each: Effect, kind: str, spread: float | None) -> str:
    if kind in ("binary", "pair"):
        return compared_with("binary", each.category, each.reference)
    if spread is None:
        return ""
    return f"for {steps_text(2 * spread, each.unit)} (2 SD)"


def _labelled(rows: list[Row], ratios: bool) -> list[Row]:
    """The rows with the numbers of their bars, all with the same number of decimals."""
    clear = [row.bar for row in rows if row.bar is not None and row.bar.value is not None]
    if not clear:
        return rows
    shown = {id(bar): [_times(end, 1.0, ratios) for end in (bar.value, bar.lower, bar.upper)] for bar in clear}
    place = round(median(interval_place(*ends) for ends in shown.values()))
    found = []
    for row in rows:
        if row.bar is None or id(row.bar) not in shown:
            found.append(row)
            continue
        value = shown[id(row.bar)][0]
        assert value is not None
        text = written(rounded(value, place, ratio=ratios), sign=not ratios)
        found.append(replace(row, bar=replace(row.bar, text=f"{TIMES} {text}" if ratios else text)))
    return found


def _grouped(rows: list[Row], effects: tuple[Effect, ...]) -> list[Row]:
    """Categories below a row for their variable, in the order in which they were stated; many hidden ones share the last row."""
    groups: dict[str, list[tuple[Row, Effect]]] = {}
    for row, each in zip(rows, effects, strict=True):
        if row.kind == "category":
            groups.setdefault(each.term.partition("[")[0], []).append((row, each))
    found: list[Row] = []
    for name, group in groups.items():
        first = group[0][1]
        hidden = tuple(row.label for row, _ in group if row.hidden)
        fold = len(hidden) > MAX_HIDDEN
        title = capitalized(first.label) if first.stated else first.label
        found.append(
            _line(name, title, compared_with("category", first.category, first.reference), stated=first.stated)
        )
        found += [replace(row, folded=True) if fold and row.hidden else row for row, _ in group]
        if fold:
            found.append(
                _line(name, f"{len(hidden)} {'other ' if len(hidden) < len(group) else ''}categories", "", names=hidden)
            )
    return found


def _line(name: str, label: str, note: str, *, stated: bool = True, names: tuple[str, ...] = ()) -> Row:
    """A row without an effect of its own: the head of a group, or the categories that noise hides."""
    return Row(
        term=name,
        label=label,
        stated=stated,
        kind="category",
        note=note,
        direction=None,
        effect=HIDDEN_BY_NOISE if names else "",
        per="",
        interval="",
        adjusted="",
        hidden=bool(names),
        clash="",
        bar=None,
        names=names,
    )


def plain_cells(table: Table) -> tuple[list[str], list[list[str]]]:
    """The table as text: its head and its cells, for a terminal, Word, LaTeX and Markdown. A unit in the head stays as stated."""
    head = ["variable", table.measure, f"{table.level} interval"]
    head += ["adjusted for selection"] if table.adjusted else []
    head += ["per"]
    cells = []
    for row in table.shown:
        indent = "  " if row.level or row.names else ""
        arrow = f"{row.arrow} " if row.arrow else ""
        if row.names:
            cells.append([f"{indent}{row.label}", row.effect, *[""] * (len(head) - 2)])
            continue
        if row.bar is None:
            cells.append([f"{row.label} ({row.note})", *[""] * (len(head) - 1)])
            continue
        per = row.per.removeprefix("per ") or (row.note if row.kind in ("binary", "pair") else "")
        adjusted = [row.adjusted] if table.adjusted else []
        cells.append([f"{indent}{arrow}{row.label}", row.effect, row.interval, *adjusted, per])
    return head, cells
