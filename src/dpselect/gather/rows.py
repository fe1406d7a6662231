"""Private. The one door to the rows, wherever they live and whatever is added up from them.

The rows of a cluster are added up where they are; all others here, parts on all cores of this machine, with a clean end whatever
happens.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from functools import reduce
from itertools import chain, islice
from queue import SimpleQueue
from threading import Event
from typing import Any, Generic, Literal, TypeVar, overload

from dpselect.assume.study import Study
from dpselect.errors import DataError
from dpselect.gather.dask import add_in_dask
from dpselect.gather.grid import Cells, Chunks
from dpselect.gather.moments import Moments, MomentSummary, require_sound
from dpselect.gather.saved import pool_files
from dpselect.gather.sources.arrays import array_cells, pieces
from dpselect.gather.sources.arrow import check_schema, checked_cells, kinds_of
from dpselect.gather.sources.open import is_read_once, moments_files, open_stream
from dpselect.gather.sources.source import Database, parse_address
from dpselect.gather.sources.stream import Progress, Reporter
from dpselect.gather.spark import add_in_spark
from dpselect.gather.summary import Count, Summary, add_all

Telling = Callable[[Progress], None]
Result = TypeVar("Result")
MAX_THREADS = 8
MAX_COLUMNS_AT_ONCE = 64
"""Columns that are read at the same time by all threads, more or less: each column of each part needs some megabytes."""
LOOK_SECONDS = 0.1
"""Between two looks at the progress, and at Ctrl-C."""
Adding = TypeVar("Adding", bound=Summary[Any])


@overload
def gather(source: Any, study: Study, summary: None = None, progress: Telling | None = None) -> Moments: ...
@overload
def gather(source: Any, study: Study, summary: Summary[Result], progress: Telling | None = None) -> Result: ...
def gather(source: Any, study: Study, summary: Any = None, progress: Telling | None = None) -> Any:
    """Read a table once and add up its rows, with values outside their range moved to the nearest limit. Private.

    Parameters
    ----------
    source : table, path or address
        A pair of arrays (predictors in the order stated, response; weights third, where the study states them); a pandas, polars,
        Dask or Spark data frame; an Arrow table, stream or dataset; a path ("table.parquet", "folder/", "part-*.csv.gz",
        "file.duckdb?table=t") or a list of paths; a database's address with a table ("postgresql://host/base?table=t",
        "spark:?table=t"); `Csv` or `Database`. Where moments are asked for, moments that were gathered before under the same study
        serve too, saved or not.
    study : Study
        What is stated before the rows are read.
    summary : Summary, optional
        What is added up; by default exact moments.
    progress : callable, optional
        Called with what was read so far.

    Returns
    -------
    Moments
        Exact sums, confidential; or whatever `summary` comes to.
    """
    if summary is None:
        summary = MomentSummary(study)
        if isinstance(source, Moments):
            return of_these(source, study)
        if saved := moments_files(source):
            return pool_files(saved, study)
    _refuse_moments(source)
    return _added(source, study, summary.fresh(), progress).result()


def _added(source: Any, study: Study, summary: Any, progress: Telling | None) -> Any:
    engine, source = engine_of(source)
    if engine == "spark":
        return add_in_spark(source, study, summary)
    if engine == "dask":
        return add_in_dask(source, study, summary)
    # Closed at once when anything goes wrong or Ctrl-C is pressed, so that no connection outlives the call.
    with closing(table_parts(source, study, summary.needs(study))) as parts:
        return add_here(parts, study, summary, Reporter(progress))


def engine_of(source: Any) -> tuple[Literal["here", "spark", "dask"], Any]:
    """Where rows are added up, and the source as that place takes it: a cluster's rows stay in the cluster."""
    if isinstance(source, str):
        source = parse_address(source) or source
    package = type(source).__module__.partition(".")[0]
    if package == "pyspark" or (isinstance(source, Database) and source.engine == "spark"):
        return "spark", source
    return ("dask" if package in ("dask", "dask_expr") else "here"), source


def table_parts(source: Any, study: Study, names: Sequence[str]) -> Generator[Iterable[Cells]]:
    """The table in pieces, each of batches of cells, which several threads may go through at the same time."""
    if isinstance(source, tuple):
        yield from ([piece] for piece in pieces(array_cells(*_arrays(source, study))))
        return
    with open_stream(source, kinds_of(study), study.source) as stream:
        fills_up = stream.leaves_out and _counts_empty_rows(study)
        if fills_up and study.rows is None:
            raise DataError(
                "A workbook does not store empty rows, so its number of rows must be stated: add rows = 3000 to the study, or "
                "--rows 3000 without one, with this table's number."
            )
        check_schema(stream.schema, study)
        parts = stream.in_parts(names)
        if fills_up:
            parts = _filled_up(parts, stream.schema, study, names)
        for part in parts:
            yield checked_cells(part, study, names)


def _arrays(source: tuple[Any, ...], study: Study) -> tuple[Any, ...]:
    wanted = ["X", "y"] if study.weights is None else ["X", "y", "weights"]
    if len(source) != len(wanted):
        raise DataError(
            f"A tuple of another length is not a table of this study: give ({', '.join(wanted)}), and state weights in the study "
            "if there are any."
        )
    return source[0], source[1], study, *source[2:]


def of_these(moments: Moments, study: Study) -> Moments:
    """Moments, refused if they were gathered under other assumptions, or made by a hand that added up no rows."""
    if moments.study != study.hash:
        raise DataError("These moments were gathered under other assumptions: gather them again with these.")
    return require_sound(moments, study)


def count_rows(source: Any, study: Study) -> int:
    """The number of rows, from the source's own word where it has one, else by reading one column through.

    Refused where a source can be read only once, because then the rows themselves would be gone.
    """
    _refuse_moments(source)
    if isinstance(source, tuple):  # what is no pair is refused where it is read
        return len(source[-1]) if source and hasattr(source[-1], "__len__") else 0
    engine, source = engine_of(source)
    if engine == "dask":
        return len(source)
    if is_read_once(source) or (isinstance(source, Database) and engine == "spark"):
        raise DataError(
            "This source is not read just to count its rows: state about how many there are, rows in the study, such as "
            "rows = 20000."
        )
    return int(source.count()) if engine == "spark" else gather(source, study, Count())


def has_rows_again(source: Any) -> bool:
    """Whether a source can be read several times, row by row: no moments, and no stream."""
    return not (isinstance(source, Moments) or moments_files(source) or is_read_once(source))


def require_repeatable(source: Any, what: str) -> None:
    """Refuse what cannot be read several times, row by row; `what` needs it."""
    if isinstance(source, Moments) or moments_files(source):
        raise DataError(f"{what} read the rows again for each round: give a table, a path or an address, not moments.")
    if is_read_once(source):
        raise DataError(
            f"{what} read the table several times, and a stream can be read once: give a table, a path or an address."
        )


def _counts_empty_rows(study: Study) -> bool:
    """Whether a row without any cell is one of the rows: where their number is public, so that no record may change it.

    It is no person, has no cluster and no weight, and is in no subgroup. Where the number of rows is private, to leave out a record
    that is empty is to remove it, and no other row with it.
    """
    apart = study.together is not None or study.weights is not None or study.only is not None
    return study.neighbors == "replace-one" and not apart


def _filled_up(
    parts: Iterable[Iterable[Any]], schema: Any, study: Study, names: Sequence[str]
) -> Iterator[Iterable[Any]]:
    """A table without its empty rows, with as many of them as the study states: else one record decided how many rows there are."""
    import pyarrow as pa

    assert study.rows is not None
    left = study.rows
    for part in parts:
        for batch in part:
            left -= batch.num_rows
            if left < 0:
                raise DataError(
                    f"The workbook has more than the {study.rows} rows that the study states, and may leave out empty rows: state "
                    "rows exactly."
                )
            yield [batch]
    if left and study.missing == "error":  # each would be refused, as an empty row that is stored is
        raise DataError(
            f"The workbook has fewer than the {study.rows} rows that the study states, and may leave out empty rows: state rows "
            "exactly, and give every record a cell."
        )
    if left:
        kinds = [schema.field(name).type for name in names]
        yield [pa.record_batch([pa.nulls(left, kind) for kind in kinds], names=list(names))]


def _refuse_moments(source: Any) -> None:
    if isinstance(source, Moments) or moments_files(source):
        raise DataError(
            "This reads rows, and moments no longer hold them: give the table itself, or choose with method='pcls' or 'pcpl'."
        )


def add_here(parts: Iterable[Iterable[Cells]], study: Study, summary: Adding, report: Reporter) -> Adding:
    """The summary of all parts of a table: threads take a part each. Sums are exact, so their order is nothing.

    Few parts wait at a time, so memory is bounded. One thread does all of a small table, and of one with persons or clusters
    whose rows have to meet.
    """
    parts = iter(parts)
    first = list(islice(parts, 2))
    parts = chain(first, parts)
    if len(first) < 2 or (summary.rows_together and study.together is not None):
        add_all(_reported(chain.from_iterable(parts), report), study, summary)
        return summary
    adders = [_Adder(each, study) for each in summary.for_threads(thread_count(summary, study))]
    share_out(parts, adders, lambda: report(sum(each.rows for each in adders)))
    with ThreadPoolExecutor(len(adders)) as pool:
        list(pool.map(lambda each: each.summary.finish(), adders))
    report(sum(each.rows for each in adders), done=True)
    return reduce(lambda one, other: one.merge(other), [each.summary for each in adders])


def thread_count(summary: Summary[Any], study: Study) -> int:
    """Threads that may read and add up at the same time."""
    return max(1, min(cores(), MAX_THREADS, MAX_COLUMNS_AT_ONCE // len(summary.needs(study))))


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Adder(Generic[Adding]):
    """Private. A summary, with the memory in which its rows are put on the grid; for one thread at a time."""

    def __init__(self, summary: Adding, study: Study) -> None:
        self.summary, self._chunks = summary, Chunks(study)
        self.rows = 0

    def add(self, cells: Cells) -> None:
        for chunk in self._chunks.of(cells):
            self.summary.add(chunk)
            self.rows += chunk.count


def share_out(parts: Iterable[Iterable[Cells]], adders: Sequence[_Adder[Any]], look: Callable[[], None]) -> None:
    """Add every part to a summary that is free, one thread each; `look` is called from this thread now and then."""
    free: SimpleQueue[_Adder[Any]] = SimpleQueue()
    for each in adders:
        free.put(each)
    stopped = Event()

    def add_part(part: Iterable[Cells]) -> None:
        adder = free.get()
        try:
            for cells in part:
                if stopped.is_set():
                    break
                adder.add(cells)
        finally:
            if isinstance(part, Generator):
                part.close()  # let go of the file behind it at once, not when memory is tidied up
            free.put(adder)

    waiting: deque[Future[None]] = deque()
    pool = ThreadPoolExecutor(len(adders))
    try:
        for part in parts:
            waiting.append(pool.submit(add_part, part))
            look()
            if len(waiting) > len(adders) + 1:
                _finish(waiting.popleft(), look)
        while waiting:
            _finish(waiting.popleft(), look)
    finally:
        stopped.set()  # after an error or Ctrl-C: the parts under way end with their batch
        pool.shutdown(cancel_futures=True)
        waiting.clear()


def _finish(future: Future[None], look: Callable[[], None]) -> None:
    try:
        while not future.done():
            wait([future], timeout=LOOK_SECONDS)
            look()
        future.result()
    finally:
        del future  # it holds an error whose traceback holds this frame, and with it private batches


def _reported(batches: Iterable[Cells], report: Reporter) -> Iterator[Cells]:
    """The same batches; after each one it is said how many rows there were so far."""
    rows = 0
    for cells in batches:
        yield cells
        rows += len(next(iter(cells.values())))
        report(rows)
    report(rows, done=True)
