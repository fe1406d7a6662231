"""Private. From batches of cells to the moments of a part of a table: what runs here, and on every worker of a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpselect.assume.assumptions import Assumptions
from dpselect.gather.accumulate import Accumulator
from dpselect.gather.arrow import batch_cells, check_schema
from dpselect.gather.grid import Cells
from dpselect.gather.moments import Moments
from dpselect.gather.persons import PersonAccumulator
from dpselect.gather.stream import Reporter


def add_up(batches: Iterable[Cells], assumptions: Assumptions, report: Reporter | None = None) -> Moments:
    """The moments of some rows, which may be none; with persons, all rows of a person must be among them."""
    accumulator = Accumulator(assumptions) if assumptions.person is None else PersonAccumulator(assumptions)
    for cells in batches:
        accumulator.add(cells)
        if report is not None:
            report(accumulator.rows)
    if report is not None:
        report(accumulator.rows, done=True)
    return accumulator.partial()


def add_up_arrow(batches: Iterable[Any], assumptions: Assumptions) -> Moments:
    """The moments of some record batches."""

    def cells() -> Iterable[Cells]:
        checked = None
        for batch in batches:
            if batch.schema != checked:
                checked = batch.schema
                check_schema(checked, assumptions)
            yield batch_cells(batch, assumptions)

    return add_up(cells(), assumptions)
