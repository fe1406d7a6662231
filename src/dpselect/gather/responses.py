"""Private. How many responses lie beyond each of some public places: all that choosing bounds for them needs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.models.tuning import check_rows_are_persons
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Categorical
from dpselect.errors import DataError
from dpselect.gather.sums.grid import Cells
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import table_cells

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Beyond:
    """Private. How many of n responses lie strictly below and strictly above each place."""

    below: Counts
    above: Counts
    n: int

    def __repr__(self) -> str:
        return f"Beyond(places={self.below.size}, values=<private>)"

    def __add__(self, other: Beyond) -> Beyond:
        return Beyond(self.below + other.below, self.above + other.above, self.n + other.n)


def count_beyond(values: NDArray[np.float64], places: NDArray[np.float64]) -> Beyond:
    """Count the values beyond each of the sorted places; one that is not finite counts as in the middle."""
    known = np.sort(np.where(np.isfinite(values), values, (places[0] + places[-1]) / 2))
    below = np.searchsorted(known, places, "left")
    above = known.size - np.searchsorted(known, places, "right")
    return Beyond(below.astype(np.int64), above.astype(np.int64), known.size)


def count_responses(source: Any, assumptions: Assumptions, places: NDArray[np.float64]) -> Beyond:
    """Read a table once and count its responses beyond each place; missing ones as the assumptions say.

    All needed columns are read, so that whatever is wrong with them comes out now, before anything is spent.
    """
    check_rows_are_persons(assumptions)
    if isinstance(source, Moments):
        raise DataError("Tuning has to read the responses themselves, and moments have none: give the table.")
    if hasattr(source, "read_next_batch") or type(source).__module__.partition(".")[0].lstrip("_") == "duckdb":
        raise DataError(
            "Tuning reads the table twice, and a stream can be read once: give a table, a path or an address."
        )
    nothing = np.zeros(places.size, np.int64)
    counted = Beyond(nothing, nothing, 0)
    with closing(table_cells(source, assumptions)) as batches:
        for cells in batches:
            if assumptions.missing == "error":
                _refuse_missing(cells, assumptions)
            counted = counted + count_beyond(cells[assumptions.response.name], places)
    if counted.n == 0 and assumptions.neighbors == "replace-one":
        raise DataError("The table has no rows; give at least one.")
    return counted


def _refuse_missing(cells: Cells, assumptions: Assumptions) -> None:
    for variable in (*assumptions.predictors, assumptions.response):
        values = cells[variable.name]
        known = values >= 0 if isinstance(variable, Categorical) else np.isfinite(values)
        if not known.all():
            raise DataError(
                f"{variable.name!r} has cells that are missing, infinite or of an unknown level: clean them, or set "
                "missing to 'midpoint' or 'zero-row'."
            )
