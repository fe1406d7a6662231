"""Public. How an analysis divides epsilon between the choice and the coefficients, from public facts alone."""

from __future__ import annotations

from dpselect.assume.models.budget import Price, exact_epsilon

ENOUGH = 300
"""Votes are nearly always right where rows times epsilon is so many times .69 columns + 1 (docs/ESTIMATES.md)."""

MOST, LEAST = 35, 15
"""Hundredths of epsilon for a choice by votes: more helps it little and costs the coefficients much; less saves them little."""


def default_split(method: str, *, rows: int | None, columns: int, epsilon: Price) -> tuple[int, int]:
    """Shares of epsilon for the choice and for the coefficients.

    The scores of the paper need three fifths for the choice. Votes need less: as much as makes them nearly certain, at most
    35 hundredths. `rows` is a public number, or None where there is none.
    """
    if method != "votes":
        return (3, 2)
    if rows is None or rows < 1:
        return (MOST, 100 - MOST)
    needed = 100 * ENOUGH * (0.69 * columns + 1) / (rows * float(exact_epsilon(epsilon)))
    share = min(max(round(needed), LEAST), MOST)
    return (share, 100 - share)
