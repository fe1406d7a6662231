"""Public. A release as a small HTML table, for notebooks; everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_CELL = "padding: 0.15em 0.8em 0.15em 0; border: none;"


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


_CAPTION = "caption-side: top; text-align: left; font-weight: bold; padding-bottom: 0.2em; white-space: nowrap;"


def _cell(tag: str, text: str, place: int) -> str:
    return f'<{tag} style="{_CELL} text-align: {"right" if place else "left"};">{escape(text)}</{tag}>'
