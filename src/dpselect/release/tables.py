"""Public. Results as tables: plain rows, data frames, lines of text, and HTML for notebooks, where everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any, Literal, get_args

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical
from dpselect.errors import StudyError
from dpselect.release.drawn import Direction, Term
from dpselect.release.equations.findings import Amount
from dpselect.release.titles import column_titles, level_title, variable_title

FrameKind = Literal["plain", "pandas", "polars"]


def tidy_rows(
    terms: Sequence[Term], study: Study, directions: Mapping[str, Direction | None], *, ratios: bool
) -> list[dict[str, Any]]:
    """One row a term, in the words of R's broom; what could not be estimated has no estimate, and an unbounded end is None.

    `label` is what people call the variable and `category` what they call its category; the estimate is for one more `unit` of the
    variable. `direction` is what the selection said. `hidden` says that noise hides the term: it has no estimate, or its interval
    includes zero.
    """
    parts = {column.name: column.factors for column in study.columns}
    variables = {variable.name: variable for variable in study.predictors}
    titles = column_titles(study)
    rows = []
    for term in terms:
        factors, shown = parts.get(term.name, ()), term.exponential() if ratios else term
        variable = variables[factors[0].variable] if len(factors) == 1 else None
        level = factors[0].level if len(factors) == 1 else None
        numeric = variable is not None and not isinstance(variable, Categorical)
        rows.append(
            {
                "term": term.name,
                "label": titles.get(term.name, term.name) if variable is None else variable_title(variable),
                "category": None if variable is None or level is None else level_title(variable, level),
                "direction": directions.get(term.name),
                "estimate": shown.value,
                "std_error": shown.error,
                "conf_low": shown.lower,
                "conf_high": shown.upper,
                "adjusted_low": shown.adjusted_lower,
                "adjusted_high": shown.adjusted_upper,
                "unit": (variable.unit or None) if variable is not None and numeric else None,
                "hidden": term.hidden,
            }
        )
    return rows


def amount_columns(**named: Amount) -> dict[str, float | None]:
    """Each amount as three columns: itself and the ends of its interval."""
    return {
        f"{name}{end}": value
        for name, amount in named.items()
        for end, value in (("", amount.value), ("_low", amount.lower), ("_high", amount.upper))
    }


def framed(rows: list[dict[str, Any]], frame: FrameKind) -> Any:
    """The rows as a list of dictionaries, or as a data frame of a library that is installed."""
    if frame not in get_args(FrameKind):
        raise StudyError(f"frame is {frame!r}; it must be one of {', '.join(map(repr, get_args(FrameKind)))}.")
    if frame == "plain":
        return rows
    try:
        library = import_module(frame)
    except ImportError:
        raise StudyError(f"{frame} is not installed; install it, or leave frame out for plain rows.") from None
    return library.DataFrame({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})


def text_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells under each other: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, len(row)))]).rstrip()
        for row in rows
    ]


_CELL = "padding: 0.15em 0.8em 0.15em 0; border: none;"
_CAPTION = "caption-side: top; text-align: left; font-weight: bold; padding-bottom: 0.2em; white-space: nowrap;"


def html_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()) -> str:
    """A captioned table; the first column is text, the others are numbers if `head` names them."""
    parts = [f'<table style="border-collapse: collapse;"><caption style="{_CAPTION}">{escape(title)}</caption>']
    if head:
        parts.append(
            "<thead><tr>" + "".join(_cell("th", each, place) for place, each in enumerate(head)) + "</tr></thead>"
        )
    body = (
        "<tr>" + "".join(_cell("td", each, place if head else 0) for place, each in enumerate(row)) + "</tr>"
        for row in rows
    )
    parts.append(f"<tbody>{''.join(body)}</tbody></table>")
    parts += [f'<p style="margin: 0.2em 0; font-size: 90%;">{escape(note)}</p>' for note in notes]
    return "".join(parts)


def _cell(tag: str, text: str, place: int) -> str:
    return f'<{tag} style="{_CELL} text-align: {"right" if place else "left"};">{escape(text)}</{tag}>'
