"""Private. Spark: the accumulator goes to the rows, and one row of sums a partition comes back."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
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

ANSWER = "refusal string, n long, products string"


def spark_moments(source: Any, assumptions: Assumptions) -> Moments:
    """The moments of a Spark data frame, or of a table named by `Database("spark:", table=...)`."""
    frame = _table(source) if isinstance(source, Database) else source
    check_schema(_arrow_schema(frame.schema), assumptions)
    from pyspark.sql import functions

    columns = [functions.col("`" + name.replace("`", "``") + "`") for name in needed_names(assumptions)]
    rows = frame.select(*columns)
    if assumptions.person is not None:
        rows = rows.repartition(columns[-1])  # all rows of a person in one place
    with (
        one_sentence(
            "Spark stopped while the rows were read: see its own log; workers need numpy and pyarrow, and PYSPARK_PYTHON must name "
            "the same Python on both sides"
        ),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")  # which is not used here
        answers = rows.mapInArrow(_shipped(assumptions), ANSWER).collect()
    return reduce(pooled, (_moments(row, assumptions) for row in answers), Accumulator(assumptions).partial())


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


def _shipped(assumptions: Assumptions) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function that runs on the workers, with all the code it needs: dpselect need not be installed there."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules["dpselect"])
    stated = json.dumps(assumptions.to_dict())

    def add_partition(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        answer = {"refusal": "", "n": 0, "products": "[]"}
        try:
            found = add_up_arrow(batches, Assumptions.from_dict(json.loads(stated)))
            answer |= {"n": found.n, "products": json.dumps(found.products.tolist())}
        except DpselectError as error:
            # Raised here, it would come back inside a traceback; as a value it stays one sentence.
            answer["refusal"] = str(error)
        yield pa.RecordBatch.from_pylist(
            [answer], pa.schema([("refusal", pa.string()), ("n", pa.int64()), ("products", pa.string())])
        )

    return add_partition


def _moments(row: Any, assumptions: Assumptions) -> Moments:
    if row["refusal"]:
        raise DataError(row["refusal"])
    columns = tuple(column.name for column in assumptions.columns)
    return Moments(row["n"], np.array(json.loads(row["products"]), dtype=object), columns, assumptions.hash)
