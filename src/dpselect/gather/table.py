"""Private. One door for every kind of table: rows in, exact moments out."""

from __future__ import annotations

from typing import Any

from dpselect.assume.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.accumulate import Accumulator
from dpselect.gather.arrays import array_cells
from dpselect.gather.arrow import batch_cells, check_schema, needed_names
from dpselect.gather.frames import frame_table
from dpselect.gather.moments import Moments


def gather_table(source: Any, assumptions: Assumptions) -> Moments:
    """The exact moments of a table, clipped to the assumptions.

    `source` is a pair of arrays (predictors in the order stated, response), a pandas or polars data frame, an Arrow table, or
    moments gathered before under the same assumptions.
    """
    if isinstance(source, Moments):
        return of_these(source, assumptions)
    accumulator = Accumulator(assumptions)
    if isinstance(source, tuple):
        accumulator.add(array_cells(*_pair(source), assumptions))
    else:
        table = frame_table(source, needed_names(assumptions))
        check_schema(table.schema, assumptions)
        for batch in table.to_batches():
            accumulator.add(batch_cells(batch, assumptions))
    return accumulator.moments()


def of_these(moments: Moments, assumptions: Assumptions) -> Moments:
    """Moments, refused if they were gathered under other assumptions."""
    if moments.assumptions != assumptions.hash:
        raise DataError("These moments were gathered under other assumptions: gather them again with these.")
    return moments


def _pair(source: tuple[Any, ...]) -> tuple[Any, Any]:
    if len(source) != 2:
        raise DataError(
            f"A tuple of {len(source)} is not a table: give (X, y); weights are not taken, for a row that counts twice "
            "would need twice the noise."
        )
    return source[0], source[1]
