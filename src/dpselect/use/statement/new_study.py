"""The study file that `init` writes: names and kinds from the table, and open places for what only a person can state.

A code book, or the dictionary of the file itself, may say some of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dpselect.assume.study.names import shown
from dpselect.assume.study.study_file import toml
from dpselect.errors import AssumptionError
from dpselect.gather.sources.open import ColumnType
from dpselect.use.statement.study import OPEN

Book = Mapping[str, Mapping[str, Any]]
"""What a code book says about some variables, in the words of study files."""

_HEAD = """\
# A dpselect study: what is stated in public before any row is read.
#
# Replace every "?" by what is known without looking at the rows: from a form, a code book, a law, common sense.
# A bound that was read from the rows is a leak that no noise repairs. Cells beyond a bound are clipped to it, so
# bounds may be narrower than the extremes; the wider they are, the more noise is needed.
# Delete the variables that are not to compete (identifiers, names, dates).
# Each variable may also have a label, a unit and a reason, which the report prints.

intercept = "always"       # or "candidate" (it may be dropped), or "none"
neighbors = "replace-one"  # or "add-remove-one", where the number of rows is itself secret
missing = "error"          # or "midpoint" (the middle of the bounds), or "zero-row" (the row counts for nothing)
# rows = 10000             # about how many rows there are, where that may be said: epsilon is then divided better
# person = "id"            # a column that names persons, where one can have several rows: the promise is then for persons;
# max_rows_per_person = 5  # and for coefficients, how many rows of each count at most
# radius = 0.0             # pcls and pcpl: bound on the sum of |coefficients|, variables scaled to [-1, 1];
#                          # half the response's range unless stated
"""


NO_AND_YES = '# lower and upper of a number; or, of no and yes: kind = "binary" and levels = [0, 1] (or ["no", "yes"])'


def new_study(columns: Iterable[ColumnType], response: str | None, book: Book | None = None) -> str:
    """The text of a study file for some columns. Bounds come from the code book or stay open; none is ever read from rows."""
    listed, book = list(columns), book or {}
    names = [column.name for column in listed]
    if response is not None and response not in names:
        raise AssumptionError(f"The column {response!r} is not in the table; it has {_some(names)}.")
    lines = [_HEAD, "[response]"]
    if response is None:
        which = f"  # one of {_some(names)}; then delete its [[predictors]] table below"
        lines += [f'name = "{OPEN}"{which}', NO_AND_YES, f'lower = "{OPEN}"', f'upper = "{OPEN}"']
    for column in listed:
        if column.name == response:
            lines += _response(column, book.get(column.name, {}))
    for column in listed:
        if column.name != response:
            lines += ["", *_predictor(column, book.get(column.name, {}))]
    return "\n".join(lines) + "\n"


def _response(column: ColumnType, said: Mapping[str, Any]) -> list[str]:
    if len(said.get("levels", ())) == 2:
        return _entries({"name": column.name, "kind": "binary", **said})
    known = {"name": column.name, **_labelled(column)}
    if column.kind == "text" and "lower" not in said:
        lines = _entries({**known, **said, "kind": "binary", "levels": [OPEN, OPEN]})
        lines[-1] += '  # no first, then yes: ["no", "yes"]'
        return lines
    lines = _entries({**known, "lower": OPEN, "upper": OPEN, **said})
    return lines if "lower" in said else [lines[0], NO_AND_YES, *lines[1:]]


def _predictor(column: ColumnType, said: Mapping[str, Any]) -> list[str]:
    head = ["[[predictors]]"]
    if "levels" in said or ("lower" in said and "upper" in said):
        return head + _entries({"name": column.name, **_labelled(column), **said})
    if column.levels:
        return head + _from_dictionary(column)
    if column.kind in ("number", "boolean"):
        return head + _entries({"name": column.name, **_labelled(column), "lower": OPEN, "upper": OPEN, **said})
    if column.kind == "text":
        lines = _entries({"name": column.name, **_labelled(column), **said, "levels": [OPEN]})
        lines[-1] += '  # all that can occur, such as ["north", "south"]; the first is the reference'
        return head + lines
    # A type may hold names too: those of the fields of a structure.
    kind = shown(column.type)[1:-1]
    return [
        f"# {toml(column.name)} has the type {kind}, which cannot be used as it is: store it as a number or as text."
    ]


def _labelled(column: ColumnType) -> dict[str, str]:
    return {"label": column.label} if column.label else {}


def _from_dictionary(column: ColumnType) -> list[str]:
    """Codes and their labels as the file's dictionary has them; the reason stays open, so that a person looks at them."""
    levels = [code for code, _ in column.levels]
    labels = [label for _, label in column.levels]
    lines = [
        "# By the file's dictionary. Take out codes for missing answers; if it is a number, state lower and upper instead."
    ]
    lines += _entries({"name": column.name, **_labelled(column), "levels": levels, "level_labels": labels})
    return [*lines, f'reason = "{OPEN}"  # where these levels are stated, apart from the rows']


def _entries(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {toml(value)}" for name, value in values.items()]


def _some(names: list[str]) -> str:
    return ", ".join(map(toml, names[:12])) + (", ..." if len(names) > 12 else "")
