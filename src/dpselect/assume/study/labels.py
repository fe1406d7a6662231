"""Public. What people call a variable: its label, its unit, and the reason for what is stated about it.

They change no number. They are part of the statement wherever they are given, so a report cannot say other words than were hashed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dpselect.errors import AssumptionError

WORDS = ("label", "unit", "reason")
LONGEST = 300
"""Letters of a label, a unit or a reason, at most: they stand in tables and beside axes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """Public. Words beside a statement; each may be left out."""

    label: str = field(default="", repr=False)
    unit: str = field(default="", repr=False)
    reason: str = field(default="", repr=False)


def check_words(name: str, stated: Described) -> None:
    """Refuse words that are not one short line of text."""
    for what in WORDS:
        _check_text(f"The {what} of {name!r}", getattr(stated, what))


def checked_level_labels(name: str, given: object, levels: int) -> tuple[str, ...]:
    """One label a level, or none at all."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise AssumptionError(f"The level_labels of {name!r} must be a list of texts, one a level.")
    labels = tuple(given)
    if labels and len(labels) != levels:
        raise AssumptionError(f"{name!r} has {len(labels)} level_labels for {levels} levels; give one a level.")
    for label in labels:
        _check_text(f"A level label of {name!r}", label)
        if labels.count(label) > 1:
            raise AssumptionError(f"Two levels of {name!r} are labelled {label!r}; label each differently.")
    return labels


def said_words(stated: Described) -> dict[str, Any]:
    """What was said, for a dictionary; what was not is left out, so that older statements keep their hash."""
    return {what: getattr(stated, what) for what in WORDS if getattr(stated, what)}


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise AssumptionError(f"{what} is {text!r}; it must be text.")
    if not text.isprintable() or len(text) > LONGEST:
        raise AssumptionError(f"{what} must be one line of at most {LONGEST} letters; make it shorter.")
