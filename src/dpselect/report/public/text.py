"""Public. Releases as lines for a terminal."""

from __future__ import annotations

import math

from dpselect.assume.models.budget import plain
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.ledger.records import Receipt
from dpselect.release.selection import Selection
from dpselect.report.public.estimate_facts import estimate_facts
from dpselect.report.public.numbers import number, span
from dpselect.report.public.words import choice_note, factor_text, price_text


def selection_lines(selection: Selection) -> list[tuple[str, str]]:
    """What to know about a choice, as names and values."""
    recipe, guarantee = selection.recipe, selection.guarantee
    lines = [
        ("guarantee", f"{guarantee} (odds change by a factor of at most {factor_text(guarantee.epsilon)})"),
        ("method", f"{recipe.method} by {recipe.mechanism}, among {recipe.candidates.count:,} models"),
        ("assumptions", f"sha256 {recipe.assumptions.hash[:16]}"),
    ]
    if math.isinf(selection.range):
        lines.append(("note", choice_note(selection.range)))
    receipt = selection.receipt
    if receipt is not None:
        lines.append(("charged", charge_line(receipt)))
    return lines


def coefficient_rows(coefficients: Coefficients) -> list[list[str]]:
    """One row a coefficient: name, value, interval, and the interval that counts the choice where there is one."""
    facts = estimate_facts(coefficients)
    rows = []
    for each in facts.coefficients:
        one = each.coefficient
        shown = number(one.value) if one.value is not None else f"not seen (visible from {number(one.visible, 2)})"
        row = [each.name, shown, span(one.lower, one.upper)]
        rows.append([*row, span(one.wide_lower, one.wide_upper)] if facts.wide else row)
    return rows


def coefficient_columns(coefficients: Coefficients) -> list[str]:
    """The head of that table."""
    facts = estimate_facts(coefficients)
    return ["term", "coefficient", f"{facts.level} interval", *(["counting the choice"] if facts.wide else [])]


def charge_line(receipt: Receipt) -> str:
    """What a receipt says, in one line."""
    left = f"epsilon {plain(receipt.left.epsilon)} left"
    return f"{price_text(receipt.epsilon, receipt.delta)} (record {receipt.index}; {left})"
