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
from dpselect.assume.study.variables import GRID
from dpselect.errors import DataError
from dpselect.gather.saved.sql import answer_names, product_places
from dpselect.gather.sums.accumulate import checked
from dpselect.gather.sums.moments import Moments

AGAIN = "run the query that belongs to this study again, and change nothing in it or its answer"


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
    check_possible(
        values["n"], products, f"The answer holds sums that no table of numbers within the bounds has: {AGAIN}."
    )
    columns = tuple(column.name for column in assumptions.columns)
    return checked(Moments(values["n"], products, columns, assumptions.hash), assumptions)


def _read(path: Path) -> Mapping[str, Any]:
    lines = None
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise DataError(f"The answer {str(path)!r} cannot be read: {reason}.") from None
    except UnicodeDecodeError:
        pass  # it holds the file's bytes, so it is forgotten here
    if lines is None:
        raise DataError(f"The answer {str(path)!r} is not UTF-8 text: save it as UTF-8 CSV.")
    # psql may print the word SET before the table, and some programs a count of rows after it.
    starts = [i for i, line in enumerate(lines) if line.lower().lstrip('"').startswith("assumptions")]
    if len(starts) != 1 or len(lines) < starts[0] + 2:
        raise DataError(f"{str(path)!r} holds no answer: it must be a CSV file with a first line of names and one row.")
    delimiter = next((mark for mark in ",;\t|" if mark in lines[starts[0]]), ",")
    names, cells = csv.reader(lines[starts[0] : starts[0] + 2], delimiter=delimiter)
    return dict(zip((name.lower() for name in names), cells, strict=False))


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


def check_possible(n: int, products: Any, sentence: str) -> None:
    """Refuse sums that no table has: they would come from another query, or from a hand."""
    squares = products.diagonal()
    possible = n >= 0 and all(0 <= square <= n * GRID**2 for square in squares)
    if not possible or not (products * products <= np.multiply.outer(squares, squares)).all():
        raise DataError(sentence)
