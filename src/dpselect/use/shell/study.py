"""Study files as people meet them: written with open places by `init`, refused as long as a place is open."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.study_file import read_assumptions
from dpselect.errors import AssumptionError
from dpselect.gather.sources.open import ColumnType

OPEN = "?"

_HEAD = """\
# A dpselect study: what is stated in public before any row is read.
#
# Replace every "?" by what is known without looking at the rows: from a form, a code book, a law, common sense.
# A bound that was read from the rows is a leak that no noise repairs. Cells beyond a bound are clipped to it, so
# bounds may be narrower than the extremes; the wider they are, the more noise is needed.
# Delete the variables that are not to compete (identifiers, names, dates).

intercept = "always"       # or "candidate" (it may be dropped), or "none"
neighbors = "replace-one"  # or "add-remove-one", where the number of rows is itself secret
missing = "error"          # or "midpoint" (the middle of the bounds), or "zero-row" (the row counts for nothing)
# radius = 0.0             # bound on the sum of |coefficients|, variables scaled to [-1, 1];
#                          # half the response's range unless stated
"""


def read_study(path: str) -> Assumptions:
    """The assumptions in a study file, or one sentence that names every place still open."""
    open_places = list(_open_places(_tables(path)))
    if open_places:
        raise AssumptionError(
            f"The study file {path!r} still leaves open: {'; '.join(open_places)}. "
            'Replace each "?" by what is known without looking at the rows.'
        )
    return read_assumptions(path)


def _tables(path: str) -> dict[str, Any]:
    """The TOML values; empty where the file cannot be read, for `read_assumptions` says that better."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _open_places(values: dict[str, Any]) -> Iterable[str]:
    response = values.get("response")
    tables = [("the response", response if isinstance(response, dict) else {})]
    predictors = values.get("predictors")
    for place, table in enumerate(predictors if isinstance(predictors, list) else [], 1):
        if isinstance(table, dict):
            tables.append((f"predictor {place}", table))
    for what, table in tables:
        missing = [key for key, value in table.items() if OPEN in (value if isinstance(value, list) else [value])]
        if missing:
            name = table.get("name")
            who = f"'{name}'" if isinstance(name, str) and name != OPEN else what
            yield f"{' and '.join(missing)} of {who}"


def new_study(columns: Iterable[ColumnType], response: str | None) -> str:
    """The text of a study file with open places, from the names and kinds of columns."""
    listed = list(columns)
    names = [column.name for column in listed]
    if response is not None and response not in names:
        raise AssumptionError(f"The column {response!r} is not in the table; it has {_some(names)}.")
    lines = [_HEAD, "[response]"]
    lines += [f"name = {_toml(response or OPEN)}" + ("" if response else _which_response(names))]
    lines += [f'lower = "{OPEN}"', f'upper = "{OPEN}"']
    for column in listed:
        if column.name != response:
            lines += ["", *_predictor(column)]
    return "\n".join(lines) + "\n"


def _which_response(names: list[str]) -> str:
    return f"  # one of {_some(names)}; then delete its [[predictors]] table below"


def _predictor(column: ColumnType) -> list[str]:
    name = _toml(column.name)
    if column.kind in ("number", "boolean"):
        return ["[[predictors]]", f"name = {name}", f'lower = "{OPEN}"', f'upper = "{OPEN}"']
    if column.kind == "text":
        hint = '  # all that can occur, such as ["north", "south"]; the first is the reference'
        return ["[[predictors]]", f"name = {name}", f'levels = ["{OPEN}"]{hint}']
    return [f"# {name} has the type {column.type}, which cannot be used as it is: store it as a number or as text."]


def _some(names: list[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
