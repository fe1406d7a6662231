"""Study files as people meet them: refused as long as a place is open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.names import shown
from dpselect.assume.study.study_file import MOST_CHARACTERS, assumptions_from, parse_tables, read_assumptions
from dpselect.errors import AssumptionError

OPEN = "?"
MOST_PLACES = 10
"""Open places that one message names."""


def read_study(path: str) -> Assumptions:
    """The assumptions in a study file, or one sentence that names every place still open; bounds may stay so."""
    values = _tables(path)
    _leave_out_open_bounds(values)
    open_places = list(_open_places(values))
    if open_places:
        more = f"; and {len(open_places) - MOST_PLACES} more" if len(open_places) > MOST_PLACES else ""
        raise AssumptionError(
            f"The study file {path!r} still leaves open: {'; '.join(open_places[:MOST_PLACES])}{more}. "
            'Replace each "?" by what is known without looking at the rows.'
        )
    # A file that could not be read, or is none, is read again for the sentence that says why.
    return assumptions_from(values, f"The study file {path!r}") if values else read_assumptions(path)


def _leave_out_open_bounds(values: dict[str, Any]) -> None:
    """A number with both bounds open is one without bounds: votes need none, and what needs them will name it."""
    predictors = values.get("predictors")
    for table in [values.get("response"), *(predictors if isinstance(predictors, list) else [])]:
        if isinstance(table, dict) and table.get("lower") == OPEN and table.get("upper") == OPEN:
            del table["lower"], table["upper"]


def _tables(path: str) -> dict[str, Any]:
    """The TOML values; empty where the file cannot be read, for `read_assumptions` says that better."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_tables(file.read(MOST_CHARACTERS + 1))
    except (OSError, UnicodeDecodeError, AssumptionError):
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
            who = shown(name) if isinstance(name, str) and name != OPEN else what
            yield f"{' and '.join(shown(key)[1:-1] for key in missing)} of {who}"
