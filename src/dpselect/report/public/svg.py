"""Drawing as text: a few SVG elements, coloured by the page's style sheet so that they follow dark, light and print."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


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
