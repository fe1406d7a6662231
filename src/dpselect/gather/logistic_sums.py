"""Private. What a round of Newton's method needs of the rows, as exact whole numbers: they are read again for each round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.logistic import GRID_BITS, STEP_BITS, Links
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import GRID
from dpselect.errors import DataError
from dpselect.gather.clusters.cluster import cluster_moments
from dpselect.gather.saved.moments_file import moments_files
from dpselect.gather.sums.grid import Design
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import table_cells

CHUNK = 2048
"""Rows at a time: their sums stay below 2^53, so doubles are exact."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LogisticSums:
    """Private. Twice the numbers of yes and no; the sum of (y - p) x in units of 2^-41; that of w xx' in units of 2^-40."""

    counts: tuple[int, int]
    gradient: tuple[int, ...]
    gram: tuple[tuple[int, ...], ...]

    def __repr__(self) -> str:
        return f"LogisticSums(width={len(self.gradient)}, values=<private>)"


def require_rows(source: Any) -> None:
    """Refuse what cannot be read several times, row by row."""
    if isinstance(source, Moments) or moments_files(source) or cluster_moments(source) is not None:
        raise DataError(
            "Odds ratios read the rows again for each round: give a data frame, arrays, a path or a database's address, not "
            "moments or a cluster's frame."
        )
    if hasattr(source, "read_next_batch") or type(source).__module__.partition(".")[0].lstrip("_") == "duckdb":
        raise DataError(
            "Odds ratios read the table several times, and a stream can be read once: give a table, a path or an address."
        )


def logistic_sums(
    source: Any, assumptions: Assumptions, columns: Sequence[int], center: Sequence[int], table: Links
) -> LogisticSums:
    """Read the rows once and add up at public coefficients `center`, in whole numbers of 2^-20."""
    width = len(columns)
    yes, rows = 0, 0
    gradient, gram = [0] * width, np.zeros((width, width), dtype=object)
    at = np.array(center, dtype=np.float64)
    for design, response in _chunks(source, assumptions, columns):
        # Sums of whole numbers below 2^53 in doubles: exact, in any order.
        step = np.floor(at @ design * 2.0 ** -(2 * GRID_BITS - STEP_BITS) + 0.5).astype(np.int64) + table.steps
        residual = response + GRID - 2 * table.chances[step]
        weighted = np.floor(design * table.weights[step] * (1 / GRID) + 0.5)
        gradient = [old + int(new) for old, new in zip(gradient, design @ residual, strict=True)]
        gram += (weighted @ design.T).astype(np.int64).astype(object)
        yes += int(response.sum() + GRID * response.size) // GRID
        rows += response.size
    if rows == 0 and assumptions.neighbors == "replace-one":
        raise DataError("The table has no rows; give at least one.")
    return LogisticSums((yes, 2 * rows - yes), tuple(gradient), tuple(tuple(map(int, row)) for row in gram))


def _chunks(
    source: Any, assumptions: Assumptions, columns: Sequence[int]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Columns and responses on the grid, some rows at a time; a response is -GRID, GRID, or 0 where it is missing."""
    design = Design(assumptions, CHUNK)
    places = design.order[list(columns)]
    with closing(table_cells(source, assumptions)) as batches:
        for cells in batches:
            length = len(cells[assumptions.response.name])
            for start in range(0, length, CHUNK):
                work = design.chunk(cells, start, min(start + CHUNK, length))
                yield work[places], work[design.order[-1]]
