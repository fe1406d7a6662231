"""Public. Coefficients as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dpselect.assume.study.columns import INTERCEPT
from dpselect.release.coefficients.terms import Term
from dpselect.release.equations.residual import Amount


def head(level: float) -> tuple[str, ...]:
    """The head of the printed table."""
    return ("", "estimate", "std. error", f"{100 * level:g}% from", "to")


def cells(term: Term) -> tuple[str, ...]:
    """A row of the printed table: an end without a bound is open, and what could not be estimated has no number."""
    ends = ("open" if end is None else f"{end:.5g}" for end in (term.lower, term.upper))
    if term.value is None or term.error is None:
        return (term.name, "not seen", "", *ends)
    return (term.name, f"{term.value:.5g}", f"{term.error:.5g}", *ends)


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells under each other: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, len(row)))]).rstrip()
        for row in rows
    ]


def spoken(named: Iterable[tuple[str, Amount]]) -> list[str]:
    """Amounts with their intervals, or the word that there are none."""
    said = []
    for name, amount in named:
        seen = amount.value is not None
        said.append(
            f"{name} {amount.value:.4g} ({amount.lower:.4g} to {amount.upper:.4g})" if seen else f"{name} not seen"
        )
    return said


def unseen(terms: Iterable[Term], beyond: Callable[[Term], bool] = lambda term: term.visible is None) -> list[str]:
    """From which size on the coefficients could have been seen that were not, unless that size is `beyond` what can be.

    An intercept's size is no effect.
    """
    hidden = [term for term in terms if not term.determined and term.name != INTERCEPT]
    sizes = [f"{term.name} {term.visible:.3g}" for term in hidden if not beyond(term)]
    never = [term.name for term in hidden if beyond(term)]
    return [
        *([f"not seen at this price, but visible from about: {', '.join(sizes)}"] if sizes else []),
        *([f"not seen at this price, and visible at no size: {', '.join(never)}"] if never else []),
    ]


def slopes_alone(terms: Iterable[Term]) -> list[str]:
    """A line for each slope that can be seen in a model by itself."""
    rows = [cells(term) for term in terms if term.determined]
    return [f"alone: {name} {value} ({lower} to {upper})" for name, value, _, lower, upper in rows]
