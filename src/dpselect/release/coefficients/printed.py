"""Public. Coefficients as lines of text."""

from __future__ import annotations

from dpselect.release.coefficients.terms import Term
from dpselect.release.equations.residual import Amount


def head(level: float) -> tuple[str, ...]:
    """The head of the printed table."""
    return ("", "estimate", "std. error", f"{100 * level:g}% from", "to")


def cells(term: Term) -> tuple[str, ...]:
    """A row of the printed table: an end without a bound is open, and what could not be estimated has no number."""
    ends = ("open" if end is None else f"{end:.5g}" for end in (term.lower, term.upper))
    if term.value is None or term.error is None:
        return (term.name, "not seen", f"below {term.visible:.3g}", *ends)
    return (term.name, f"{term.value:.5g}", f"{term.error:.5g}", *ends)


def spoken(amount: Amount) -> str:
    """An amount with its interval, or the word that there is none."""
    if amount.value is None:
        return "not seen at this price"
    return f"{amount.value:.4g} ({amount.lower:.4g} to {amount.upper:.4g})"
