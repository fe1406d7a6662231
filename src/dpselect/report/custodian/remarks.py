"""Custodian's eyes only. The fit of rows and assumptions, and what would be chosen, as lines for a terminal."""

from __future__ import annotations

from dpselect.rehearse.check.fit import Fit, VariableFit

WATERMARK = "custodian only, not for release"
OFTEN = 0.05
"""A share of clipped cells above which the bounds deserve a second look."""


def share(count: int, rows: int) -> str:
    """A count as a share people read: 0, 3 of 97 (3.1%)."""
    return "0" if count == 0 else f"{count:,} ({100 * count / max(rows, 1):.2g}%)"


def fit_rows(fit: Fit) -> list[list[str]]:
    """One row a variable: name, below, above, missing."""
    return [
        [each.name, share(each.below, fit.rows), share(each.above, fit.rows), share(each.missing, fit.rows)]
        for each in fit.variables
    ]


def advice(fit: Fit, missing: str) -> list[str]:
    """What the custodian should do about it, one sentence each."""
    sentences = []
    for each in fit.variables:
        if each.missing and missing == "error":
            sentences.append(
                f"'{each.name}' has cells that are missing or of an unstated level: clean them, state the level, "
                "or set missing to 'midpoint' or 'zero-row'."
            )
        if _clipped(each) > OFTEN * fit.rows:
            sentences.append(
                f"Many cells of '{each.name}' lie beyond its bounds. Is the unit right? Widen the bounds only for reasons "
                "that have nothing to do with these rows."
            )
    return sentences


def _clipped(each: VariableFit) -> int:
    return each.below + each.above
