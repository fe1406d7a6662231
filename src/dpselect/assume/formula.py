"""Public. Formulas for people who think in them: "price ~ size + C(county) + size:year", through formulaic's parser.

Only the parser is used. A formula is turned into terms whose columns and bounds follow from the assumptions; no formula ever
meets a row, so none can drop rows, learn a scale or print a level that it has not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dpselect.assume.terms import Term
from dpselect.assume.variables import Categorical, Number, Variable, shown
from dpselect.errors import StudyError

LEARNING_FUNCTIONS = ("scale", "center", "standardize", "poly", "bs", "cs", "cc", "cr", "te", "hashed", "lag")
ALLOWED_IN_FORMULAS = "allowed are names, C(name), I(name**2), and + - : * / ** ( ) between them"


class Parts(NamedTuple):
    """What a formula says of some variables: those it uses, its terms, and whether it has an intercept."""

    response: Number
    predictors: list[Variable]
    terms: list[Term]
    intercept: bool


def formula_parts(formula: Any, variables: Iterable[Variable]) -> Parts:
    """The response, the predictors and the terms of a formula; variables that it does not use are left out."""
    known = {variable.name: variable for variable in variables}
    left, right = _parsed(formula)
    response = _response(left, known)
    intercept, terms = _terms(right, known, response)
    used = {name for term in terms for name in term}
    if response.name in used:
        raise StudyError(f"The response {response.name!r} is also on the right side of the formula; take it out.")
    return Parts(response, [variable for variable in known.values() if variable.name in used], terms, intercept)


def _parsed(formula: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    if not isinstance(formula, str):
        raise StudyError(f"The formula is {shown(formula)}; it must be a string such as 'price ~ size'.")
    try:
        from formulaic import Formula
    except ImportError:
        raise StudyError("Formulas need the package formulaic: pip install 'dpselect[formulas]'.") from None
    try:
        parsed = Formula(formula)
        left, right = list(parsed.lhs), list(parsed.rhs)
        assert all(hasattr(term, "factors") for term in (*left, *right))
    except Exception:  # the parser's messages are coloured and of several lines
        raise StudyError(
            f"The formula {shown(formula)} cannot be read as 'response ~ terms'; {ALLOWED_IN_FORMULAS}."
        ) from None
    return left, right


def _response(left: Sequence[Any], known: dict[str, Variable]) -> Number:
    names = [str(factor.expr) for term in left for factor in term.factors]
    variable = known.get(names[0]) if len(names) == 1 else None
    if variable is None or isinstance(variable, Categorical):
        raise StudyError(
            f"The left side of the formula is {shown(' + '.join(names))}; it must be the name of one numeric variable."
        )
    return variable


def _terms(right: Sequence[Any], known: dict[str, Variable], response: Number) -> tuple[bool, list[Term]]:
    intercept, terms = False, []
    for term in right:
        names = [name for factor in term.factors for name in _names(str(factor.expr), factor.eval_method.value, known)]
        if names:
            terms.append(tuple(names))
        else:
            intercept = True
    return intercept, terms


def _names(expression: str, how: str, known: dict[str, Variable]) -> Term:
    """The variables that a factor multiplies: none for 1, one for a name or C(name), several for a power."""
    if how == "literal" and expression == "1":
        return ()
    category = re.fullmatch(r"C\(\s*`?([^`,()]+?)`?\s*\)", expression)
    power = re.fullmatch(r"I\(\s*`?([^`,()*]+?)`?\s*\*\*\s*([2-4])\s*\)", expression)
    name = category[1] if category else power[1] if power else expression
    if how == "python" and not (category or power):
        _refuse(expression)
    if name not in known:
        raise StudyError(
            f"The formula names {shown(name)}, which is not among the variables: state its range or categories."
        )
    if category and not isinstance(known[name], Categorical):
        raise StudyError(
            f"The formula has {shown(f'C({name})')}, and {name!r} has no categories: state it as Categorical."
        )
    return (name,) * (int(power[2]) if power else 1)


def _refuse(expression: str) -> None:
    function = expression.partition("(")[0].strip()
    if function in LEARNING_FUNCTIONS:
        raise StudyError(
            f"The formula has {shown(function)[1:-1]}(...), which learns from the rows before any privacy is paid for: state "
            "a variable with a public range instead."
        )
    raise StudyError(
        f"The formula has {shown(expression)}, whose range does not follow from its variables'; {ALLOWED_IN_FORMULAS}: store "
        "what it computes as a column and state its range."
    )
