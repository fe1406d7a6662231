"""Private. Batches of cells to block sums, with the moments in the same pass where they are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study.assumptions import Assumptions
from dpselect.gather.sums.accumulate import CHUNK, Accumulator
from dpselect.gather.sums.assign import Assigner
from dpselect.gather.sums.block_kernel import sort_rows, take_rows
from dpselect.gather.sums.blocks import BlockSums, empty_sums, is_on_grid, row_width
from dpselect.gather.sums.grid import Cells, Design
from dpselect.gather.sums.moments import Moments
from dpselect.gather.sums.open_design import OpenDesign
from dpselect.gather.sums.persons import PersonAccumulator

BUFFER = 2**26
"""Bytes of rows that all threads hold before they add them to their blocks: the more, the more rows a block gets at a time."""
STRIPES = 16
"""Ranges of blocks that threads may write to at the same time."""


class BlockTable:
    """Private. The sums of all blocks, shared by threads: one copy, and who writes to a range of blocks holds its lock."""

    def __init__(self, assumptions: Assumptions, blocks: int, partitions: int, threads: int = 1) -> None:
        self.sums = empty_sums(assumptions, blocks, partitions)
        stripes = min(STRIPES, blocks) if threads > 1 else 1
        cuts = [blocks * i // stripes for i in range(stripes + 1)]
        self._ranges = list(pairwise(cuts))
        self._locks = [[Lock() for _ in self._ranges] for _ in range(partitions)]

    def __repr__(self) -> str:
        return "BlockTable(values=<private>)"

    def add(self, rows: NDArray[np.generic], ids: NDArray[np.uint32]) -> None:
        """Add rows (n, width - 1) to their blocks (partitions, n)."""
        for partition, own in enumerate(ids):
            starts, order = sort_rows(own, self.sums.blocks)
            waiting = list(range(len(self._ranges)))
            while waiting:
                # The first range that nobody writes to; if there is none, the first.
                free = next((r for r in waiting if self._locks[partition][r].acquire(blocking=False)), None)
                if free is None:
                    free = waiting[0]
                    self._locks[partition][free].acquire()
                try:
                    self.sums.sums.add(partition, rows, order, starts, *self._ranges[free])  # type: ignore[arg-type]
                finally:
                    self._locks[partition][free].release()
                waiting.remove(free)


class BlockAccumulator:
    """Private. Adds batches of cells to the sums of their blocks; one a thread, the table common to all."""

    def __init__(
        self, assumptions: Assumptions, table: BlockTable, assigner: Assigner, *, moments: bool, buffer: int = BUFFER
    ) -> None:
        self._response = assumptions.response.name
        self._table, self._assigner = table, assigner
        whole = is_on_grid(assumptions)
        self._design = Design(assumptions, CHUNK) if whole else OpenDesign(assumptions, CHUNK)
        # The column of ones is every row's own; (1, x, y) without it is kept.
        self._lines = self._design.order[len(self._design.order) - (row_width(assumptions) - 1) :].astype(np.int64)
        kind = np.dtype(np.int32 if whole else np.float64)
        room = max(CHUNK, buffer // (kind.itemsize * len(self._lines) + 4 * table.sums.partitions + 4))
        self._rows = np.empty((room, len(self._lines)), dtype=kind)
        self._ids = np.empty((table.sums.partitions, room), dtype=np.uint32)
        self._filled = 0
        self._moments: Accumulator | PersonAccumulator | None = None
        if moments:
            person = assumptions.person
            self._moments = Accumulator(assumptions) if person is None else PersonAccumulator(assumptions)
        self.rows = 0

    def __repr__(self) -> str:
        return "BlockAccumulator(values=<private>)"

    def add(self, cells: Cells) -> None:
        """Add a batch of rows, of any length."""
        rows = len(cells[self._response])
        ids = self._assigner.draw(cells, rows)
        for start in range(0, rows, CHUNK):
            stop = min(start + CHUNK, rows)
            work = self._design.chunk(cells, start, stop)
            if self._moments is not None:
                self._moments.add_chunk(work, cells, start, stop)
            self._keep(work, ids[:, start:stop])
        self.rows += rows

    def _keep(self, work: NDArray[np.float64], ids: NDArray[np.uint32]) -> None:
        if self._design.left_out is not None:
            kept = ~self._design.left_out
            work, ids = np.ascontiguousarray(work[:, kept]), ids[:, kept]
        count = ids.shape[1]
        if self._filled + count > len(self._rows):
            self.flush()
        place = slice(self._filled, self._filled + count)
        take_rows(work, self._lines, self._rows[place])
        self._ids[:, place] = ids
        self._filled += count

    def flush(self) -> None:
        """Add the rows that wait to their blocks."""
        self._table.add(self._rows[: self._filled], self._ids[:, : self._filled])
        self._filled = 0

    def moments(self) -> Moments | None:
        """The moments of the rows added so far, if they are wanted."""
        return None if self._moments is None else self._moments.partial()


def finished(table: BlockTable, accumulators: Sequence[BlockAccumulator]) -> BlockSums:
    """The sums of all rows that were added and are waiting no longer."""
    sums = table.sums
    rows = sum(each.rows for each in accumulators)
    return BlockSums(sums.sums, rows, sums.partitions, sums.blocks, sums.columns, sums.intercept, sums.assumptions)
