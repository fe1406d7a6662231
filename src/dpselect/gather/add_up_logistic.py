"""Private. From batches of cells to the sums of a round of Newton's method: here, and on every worker of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.logistic import GRID_BITS, STEP_BITS, Links
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import GRID
from dpselect.gather.add_up import checked_cells
from dpselect.gather.sums.grid import Cells, Design
from dpselect.gather.sums.persons import PersonAccumulator

CHUNK = 2048
"""Rows at a time: their sums stay below 2^53, so doubles are exact."""

Rows = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class LogisticPlan:
    """Public. The columns, the coefficients in whole numbers of 2^-20 at which to add up, and their table of chances.

    The table travels to the workers with the rest: a worker's own logarithms might end in another digit.
    """

    columns: tuple[int, ...]
    center: tuple[int, ...]
    table: Links


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LogisticSums:
    """Private. Twice the numbers of yes and no; the sum of (y - p) x in units of 2^-41; that of w xx' in units of 2^-40."""

    counts: tuple[int, int]
    gradient: tuple[int, ...]
    gram: tuple[tuple[int, ...], ...]

    def __repr__(self) -> str:
        return f"LogisticSums(width={len(self.gradient)}, values=<private>)"

    def __add__(self, other: LogisticSums) -> LogisticSums:
        return LogisticSums(
            (self.counts[0] + other.counts[0], self.counts[1] + other.counts[1]),
            tuple(one + two for one, two in zip(self.gradient, other.gradient, strict=True)),
            tuple(
                tuple(one + two for one, two in zip(*rows, strict=True))
                for rows in zip(self.gram, other.gram, strict=True)
            ),
        )


def no_rows(width: int) -> LogisticSums:
    """The sums of nothing."""
    return LogisticSums((0, 0), (0,) * width, ((0,) * width,) * width)


def add_up_logistic(batches: Iterable[Cells], assumptions: Assumptions, plan: LogisticPlan) -> LogisticSums:
    """The sums of some rows, which may be none; with persons, all rows of a person must be among them.

    Of each person the same rows count as in moments (`gather/sums/persons.py`). Nobody is filled up with rows of zeros: these would
    add nothing to gradient and Gram, and half a yes each to the base rate.
    """
    chunks = _chunks if assumptions.person is None else _chunks_of_persons
    width, yes, rows = len(plan.columns), 0, 0
    gradient, gram = [0] * width, np.zeros((width, width), dtype=object)
    at, table = np.array(plan.center, dtype=np.float64), plan.table
    for design, response in chunks(batches, assumptions, plan.columns):
        # Sums of whole numbers below 2^53 in doubles: exact, in any order.
        step = np.floor(at @ design * 2.0 ** -(2 * GRID_BITS - STEP_BITS) + 0.5).astype(np.int64) + table.steps
        residual = response + GRID - 2 * table.chances[step]
        weighted = np.floor(design * table.weights[step] * (1 / GRID) + 0.5)
        gradient = [old + int(new) for old, new in zip(gradient, design @ residual, strict=True)]
        gram += (weighted @ design.T).astype(np.int64).astype(object)
        yes += int(response.sum() + GRID * response.size) // GRID
        rows += response.size
    return LogisticSums((yes, 2 * rows - yes), tuple(gradient), tuple(tuple(map(int, row)) for row in gram))


def add_up_logistic_arrow(batches: Iterable[Any], assumptions: Assumptions, plan: LogisticPlan) -> LogisticSums:
    """The same for record batches."""
    return add_up_logistic(checked_cells(batches, assumptions), assumptions, plan)


def _chunks(batches: Iterable[Cells], assumptions: Assumptions, columns: tuple[int, ...]) -> Iterator[Rows]:
    """Columns and responses on the grid, some rows at a time; a response is -GRID, GRID, or 0 where it is missing."""
    design = Design(assumptions, CHUNK)
    places = design.order[list(columns)]
    for cells in batches:
        length = len(cells[assumptions.response.name])
        for start in range(0, length, CHUNK):
            work = design.chunk(cells, start, min(start + CHUNK, length))
            yield work[places], work[design.order[-1]]


def _chunks_of_persons(batches: Iterable[Cells], assumptions: Assumptions, columns: tuple[int, ...]) -> Iterator[Rows]:
    """The same for the rows of each person that count."""
    accumulator = PersonAccumulator(assumptions)
    for cells in batches:
        accumulator.add(cells)
    kept = accumulator.kept()
    for start in range(0, len(kept), CHUNK):
        rows = kept[start : start + CHUNK].T.astype(np.float64)
        yield rows[list(columns)], rows[-1]
