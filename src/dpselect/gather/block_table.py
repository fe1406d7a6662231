"""Private. One door for votes: rows in, exact sums by block out, and the moments in the same pass where they are wanted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import AssumptionError, DataError
from dpselect.gather.add_up_blocks import BlockPlan, BothSums, add_up_blocks_here
from dpselect.gather.clusters.cluster import cluster_blocks
from dpselect.gather.count import refuse_sums
from dpselect.gather.sources.stream import Progress, Reporter
from dpselect.gather.sums.accumulate import checked
from dpselect.gather.sums.assign import Assigner, fresh_assigner
from dpselect.gather.sums.blocks import sums_bytes
from dpselect.gather.table import table_parts

MOST_BYTES = 512 * 2**20
"""Memory for the sums of all blocks; a rule that asks for more is refused before a row is read."""
MOST_BLOCKS = 2**31 - 1


def gather_blocks(
    source: Any,
    assumptions: Assumptions,
    blocks: int,
    partitions: int,
    *,
    moments: bool = False,
    progress: Callable[[Progress], None] | None = None,
    assigner: Assigner | None = None,
) -> BothSums:
    """The sums of every block of every partition, and the moments too if they are wanted: one pass.

    `source` is any table that `gather_table` takes. Each row goes to a block of its own chance in every partition, drawn
    afresh for this call, or all rows of a person do together; `assigner` is for tests. A row with a missing cell counts in no
    block, unless it is refused or the middle of stated bounds is put there (`missing`); a number without bounds counts up to
    1e75.
    """
    _check(assumptions, blocks, partitions, moments)
    refuse_sums(source)
    plan = BlockPlan(blocks, partitions, assigner or fresh_assigner(blocks, partitions, assumptions.person), moments)
    cluster = cluster_blocks(source)
    if cluster is not None:
        return _checked(cluster(assumptions, plan), assumptions)
    # Closed at once when anything goes wrong or Ctrl-C is pressed, so that no connection outlives the call.
    with closing(table_parts(source, assumptions)) as parts:
        return _checked(add_up_blocks_here(parts, assumptions, plan, Reporter(progress)), assumptions)


def _check(assumptions: Assumptions, blocks: int, partitions: int, moments: bool) -> None:
    for what, value in (("blocks", blocks), ("partitions", partitions)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_BLOCKS:
            raise AssumptionError(f"{what} is {value!r}; it must be a whole number from 1 to {MOST_BLOCKS:,}.")
    if not sums_bytes(assumptions, blocks, partitions) <= MOST_BYTES:
        raise AssumptionError(
            f"{blocks:,} blocks in {partitions} partition(s) of this study need more than {MOST_BYTES // 2**20} MB: use fewer, "
            "larger blocks."
        )
    if moments:
        assumptions.require_bounds("Adding up moments")


def _checked(gathered: BothSums, assumptions: Assumptions) -> BothSums:
    sums, moments = gathered
    if moments is not None:
        moments = checked(moments, assumptions)
    if sums.n == 0 and assumptions.neighbors == "replace-one":
        raise DataError("The table has no rows; give at least one.")
    return sums, moments
