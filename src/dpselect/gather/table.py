"""Private. One door for every kind of table: rows in, exact moments out."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from dpselect.assume.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.accumulate import Accumulator
from dpselect.gather.arrays import array_cells
from dpselect.gather.arrow import batch_cells, check_schema, needed_names
from dpselect.gather.moments import Moments


def gather_table(source: Any, assumptions: Assumptions) -> Moments:
    """The exact moments of a table, clipped to the assumptions.

    `source` is a pair of arrays (predictors in the order stated, response), a pandas or polars data frame or an Arrow table.
    """
    if isinstance(source, Moments):
        return source
    accumulator = Accumulator(assumptions)
    if isinstance(source, tuple) and len(source) == 2:
        accumulator.add(array_cells(*source, assumptions))
    else:
        for batch in _batches(source, assumptions):
            accumulator.add(batch_cells(batch, assumptions))
    return accumulator.moments()


def _batches(source: Any, assumptions: Assumptions) -> Any:
    """Record batches of the needed columns of a data frame."""
    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError:
        raise DataError(
            f"A table cannot be read from a {type(source).__name__}: give (X, y) arrays, a pandas or polars data frame "
            "or an Arrow table."
        ) from None
    except nw.exceptions.DuplicateError:
        raise DataError("A column name is in the table more than once: rename one of them.") from None
    known = set(frame.columns)
    names = [name for name in needed_names(assumptions) if name in known]
    try:
        table = frame.select(names).to_arrow()
    except Exception as error:  # Arrow's message may quote a cell
        raise DataError(
            f"The table's columns cannot be turned into Arrow columns ({type(error).__name__}): give each column one type."
        ) from None
    check_schema(table.schema, assumptions)
    return table.to_batches()
