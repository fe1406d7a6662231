"""Public. Coefficients as the tables that statisticians pass on: one row a term, or one row a model."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, get_args

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import AssumptionError
from dpselect.release.coefficients.terms import Term
from dpselect.release.equations.residual import Amount

FrameKind = Literal["plain", "pandas", "polars"]


def tidy_rows(terms: tuple[Term, ...], assumptions: Assumptions) -> list[dict[str, Any]]:
    """One row a coefficient, in the words of R's broom; what could not be estimated has no estimate and open ends are None."""
    parts = {column.name: column.factors for column in assumptions.columns}
    rows = []
    for term in terms:
        factors = parts.get(term.name, ())
        single = factors[0] if len(factors) == 1 else None
        rows.append(
            {
                "term": term.name,
                "variable": term.name if single is None else single.variable,
                "level": None if single is None or single.level is None else str(single.level),
                "estimate": term.value,
                "std_error": term.error,
                "conf_low": term.lower,
                "conf_high": term.upper,
                "determined": term.determined,
                "visible": term.visible,
            }
        )
    return rows


def amounts(**named: Amount) -> dict[str, float | None]:
    """Each amount as three columns: itself and the ends of its interval."""
    return {
        f"{name}{end}": value
        for name, amount in named.items()
        for end, value in (("", amount.value), ("_low", amount.lower), ("_high", amount.upper))
    }


def framed(rows: list[dict[str, Any]], frame: FrameKind) -> Any:
    """The rows as a list of dictionaries, or as a data frame of a library that is installed."""
    if frame not in get_args(FrameKind):
        raise AssumptionError(f"frame is {frame!r}; it must be one of {', '.join(map(repr, get_args(FrameKind)))}.")
    if frame == "plain":
        return rows
    try:
        library = import_module(frame)
    except ImportError:
        raise AssumptionError(f"{frame} is not installed; install it, or leave frame out for plain rows.") from None
    return library.DataFrame({name: [row[name] for row in rows] for name in rows[0]})
