"""Private. Spark: every task adds up its rows by block, and the sums of blocks that have rows come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError, DpselectError
from dpselect.gather.add_up_blocks import BlockPlan, BothSums, add_up_blocks_arrow
from dpselect.gather.clusters.pieces import Piece, add_piece, pieces_of
from dpselect.gather.clusters.spark import moments_of, moments_text, running, spark_rows, travel_by_value
from dpselect.gather.sums.accumulate import Accumulator
from dpselect.gather.sums.blocks import empty_sums, sums_bytes
from dpselect.gather.sums.moments import pooled

ANSWER = "refusal string, n long, moments string, places binary, values binary, tops binary"
TRAVEL = 512 * 2**20
"""Bytes that may come back from all tasks together, at most: fewer tasks where the sums are large."""


def spark_blocks(source: Any, assumptions: Assumptions, plan: BlockPlan) -> BothSums:
    """The block sums of a Spark data frame or table, and its moments if they are wanted."""
    rows = spark_rows(source, assumptions, persons_together=plan.moments)
    tasks = max(1, TRAVEL // sums_bytes(assumptions, plan.blocks, plan.partitions))
    with running():
        # Fewer partitions, each of whole old ones: nothing is shuffled, and a person's rows stay where they met.
        answers = rows.coalesce(tasks).mapInArrow(_shipped(assumptions, plan), ANSWER).toArrow()
    sums, n, moments = empty_sums(assumptions, plan.blocks, plan.partitions), 0, []
    for batch in answers.to_batches():
        for row in batch.to_pylist():
            if row["refusal"]:
                raise DataError(row["refusal"])
            if row["places"] is not None:
                add_piece(sums, Piece(row["places"], row["values"], row["tops"]))
                continue
            n += row["n"]
            if plan.moments:
                moments.append(moments_of(row["moments"], assumptions))
    found = reduce(pooled, moments, Accumulator(assumptions).partial()) if plan.moments else None
    return replace(sums, n=n), found


def _shipped(assumptions: Assumptions, plan: BlockPlan) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function that runs on the workers. With persons, the plan holds the key of their assignment."""
    travel_by_value()
    stated = json.dumps(assumptions.to_dict())

    def add_partition(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        kinds = {"string": pa.string(), "long": pa.int64(), "binary": pa.binary()}
        schema = pa.schema([(name, kinds[kind]) for name, kind in (each.split() for each in ANSWER.split(", "))])
        try:
            sums, moments = add_up_blocks_arrow(batches, Assumptions.from_dict(json.loads(stated)), plan)
        except DpselectError as error:
            # Raised here, it would come back inside a traceback; as a value it stays one sentence.
            yield pa.RecordBatch.from_pylist([{"refusal": str(error)}], schema)
            return
        text = None if moments is None else moments_text(moments)
        yield pa.RecordBatch.from_pylist([{"refusal": "", "n": sums.n, "moments": text}], schema)
        for piece in pieces_of(sums):
            yield pa.RecordBatch.from_pylist([{"refusal": ""} | piece._asdict()], schema)

    return add_partition
