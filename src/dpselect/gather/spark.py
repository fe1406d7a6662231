"""Private. Spark: a summary goes to the rows of every partition, and only what it has added up comes back."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from dpselect.assume.study import Study
from dpselect.errors import DataError, DpselectError
from dpselect.gather.sources.arrow import check_schema, checked_cells
from dpselect.gather.sources.source import Database
from dpselect.gather.sources.stream import one_sentence
from dpselect.gather.summary import Summary, add_all

ANSWER = "refusal string, piece binary"
MAX_ANSWER_BYTES = 512 * 2**20
"""Bytes that come back from all tasks together, at most: fewer tasks where a summary is large."""

SPARK_STOPPED = (
    "Spark stopped while the rows were read: see its own log; workers need numpy, pyarrow and msgspec, and PYSPARK_PYTHON must "
    "name the same Python on both sides"
)
LOST_WORKER = (
    "Spark lost a worker while the rows were read, and gave up: run it again, or `dpselect resume` if it was charged already. A "
    "cluster reads the rows of a lost worker again by itself; local mode does not"
)
SIGNS_OF_A_LOST_WORKER = ("Python worker exited unexpectedly", "ExecutorLostFailure", "Lost executor", "Executor lost")
"""In what Spark says. The words are Spark's own; whatever else is in its message is not passed on."""

Adding = TypeVar("Adding", bound=Summary[Any])


def add_in_spark(source: Any, study: Study, summary: Adding) -> Adding:
    """The summary of a Spark data frame, or of a table named by `Database("spark:", table=...)`."""
    rows = _rows(source, study, summary)
    # Fewer partitions, each of whole old ones: nothing is shuffled, and the rows of a person stay where they met.
    tasks = max(1, MAX_ANSWER_BYTES // summary.max_bytes)
    with _running():
        answers = rows.coalesce(tasks).mapInArrow(_shipped(study, summary), ANSWER).toArrow()
    for refusal in answers["refusal"].to_pylist():
        if refusal:
            raise DataError(refusal)
    return summary.from_bytes(piece.as_py() for piece in answers["piece"])


def _rows(source: Any, study: Study, summary: Summary[Any]) -> Any:
    """The needed columns, their types checked; all rows of a person or cluster in one place if the summary asks for that."""
    frame = _table(source) if isinstance(source, Database) else source
    check_schema(_arrow_schema(frame.schema), study)
    from pyspark.sql import functions

    columns = {name: functions.col("`" + name.replace("`", "``") + "`") for name in summary.needs(study)}
    rows = frame.select(*columns.values())
    if summary.rows_together and study.together is not None:
        return rows.repartition(columns[study.together])
    return rows


@contextmanager
def _running() -> Iterator[None]:
    """While Spark works: whatever it raises becomes one sentence, which names a lost worker if there was one."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")  # which is not used here
            yield
    except Exception as error:
        lost = any(sign in str(error) for sign in SIGNS_OF_A_LOST_WORKER)
        with one_sentence(LOST_WORKER if lost else SPARK_STOPPED):
            raise


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


def _shipped(study: Study, summary: Summary[Any]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function that runs on the workers. dpselect need not be installed there, in this version or at all.

    Its source goes along and is imported from memory. So the function itself names nothing of dpselect before that.
    """
    from pyspark import cloudpickle

    plan = cloudpickle.dumps((study, summary.empty()))
    mine, sources = _version(), package_sources()

    def add_partition(batches: Iterable[Any]) -> Iterator[Any]:
        import pickle
        import sys
        from importlib.abc import Loader, MetaPathFinder
        from importlib.machinery import ModuleSpec
        from importlib.metadata import PackageNotFoundError, version

        class Sent(MetaPathFinder, Loader):
            def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
                if name not in sources:
                    return None
                return ModuleSpec(name, self, is_package=sources[name][0])

            def exec_module(self, module: Any) -> None:
                exec(compile(sources[module.__name__][1], f"<sent>/{module.__name__}", "exec"), module.__dict__)

        try:
            installed = version("dpselect")
        except PackageNotFoundError:
            installed = None
        if installed != mine and "dpselect" not in sys.modules:
            sys.meta_path.insert(0, Sent())
        from dpselect.gather.spark import added

        return added(batches, *pickle.loads(plan))

    return add_partition


def _version() -> str | None:
    try:
        return version("dpselect")
    except PackageNotFoundError:  # run from its source
        return None


@cache
def package_sources() -> dict[str, tuple[bool, str]]:
    """The modules that workers need, by name: whether each is a folder, and its text."""
    root = Path(__file__).parents[1]
    files = [
        root / "__init__.py",
        root / "errors.py",
        *(root / "assume").rglob("*.py"),
        *(root / "gather").rglob("*.py"),
    ]
    named = {file: file.relative_to(root.parent).with_suffix("").as_posix().replace("/", ".") for file in files}
    return {
        name.removesuffix(".__init__"): (file.name == "__init__.py", file.read_text(encoding="utf-8"))
        for file, name in named.items()
    }


def added(batches: Iterable[Any], study: Study, plan: Summary[Any]) -> Iterator[Any]:
    """What the rows of a partition add up to, piece by piece, or why there is nothing; on a worker."""
    import pyarrow as pa

    schema = pa.schema([("refusal", pa.string()), ("piece", pa.binary())])
    own = plan.empty()
    try:
        add_all(checked_cells(batches, study, plan.needs(study)), study, own)
    except DpselectError as error:
        # Raised here, it would come back inside a traceback; as a value it stays one sentence.
        yield pa.RecordBatch.from_pylist([{"refusal": str(error), "piece": b""}], schema)
        return
    for piece in own.to_bytes():
        yield pa.RecordBatch.from_pylist([{"refusal": "", "piece": piece}], schema)
