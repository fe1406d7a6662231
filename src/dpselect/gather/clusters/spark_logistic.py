"""Private. Spark: the sums of a round of Newton's method, one row of them a partition."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError, DpselectError
from dpselect.gather.add_up_logistic import LogisticPlan, LogisticSums, add_up_logistic_arrow, no_rows
from dpselect.gather.clusters.spark import running, spark_rows, travel_by_value

ANSWER = "refusal string, sums string"


def spark_logistic(source: Any, assumptions: Assumptions, plan: LogisticPlan) -> LogisticSums:
    """The sums of a Spark data frame or table."""
    rows = spark_rows(source, assumptions, persons_together=True)
    with running():
        answers = rows.mapInArrow(_shipped(assumptions, plan), ANSWER).collect()
    for row in answers:
        if row["refusal"]:
            raise DataError(row["refusal"])
    return reduce(add, (_sums_of(row["sums"]) for row in answers), no_rows(len(plan.columns)))


def _shipped(assumptions: Assumptions, plan: LogisticPlan) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function that runs on the workers."""
    travel_by_value()
    stated = json.dumps(assumptions.to_dict())

    def add_partition(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        answer = {"refusal": "", "sums": ""}
        try:
            sums = add_up_logistic_arrow(batches, Assumptions.from_dict(json.loads(stated)), plan)
            answer["sums"] = json.dumps([sums.counts, sums.gradient, sums.gram])
        except DpselectError as error:
            # Raised here, it would come back inside a traceback; as a value it stays one sentence.
            answer["refusal"] = str(error)
        yield pa.RecordBatch.from_pylist([answer], pa.schema([("refusal", pa.string()), ("sums", pa.string())]))

    return add_partition


def _sums_of(text: str) -> LogisticSums:
    counts, gradient, gram = json.loads(text)
    return LogisticSums((counts[0], counts[1]), tuple(gradient), tuple(map(tuple, gram)))
