"""Public. The report as one HTML file that needs nothing else: no script, no network; and the guard at its door."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dpselect.assume.records import Public
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.estimate import Estimate
from dpselect.report.facts import Facts, facts_of
from dpselect.report.figure import axis_cell, axis_of, row_cell, runs_out
from dpselect.report.numbers import number
from dpselect.report.phrases import Words
from dpselect.report.table import Table, estimate_table

if TYPE_CHECKING:
    from jinja2 import Environment

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
    made.filters["drawing"] = Markup  # only for text that report/drawing.py made, which escapes what it is given
    made.filters["breakable"] = breakable
    made.filters["sentence"] = sentence
    made.filters["in_script"] = lambda text: Markup(text.replace("<", "\\u003c"))
    return made
