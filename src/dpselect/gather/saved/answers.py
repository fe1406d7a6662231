"""Private. From the one row that an aggregate query answers to moments."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.saved.sql import answer_names, product_places
from dpselect.gather.sums.accumulate import checked
from dpselect.gather.sums.moments import Moments, named_by_content, require_sound

AGAIN = "run the query that belongs to this study again, and change nothing in it or its answer"
MOST_CHARACTERS = 1 << 22
"""An answer has at most 1,600 columns, so that a longer text is none."""


def moments_from_answer(answer: str | os.PathLike[str] | Mapping[str, Any], assumptions: Assumptions) -> Moments:
    """The moments in the answer to `aggregate_query`: a CSV file with a first line of names, or one row as a mapping."""
    row = answer if isinstance(answer, Mapping) else _read(Path(answer))
    if row.get("assumptions") != assumptions.hash:
        raise DataError(f"The answer does not belong to these assumptions: {AGAIN}.")
    absent = [name for name in answer_names(assumptions) if name not in row]
    if absent:
        raise DataError(f"The answer lacks {absent[0]!r}: {AGAIN}.")
    values = {name: _whole(row[name]) for name in answer_names(assumptions) if name != "assumptions"}
    for i, variable in enumerate((*assumptions.predictors, assumptions.response)):
        if values.get(f"missing_{i}"):
            raise DataError(
                f"{variable.name!r} has cells that are missing, infinite or of an unknown level: clean them, or set missing to "
                "'midpoint' or 'zero-row'."
            )
    if values.get("missing_person"):
        raise DataError(f"The column of persons {assumptions.person!r} has missing cells: give every row its person.")
    width = len(assumptions.columns) + 1
    products = np.zeros((width, width), dtype=object)
    for i, j in product_places(assumptions):
        products[i, j] = products[j, i] = values[f"p_{i}_{j}"]
    columns = tuple(column.name for column in assumptions.columns)
    found = require_sound(
        Moments(values["n"], products, columns, assumptions.hash),
        assumptions,
        f"The answer holds sums that no table of numbers within the bounds has: {AGAIN}.",
    )
    return checked(named_by_content(found), assumptions)


def _read(path: Path) -> Mapping[str, Any]:
    lines = None
    try:
        with path.open(encoding="utf-8-sig") as file:
            lines = file.read(MOST_CHARACTERS).splitlines()
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise DataError(f"The answer {str(path)!r} cannot be read: {reason}.") from None
    except UnicodeDecodeError:
        pass  # it holds the file's bytes, so it is forgotten here
    if lines is None:
        raise DataError(f"The answer {str(path)!r} is not UTF-8 text: save it as UTF-8 CSV.")
    # psql may print the word SET before the table, and some programs a count of rows after it.
    starts = [i for i, line in enumerate(lines) if line.lower().lstrip('"').startswith("assumptions")]
    found = _row(lines[starts[0] :]) if len(starts) == 1 else None
    if lines and lines[0].startswith('{"format": "dpselect moments'):
        raise DataError(
            f"{str(path)!r} holds saved moments, not an answer to a query: give it in the place of the data."
        )
    if found is None:
        raise DataError(f"{str(path)!r} holds no answer: it must be a CSV file with a first line of names and one row.")
    return found


def _row(lines: list[str]) -> dict[str, str] | None:
    """The names and the cells below them; nothing where a quote is open, a name stands twice, or a cell has no name."""
    delimiter = next((mark for mark in ",;\t|" if mark in lines[0]), ",")
    try:
        names, cells = csv.reader(lines[:2], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):  # both may quote the text
        return None
    if len(names) != len(cells) or len(set(names)) < len(names):
        return None
    return dict(zip((name.lower() for name in names), cells, strict=True))


def _whole(value: Any) -> int:
    """A whole number; NULL is the sum of no rows."""
    if value is None or value in ("", "NULL", "null"):
        return 0
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    # Only what int() surely takes: what it refuses it quotes.
    if isinstance(value, str) and re.fullmatch("-?[0-9]{1,100}", value.strip()):
        return int(value)
    # A float has lost digits already, so that even a whole one is not the sum.
    raise DataError(f"The answer holds what is not a whole number to the last digit: {AGAIN}.")
