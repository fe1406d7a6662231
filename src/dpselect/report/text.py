"""Public. Releases as lines for a terminal."""

from __future__ import annotations

from dpselect.assume.budget import plain
from dpselect.release.selection import Selection
from dpselect.report.words import factor_text, price_text


def selection_lines(selection: Selection) -> list[tuple[str, str]]:
    """What to know about a choice, as names and values."""
    recipe, guarantee = selection.recipe, selection.guarantee
    lines = [
        ("guarantee", f"{guarantee} (odds change by a factor of at most {factor_text(guarantee.epsilon)})"),
        ("method", f"{recipe.method} by {recipe.mechanism}, among {recipe.candidates.count:,} models"),
        ("assumptions", f"sha256 {recipe.assumptions.hash[:16]}"),
    ]
    receipt = selection.receipt
    if receipt is not None:
        left = f"epsilon {plain(receipt.left.epsilon)} left"
        lines.append(("charged", f"{price_text(receipt.epsilon, receipt.delta)} (record {receipt.index}; {left})"))
    return lines
