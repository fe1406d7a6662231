"""Public. Releases as lines for a terminal."""

from __future__ import annotations

import math

from dpselect.assume.budget import about, plain
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.ledger.entries import Receipt
from dpselect.release.selection import Selection
from dpselect.report.public.facts import EstimateFact
from dpselect.report.public.numbers import number, span
from dpselect.report.public.words import choice_note, factor_text, price_text


def selection_lines(selection: Selection) -> list[tuple[str, str]]:
    """What to know about a choice, as names and values."""
    recipe, guarantee = selection.recipe, selection.guarantee
    lines = [
        ("guarantee", f"{guarantee} (odds change by a factor of at most {factor_text(guarantee.epsilon)})"),
        ("method", f"{recipe.method} by {recipe.mechanism}, among {recipe.candidates.count:,} models"),
        ("study", f"sha256 {recipe.study.hash[:16]}"),
    ]
    if math.isinf(selection.range):
        lines.append(("note", choice_note(selection.range)))
    receipt = selection.receipt
    if receipt is not None:
        lines.append(("charged", charge_line(receipt)))
    return lines


def analysis_lines(analysis: AnalysisRecord) -> list[tuple[str, str]]:
    """The same for an analysis: the whole price first, then its parts."""
    selection, estimate, whole = analysis.selection, analysis.coefficients, analysis.guarantee
    assert estimate is not None
    first, second = plain(selection.guarantee.epsilon), plain(estimate.guarantee.epsilon)
    lines = [
        ("guarantee", f"{whole} in all (odds change by a factor of at most {factor_text(whole.epsilon)})"),
        ("", f"epsilon {first} of it for the choice, {second} for the {estimate.kind.words.many}"),
        *[line for line in selection_lines(selection)[1:] if line[0] != "charged"],
    ]
    receipts = [each.receipt for each in analysis.releases if each.receipt]
    return [*lines, *(("" if k else "charged", charge_line(receipt)) for k, receipt in enumerate(receipts))]


def coefficient_rows(facts: EstimateFact) -> list[list[str]]:
    """One row a coefficient: name, value, interval, and the interval that counts the choice where there is one."""
    rows = []
    for each in facts.coefficients:
        one = each.coefficient
        from_size = "" if one.visible is None else f" (visible from {number(one.visible, 2)})"
        shown = number(one.value) if one.value is not None else f"not seen{from_size}"
        row = [each.name, shown, span(one.lower, one.upper)]
        rows.append([*row, span(one.adjusted_lower, one.adjusted_upper)] if facts.selected else row)
    return rows


def coefficient_columns(facts: EstimateFact) -> list[str]:
    """The head of that table."""
    return [
        "term",
        facts.one,
        f"{facts.level} interval",
        *(["counting the choice"] if facts.selected else []),
    ]


def estimate_remarks(facts: EstimateFact) -> list[str]:
    """What goes below that table: what was not seen, slopes one at a time, what is left unexplained, and cautions."""
    alone = [
        f"By itself: {each.name} {number(each.coefficient.value)} ({span(each.coefficient.lower, each.coefficient.upper)})."
        for each in facts.unadjusted
        if each.coefficient.value is not None
    ]
    fit = [facts.residual] if facts.residual else []
    if facts.quantity:
        quantity = facts.quantity
        fit = [
            f"{quantity.capitalize()} of {facts.subject}, a unit of each variable or a level against its reference; "
            f"of the intercept the {quantity}."
        ]
    unseen = [facts.unseen] if facts.unseen else []
    return [*unseen, *alone, *fit, *(f"Note: {caution}" for caution in facts.cautions)]


def charge_line(receipt: Receipt) -> str:
    """What a receipt says, in one line."""
    left = f"epsilon {about(receipt.remaining.epsilon)} left"
    return f"{price_text(receipt.epsilon, receipt.delta)} (record {receipt.index}; {left})"
