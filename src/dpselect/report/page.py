"""Public. Results as people read them: a page, a card in a notebook, and lines of text for the terminal and for `str`.

The page is one HTML file that needs nothing else: no script, no network. A guard at its door lets public facts pass, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from dpselect.assume.budget import Guarantee, about
from dpselect.assume.records import Public
from dpselect.assume.subgroup import subgroup_words
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.estimate import Estimate
from dpselect.release.selection import Selection
from dpselect.release.tables import result_html, result_text
from dpselect.report import phrases
from dpselect.report.answer import fit_words, hidden_words, interval_limits
from dpselect.report.facts import Facts, facts_of
from dpselect.report.figure import axis_cell, axis_of, row_cell, runs_out
from dpselect.report.numbers import number
from dpselect.report.phrases import Words
from dpselect.report.table import Table, estimate_table, plain_cells

if TYPE_CHECKING:
    from jinja2 import Environment

LINE_LENGTH = 100
"""Columns that lines are made for."""

_PLAIN = (str, int, float, bool, type(None))


def report_page(analysis: AnalysisRecord) -> str:
    """The public page of an analysis."""
    return render_public(facts_of(analysis))


def render_public(facts: Facts) -> str:
    """The public template, filled with public facts and nothing else."""
    require_public(facts)
    return render("report.html.j2", facts=facts, drawn=drawings(facts.table))


def require_public(value: Any) -> None:
    """Refuse a value that is not plain, not a tuple of such, and not a public record of such.

    A class of another kind, an array, moments, scores or a data frame is a programming error, and it is named by its type alone.
    The type is the mark, so that a program without docstrings (python -OO) draws the same line.

    Tested: tests/report/test_guard.py
    """
    if type(value) in _PLAIN:
        return
    if type(value) is tuple:
        for each in value:
            require_public(each)
        return
    kind = type(value)
    if issubclass(kind, Public):
        for name in kind.__struct_fields__:
            require_public(getattr(value, name))
        return
    raise TypeError(f"A {kind.__name__} may not reach a public page: only public facts made of plain values may.")


def effects_card(analysis: AnalysisRecord) -> str:
    """An analysis for a notebook: the answer, and the table of effects with its figure."""
    facts = facts_of(analysis)
    require_public(facts)
    return render("card.html.j2", facts=facts, table=facts.table, drawn=drawings(facts.table))


def estimate_card(estimate: Estimate) -> str:
    """The same for an estimate alone."""
    table = estimate_table(estimate)
    require_public(table)
    return render("card.html.j2", facts=None, table=table, drawn=drawings(table), title=estimate.formula)


def drawings(table: Table | None) -> dict[str, Any]:
    """The drawings of a table: its axis, and the bar of each of its rows."""
    if table is None or not table.effects:
        return {"axis": "", "bars": {}, "arrows": False}
    axis = axis_of(table)
    bars = {row.term: row_cell(row, axis, adjusted=table.adjusted) for row in table.effects}
    return {"axis": axis_cell(axis), "bars": bars, "arrows": runs_out(table, axis)}


def render(template: str, **values: Any) -> str:
    """A template of this package, with everything escaped and an undefined name an error."""
    return environment().get_template(template).render(**values)


@cache
def environment() -> Environment:
    """Jinja, set up once."""
    from jinja2 import DictLoader, Environment, StrictUndefined
    from markupsafe import Markup

    folder = files("dpselect.report") / "templates"
    texts = {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir() if each.is_file()}
    made = Environment(
        loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )

    def breakable(name: str) -> Markup:
        return Markup("_<wbr>").join(Markup.escape(part) for part in name.split("_"))

    def sentence(words: Words) -> Markup:
        tags = {"name": "strong", "code": "code", "": ""}
        found = Markup("")
        for text, kind in words:
            tag = tags[kind]
            found += Markup(f"<{tag}>{{}}</{tag}>").format(breakable(text)) if tag else Markup.escape(text)
        return found

    made.filters["number"] = number
    made.filters["drawing"] = Markup  # only for text that report/figure.py made, which escapes what it is given
    made.filters["breakable"] = breakable
    made.filters["sentence"] = sentence
    made.filters["in_script"] = lambda text: Markup(text.replace("<", "\\u003c"))
    return made


def analysis_lines(analysis: AnalysisRecord) -> list[str]:
    """An analysis: the answer, the table of effects or the directions, and what it cost."""
    facts = facts_of(analysis)
    lines = [*wrap(facts.summary, LINE_LENGTH), ""]
    if facts.table is not None and facts.table.effects:
        lines += [*effect_lines(facts.table), ""]
    elif facts.selected:
        lines += [*direction_lines(facts), ""]
    notes = [*facts.category_directions, *(sentence for _, sentence in facts.clashes)]
    if facts.considered and facts.selected:
        notes.append(f"Considered, not selected: {phrases.names_with_more([each.title for each in facts.considered])}.")
    notes.append(facts.companions)
    notes += [facts.small or facts.missed.removeprefix("This does not show that they have no effect. "), facts.weights]
    lines += [line for note in notes if note for line in wrap(note, LINE_LENGTH)]
    lines += wrap(closing_line(analysis, facts), LINE_LENGTH)
    return [line.replace("ε = ", "epsilon ") for line in lines]


def closing_line(analysis: AnalysisRecord, facts: Facts) -> str:
    """Rows, fit and cost in one line."""
    cards = {name: (value, note) for name, value, note in facts.cards}
    only = analysis.selection.study.only
    whom = "" if only is None else f" with {subgroup_words(only)}"
    rows = f"{cards['Rows'][0]} rows{whom}{' expected to count' if analysis.selection.study.weights else ''}."
    parts = [] if cards["Rows"][0] == "not public" else [rows[:1].upper() + rows[1:]]
    if "Variance explained" in cards:
        value, note = cards["Variance explained"]
        parts.append(
            f"Variance explained {value} ({note})." if note[-1] == "%" else "Variance explained (R²): hidden by noise."
        )
    parts.append(f"Privacy: {_cost(analysis.guarantee)}.")
    if (receipt := analysis.releases[-1].receipt) is not None:
        left = receipt.remaining.epsilon
        parts.append(phrases.remaining_budget(f"epsilon {about(left)}" if left else ""))
    return " ".join(parts)


def _cost(guarantee: Guarantee) -> str:
    """A privacy cost and its strength: epsilon 1, delta 1e-6 (strong)."""
    epsilon, delta = guarantee.epsilon, guarantee.delta
    return f"{phrases.cost_text(epsilon, delta)} ({phrases.strength(epsilon, delta)})"


def effect_lines(table: Table) -> list[str]:
    """The table of effects."""
    head, cells = plain_cells(table)
    return aligned([head, *cells])


def direction_lines(facts: Facts) -> list[str]:
    """Which variables go up, which down, and which have no clear direction."""
    said = []
    for way, name in (("up", "up"), ("down", "down"), (None, "")):
        titles = [each.title for each in facts.selected if each.direction == way]
        lines = wrap(", ".join(titles), LINE_LENGTH - 8)
        said += [f"  {name if not place else '':4}  {line}" for place, line in enumerate(lines)]
    return said


def estimate_lines(estimate: Estimate) -> list[str]:
    """An estimate by itself."""
    table = estimate_table(estimate)
    lines = [estimate.formula, *(["", *effect_lines(table)] if table.effects else [])]
    constant = table.constant
    if constant is not None:
        lines.append(
            f"constant: {constant.interval if constant.hidden else f'{constant.effect} ({constant.interval})'}"
        )
    hidden = [row for row in table.effects if row.hidden]
    notes = [" ".join(hidden_words(hidden, table))] if hidden else []
    notes += [*fit_words(estimate), *(" ".join(point) for point in interval_limits(estimate))]
    lines += [line for note in notes for line in wrap(note, LINE_LENGTH)]
    return [*lines, f"Privacy: {_cost(estimate.guarantee)}."]


def selection_lines(selection: Selection) -> list[str]:
    """A selection by itself."""
    told = selection.directions
    ways = [f"{name} {way}" for name, way in told.items() if way is not None]
    levels = {
        column.name for column in selection.study.columns if any(each.level is not None for each in column.factors)
    }
    named = any(name in levels for name, way in told.items() if way is not None)
    against = f" (a category: against {phrases.direction_against(selection.recipe.votes)})" if named else ""
    listed = phrases.plain(phrases.list_of([phrases.text(way) for way in ways]))
    lines = [selection.formula, *([f"directions: {listed}{against}"] if ways else [])]
    if selection.study.only is not None:
        lines.append(f"describes: rows with {subgroup_words(selection.study.only)}")
    whom = " for persons" if selection.study.person is not None else ""
    return [*lines, f"privacy: {_cost(selection.guarantee)}{whom}"]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells under each other: the first and the last column to the left, numbers to the right."""
    last = len(rows[0]) - 1
    full = [row for row in rows if any(row[1:])]  # the line of a variable with categories may be long
    widths = [max(len(row[i]) for row in full) for i in range(last + 1)]
    return [
        "  "
        + "  ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, last)), row[last]]).rstrip()
        for row in rows
    ]


@result_text.register
def _(result: AnalysisRecord) -> str:
    return "\n".join(analysis_lines(result))


@result_text.register
def _(result: Estimate) -> str:
    return "\n".join(estimate_lines(result))


@result_text.register
def _(result: Selection) -> str:
    return "\n".join(selection_lines(result))


@result_html.register
def _(result: AnalysisRecord) -> str:
    return effects_card(result)


@result_html.register
def _(result: Estimate) -> str:
    return estimate_card(result)


@result_html.register
def _(result: Selection) -> str:
    return effects_card(AnalysisRecord(title="", made="", selection=result, coefficients=None))
