"""Public. Names and values that come from files: whatever they hold, what is said about them is one line that can be printed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from dpselect.errors import AssumptionError

Level = str | int

LONGEST_NAME = 300
LONGEST_LEVEL = 1000
LARGEST_LEVEL = 2**53 - 1
"""Whole numbers up to here are told apart as doubles, in which every engine compares them."""
SHOWN = 120
"""Characters of a value that a message quotes, at most."""
_TURNING = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that turn the direction of a line, by which a name could pass for another."""


def is_printable(text: str) -> bool:
    """Whether a text is one line without control characters: no new line, escape, half of a character or turned direction."""
    return not any(unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") or each in _TURNING for each in text)


def check_name(name: object) -> None:
    """Refuse anything but a short line of text."""
    if not isinstance(name, str) or not name.strip():
        raise AssumptionError(f"A variable is named {shown(name)}; a name must be a non-empty string.")
    if len(name) > LONGEST_NAME:
        raise AssumptionError(
            f"The name {shown(name)} has {len(name):,} letters; the most is {LONGEST_NAME}: rename the column."
        )
    if not is_printable(name):
        raise AssumptionError(f"The name {shown(name)} holds characters that cannot be printed: rename the column.")


def shown(value: Any) -> str:
    """How a message quotes a value: as Python writes it, cut where it is long, and always on one line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a whole number of thousands of digits, or lists within lists
        text = f"a {type(value).__name__} that is too long to show"
    if len(text) > SHOWN:
        text = f"{text[:SHOWN]}..."
    return "".join(each if is_printable(each) else each.encode("unicode_escape").decode() for each in text)


def checked_levels(name: str, given: object) -> tuple[Level, ...]:
    """Levels that can be told apart in every engine: all text or all whole numbers, each once."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise AssumptionError(f"The levels of {name!r} must be a list of levels.")
    levels = tuple(given)
    texts = all(isinstance(level, str) for level in levels)
    wholes = all(isinstance(level, int) and not isinstance(level, bool) for level in levels)
    if not (texts or wholes):
        raise AssumptionError(f"The levels of {name!r} must be all strings or all whole numbers.")
    if wholes and not all(abs(int(level)) <= LARGEST_LEVEL for level in levels):
        raise AssumptionError(f"The levels of {name!r} must be below 2^53 in size: state larger ones as text.")
    if len(levels) < 2:
        raise AssumptionError(f"{name!r} has {len(levels)} level(s); it needs at least two.")
    for level in levels:
        if isinstance(level, str) and (len(level) > LONGEST_LEVEL or not _is_text(level)):
            raise AssumptionError(
                f"A level of {name!r} is {shown(level)}; it must be text of at most {LONGEST_LEVEL:,} letters."
            )
    if len(set(levels)) < len(levels):
        raise AssumptionError(f"The levels of {name!r} name one twice; name each once.")
    return levels


def _is_text(text: str) -> bool:
    """Whether a text can be written in UTF-8."""
    return not any("\ud800" <= each <= "\udfff" for each in text)
