"""Private. Spark: the accumulator goes to the rows, and one row of sums a partition comes back."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError, DpselectError
from dpselect.gather.add_up import add_up_arrow
from dpselect.gather.sources.arrow import check_schema, needed_names
from dpselect.gather.sources.source import Database
from dpselect.gather.sources.stream import one_sentence
from dpselect.gather.sums.accumulate import Accumulator
from dpselect.gather.sums.moments import Moments, pooled

ANSWER = "refusal string, moments string"


def spark_moments(source: Any, assumptions: Assumptions) -> Moments:
    """The moments of a Spark data frame, or of a table named by `Database("spark:", table=...)`."""
    rows = spark_rows(source, assumptions, persons_together=True)
    with running():
        answers = rows.mapInArrow(_shipped(assumptions), ANSWER).collect()
    for row in answers:
        if row["refusal"]:
            raise DataError(row["refusal"])
    found = (moments_of(row["moments"], assumptions) for row in answers)
    return reduce(pooled, found, Accumulator(assumptions).partial())


def spark_rows(source: Any, assumptions: Assumptions, *, persons_together: bool) -> Any:
    """The needed columns, their types checked; all rows of a person in one place if that is asked for."""
    frame = _table(source) if isinstance(source, Database) else source
    check_schema(_arrow_schema(frame.schema), assumptions)
    from pyspark.sql import functions

    columns = [functions.col("`" + name.replace("`", "``") + "`") for name in needed_names(assumptions)]
    rows = frame.select(*columns)
    return rows.repartition(columns[-1]) if persons_together and assumptions.person is not None else rows


@contextmanager
def running() -> Iterator[None]:
    """While Spark works: whatever it raises becomes one sentence."""
    with (
        one_sentence(
            "Spark stopped while the rows were read: see its own log; workers need numpy and pyarrow, and PYSPARK_PYTHON must name "
            "the same Python on both sides"
        ),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")  # which is not used here
        yield


def _table(source: Database) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise DataError(
            "Reading Spark needs the package pyspark, and Java 17: pip install 'dpselect[spark]'."
        ) from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or workers may run another Python than this one
    with one_sentence(f"Spark refuses the table {source.table!r}: check its spelling and the session"):
        session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        frame = session.table(source.table)
        _ = frame.schema
        return frame


def _arrow_schema(schema: Any) -> Any:
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_type

    fields = []
    for field in schema.fields:
        try:
            kind = to_arrow_type(field.dataType)
        except Exception:  # a type that Arrow does not have is refused if it is needed, by its name
            kind = pa.opaque(pa.null(), field.dataType.simpleString(), "Spark")
        fields.append((field.name, kind))
    return pa.schema(fields)


def travel_by_value() -> None:
    """Functions are sent with all the code they need: dpselect need not be installed on the workers."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules["dpselect"])


def _shipped(assumptions: Assumptions) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function that runs on the workers."""
    travel_by_value()
    stated = json.dumps(assumptions.to_dict())

    def add_partition(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        answer = {"refusal": "", "moments": ""}
        try:
            answer["moments"] = moments_text(add_up_arrow(batches, Assumptions.from_dict(json.loads(stated))))
        except DpselectError as error:
            # Raised here, it would come back inside a traceback; as a value it stays one sentence.
            answer["refusal"] = str(error)
        yield pa.RecordBatch.from_pylist([answer], pa.schema([("refusal", pa.string()), ("moments", pa.string())]))

    return add_partition


def moments_text(moments: Moments) -> str:
    """Moments as a worker sends them."""
    return json.dumps([moments.n, moments.products.tolist()])


def moments_of(text: str, assumptions: Assumptions) -> Moments:
    """Moments as they came from a worker."""
    n, products = json.loads(text)
    columns = tuple(column.name for column in assumptions.columns)
    return Moments(n, np.array(products, dtype=object), columns, assumptions.hash)
