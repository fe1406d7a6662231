"""Private. From batches of cells to block sums, and to the moments in the same pass: here, and on every worker of a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.gather.add_up import checked_cells, reported, share_out, thread_count
from dpselect.gather.sources.stream import Reporter
from dpselect.gather.sums.assign import Assigner
from dpselect.gather.sums.block_accumulate import BUFFER, BlockAccumulator, BlockTable, finished
from dpselect.gather.sums.blocks import BlockSums
from dpselect.gather.sums.grid import Cells
from dpselect.gather.sums.moments import Moments, pooled

BothSums = tuple[BlockSums, Moments | None]


@dataclass(frozen=True, slots=True, repr=False)
class BlockPlan:
    """Private. How many blocks and partitions, who draws them, and whether the moments are wanted too."""

    blocks: int
    partitions: int
    assigner: Assigner
    moments: bool

    def __repr__(self) -> str:
        return f"BlockPlan(blocks={self.blocks}, partitions={self.partitions}, assigner=<private>)"


def add_up_blocks(batches: Iterable[Cells], assumptions: Assumptions, plan: BlockPlan) -> BothSums:
    """The sums of some rows, which may be none; with persons and moments, all rows of a person must be among them."""
    return _together([batches], 1, assumptions, plan, Reporter(None))


def add_up_blocks_arrow(batches: Iterable[Any], assumptions: Assumptions, plan: BlockPlan) -> BothSums:
    """The same for record batches."""
    return add_up_blocks(checked_cells(batches, assumptions), assumptions, plan)


def add_up_blocks_here(
    parts: Iterable[Iterable[Cells]], assumptions: Assumptions, plan: BlockPlan, report: Reporter
) -> BothSums:
    """With all cores of this machine: threads take a part each, and all add to one table.

    Sums are exact, so their order is nothing. One thread does all of a small table, and all where moments of persons are
    wanted, whose rows have to meet.
    """
    parts = iter(parts)
    first = list(islice(parts, 2))
    parts = chain(first, parts)
    alone = len(first) < 2 or (plan.moments and assumptions.person is not None)
    return _together(parts, 1 if alone else thread_count(assumptions), assumptions, plan, report)


def _together(
    parts: Iterable[Iterable[Cells]], threads: int, assumptions: Assumptions, plan: BlockPlan, report: Reporter
) -> BothSums:
    table = BlockTable(assumptions, plan.blocks, plan.partitions, threads)
    accumulators = [
        BlockAccumulator(assumptions, table, plan.assigner, moments=plan.moments, buffer=BUFFER // threads)
        for _ in range(threads)
    ]
    if threads == 1:
        for cells in reported(chain.from_iterable(parts), assumptions, report):
            accumulators[0].add(cells)
        accumulators[0].flush()
    else:
        share_out(parts, accumulators, lambda: report(sum(each.rows for each in accumulators)))
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(BlockAccumulator.flush, accumulators))
        report(sum(each.rows for each in accumulators), done=True)
    found = [moments for each in accumulators if (moments := each.moments()) is not None]
    return finished(table, accumulators), reduce(pooled, found) if found else None
