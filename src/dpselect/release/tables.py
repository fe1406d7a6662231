"""Public. The one table of results: what each term of an estimate is about and how large it is, and the frames made of it.

The page, the terminal, `tidy()`, the notebook and the studio format these facts; none derives a number of its own. Variables,
categories and columns are called by their labels and units, where these are stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from importlib import import_module
from typing import Any, Literal, get_args

from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.assume.terms import Column, Factor
from dpselect.assume.variables import Binary, Categorical, Category, Numeric, Variable
from dpselect.errors import StudyError
from dpselect.release.drawn import MAX_LOGARITHM, Direction, Term
from dpselect.release.equations.findings import Amount


def variable_title(variable: Variable, *, unit: bool = False) -> str:
    """A variable's label, or its name; with its unit in brackets where one is asked for and stated."""
    title = variable.label or variable.name
    return f"{title} ({variable.unit})" if unit and variable.unit else title


def level_title(variable: Variable, level: Category) -> str:
    """A category's label, or the category itself; the codes 0 and 1 of a binary variable are no and yes."""
    # Only 0 and 1 say which is yes; of 1 and 2, as many code books have them, either may be.
    if isinstance(variable, Binary) and not variable.category_labels and variable.categories == (0, 1):
        return "yes" if level == 1 else "no"
    if isinstance(variable, Numeric) or not variable.category_labels:
        return str(level)
    return variable.category_labels[variable.categories.index(level)]


def column_titles(study: Study) -> dict[str, str]:
    """What to call each column of the design; the column's own name where no label is stated for any part of it."""
    variables = {variable.name: variable for variable in study.predictors}
    return {column.name: _column_title(column, variables) for column in study.columns}


def _column_title(column: Column, variables: dict[str, Variable]) -> str:
    titles = [_factor_title(factor, variables[factor.variable]) for factor in column.factors]
    plain = [str(factor) for factor in column.factors]
    return column.name if titles == plain else " \N{MULTIPLICATION SIGN} ".join(titles)


def _factor_title(factor: Factor, variable: Variable) -> str:
    if factor.level is None:
        return variable_title(variable)
    level = level_title(variable, factor.level)
    return str(factor) if not variable.label and level == str(factor.level) else f"{variable_title(variable)}: {level}"


FrameKind = Literal["plain", "pandas", "polars"]
EffectKind = Literal["number", "binary", "category", "product", "constant"]


class Effect(Public, frozen=True, kw_only=True):
    """One term: what people call it, and its coefficient in the user's units, of ratios its logarithm.

    `label` is what people call the variable, `stated` whether a person gave that label, and `category` and `reference` which
    category is compared with which. The estimate is for one more `unit`; `one_more` says that in the study's own words.
    `direction` is what the selection said. An end that is None is unbounded, and `hidden` says that the interval includes zero.
    """

    term: str
    kind: EffectKind
    label: str
    stated: bool
    category: str | None
    reference: str | None
    direction: Direction | None
    estimate: float | None
    std_error: float | None
    conf_low: float | None
    conf_high: float | None
    adjusted_low: float | None
    adjusted_high: float | None
    unit: str
    one_more: str
    span: float | None
    hidden: bool


def effects_of(terms: Sequence[Term], study: Study, directions: Mapping[str, Direction | None]) -> tuple[Effect, ...]:
    """The facts of each term, in the order of the model."""
    columns = {column.name: column for column in study.columns}
    variables = {variable.name: variable for variable in study.predictors}
    titles = column_titles(study)
    return tuple(
        Effect(
            term=term.name,
            **_named(columns.get(term.name), variables, titles.get(term.name, term.name)),
            direction=directions.get(term.name) if _same_contrast(columns.get(term.name), variables) else None,
            estimate=term.value,
            std_error=term.error,
            conf_low=term.lower,
            conf_high=term.upper,
            adjusted_low=term.adjusted_lower,
            adjusted_high=term.adjusted_upper,
            hidden=term.hidden,
        )
        for term in terms
    )


def _same_contrast(column: Column | None, variables: Mapping[str, Variable]) -> bool:
    """Whether the selection's direction of a column and its coefficient compare the same.

    Of a variable with three categories or more the votes tell how one stands beside all others (unless a block is fitted with all
    variables at once), the coefficient how it stands beside the reference: both may be right and have opposite signs, so the
    effect has no direction but its own.
    """
    factors = () if column is None else column.factors
    named = [variables[factor.variable] for factor in factors]
    return not any(isinstance(each, Categorical) and len(each.categories) > 2 for each in named)


def _named(column: Column | None, variables: Mapping[str, Variable], title: str) -> dict[str, Any]:
    """What a column is called, and what it compares."""
    words: dict[str, Any] = dict.fromkeys(("category", "reference", "span")) | {"unit": "", "one_more": ""}
    if column is None or not column.factors:
        return words | {"kind": "constant", "label": title, "stated": True}
    if len(column.factors) > 1:
        return words | {"kind": "product", "label": title, "stated": title != column.name}
    (factor,) = column.factors
    variable = variables[factor.variable]
    words |= {"label": variable_title(variable), "stated": bool(variable.label)}
    if isinstance(variable, Categorical):
        assert factor.level is not None and variable.reference is not None
        compared = level_title(variable, factor.level), level_title(variable, variable.reference)
        return words | {"kind": "category", "category": compared[0], "reference": compared[1]}
    if isinstance(variable, Binary):
        compared = level_title(variable, variable.categories[1]), level_title(variable, variable.categories[0])
        return words | {"kind": "binary", "category": compared[0], "reference": compared[1]}
    span = variable.bounds[1] - variable.bounds[0] if variable.bounded else None
    return words | {"kind": "number", "unit": variable.unit, "one_more": variable.one_more, "span": span}


def tidy_rows(effects: Sequence[Effect], *, ratios: bool) -> list[dict[str, Any]]:
    """One row a term, in the words of R's broom; what could not be estimated has no estimate, and an unbounded end is None.

    With `ratios` the numbers are ratios, whose std_error stays that of the logarithm.
    """

    # A ratio that no double holds is cut, not made infinite: JSON has no infinity, and None already means "unbounded".
    def shown(number: float | None) -> float | None:
        return number if number is None or not ratios else math.exp(min(number, MAX_LOGARITHM))

    return [
        {
            "term": each.term,
            "label": each.label,
            "category": each.category if each.kind == "category" else None,
            "direction": each.direction,
            "estimate": shown(each.estimate),
            "std_error": each.std_error,
            "conf_low": shown(each.conf_low),
            "conf_high": shown(each.conf_high),
            "adjusted_low": shown(each.adjusted_low),
            "adjusted_high": shown(each.adjusted_high),
            "unit": each.unit or None,
            "hidden": each.hidden,
        }
        for each in effects
    ]


# Results are printed by report, a later stage, which this one may not import; it registers its functions here instead.
@singledispatch
def result_text(result: Any) -> str:
    """A result as lines of text. The words are report's, which says here how each kind of result is written."""
    return repr(result)


@singledispatch
def result_html(result: Any) -> str:
    """The same for a notebook."""
    return f"<pre>{repr(result).replace('&', '&amp;').replace('<', '&lt;')}</pre>"


def amount_columns(**named: Amount) -> dict[str, float | None]:
    """Each amount as three columns: itself and the ends of its interval."""
    return {
        f"{name}{end}": value
        for name, amount in named.items()
        for end, value in (("", amount.value), ("_low", amount.lower), ("_high", amount.upper))
    }


def framed(rows: list[dict[str, Any]], frame: FrameKind) -> Any:
    """The rows as a list of dictionaries, or as a data frame of a library that is installed."""
    if frame not in get_args(FrameKind):
        raise StudyError(f"frame is {frame!r}; it must be one of {', '.join(map(repr, get_args(FrameKind)))}.")
    if frame == "plain":
        return rows
    try:
        library = import_module(frame)
    except ImportError:
        raise StudyError(f"{frame} is not installed; install it, or leave frame out for plain rows.") from None
    return library.DataFrame({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})
