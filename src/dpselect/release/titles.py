"""Public. Variables, levels and columns as people call them: by their labels and units where these are stated."""

from __future__ import annotations

from dpselect.assume.study import Study
from dpselect.assume.terms import Column, Factor
from dpselect.assume.variables import Binary, Category, Numeric, Variable, is_printable, shown
from dpselect.errors import StudyError

LONGEST_TITLE = 10_000
"""Letters of a headline, as the published form of a report has it."""


def check_title(title: str) -> str:
    """The title itself; refused is a headline that no report could have, before anything is paid for it."""
    if not isinstance(title, str) or len(title) > LONGEST_TITLE or not is_printable(title):
        raise StudyError(
            f"The title is {shown(title)}; it must be one line of text that can be printed, of at most {LONGEST_TITLE:,} letters."
        )
    return title


def variable_title(variable: Variable, *, unit: bool = False) -> str:
    """A variable's label, or its name; with its unit in brackets where one is asked for and stated."""
    title = variable.label or variable.name
    return f"{title} ({variable.unit})" if unit and variable.unit else title


def level_title(variable: Variable, level: Category) -> str:
    """A category's label, or the category itself; the codes 0 and 1 of a binary variable are no and yes."""
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
