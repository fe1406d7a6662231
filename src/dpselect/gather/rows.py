"""Private. The one door to the rows, wherever they live and whatever is added up from them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, Literal, TypeVar, overload

from dpselect.assume.study import Study
from dpselect.errors import DataError
from dpselect.gather.dask import add_in_dask
from dpselect.gather.grid import Cells
from dpselect.gather.moments import Moments, MomentSummary, require_sound
from dpselect.gather.saved import pool_files
from dpselect.gather.sources.arrays import array_cells, pieces
from dpselect.gather.sources.arrow import check_schema, checked_cells, kinds_of
from dpselect.gather.sources.open import is_read_once, moments_files, open_stream
from dpselect.gather.sources.source import Database, parse_address
from dpselect.gather.sources.stream import Progress, Reporter
from dpselect.gather.spark import add_in_spark
from dpselect.gather.summary import Count, Summary
from dpselect.gather.threads import add_here

Telling = Callable[[Progress], None]
Result = TypeVar("Result")


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
        check_schema(stream.schema, study)
        parts = stream.in_parts(names)
        for part in parts if stream.tells_rows else _filled_up(parts, stream.schema, study, names):
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


def _filled_up(
    parts: Iterable[Iterable[Any]], schema: Any, study: Study, names: Sequence[str]
) -> Iterator[Iterable[Any]]:
    """A table that does not tell how many rows it has, with empty rows up to the number that the study states.

    Else one record decided how many rows there are: whether the last holds anything, and so those above it that hold nothing. Of
    persons, weighted rows and subgroups such rows are no part anyway; where they are left out and their number is private, neither.
    """
    import pyarrow as pa

    apart = study.person is not None or study.weights is not None or study.only is not None
    if apart or (study.neighbors != "replace-one" and study.missing != "midpoint"):
        yield from parts
        return
    if study.rows is None:
        raise DataError(
            "This workbook does not store empty rows, so nobody can tell how many rows it has: state rows in the study, such as "
            "rows = 300, exactly; or save the sheet as CSV."
        )
    left = study.rows
    for part in parts:
        for batch in part:
            left -= batch.num_rows
            if left < 0:
                raise DataError(
                    f"The workbook has more than the {study.rows} rows that the study states, and does not store empty rows: state "
                    "rows exactly, or save the sheet as CSV."
                )
            yield [batch]
    if left:
        kinds = [schema.field(name).type for name in names]
        yield [pa.record_batch([pa.nulls(left, kind) for kind in kinds], names=list(names))]


def _refuse_moments(source: Any) -> None:
    if isinstance(source, Moments) or moments_files(source):
        raise DataError(
            "This reads rows, and moments no longer hold them: give the table itself, or choose with method='pcls' or 'pcpl'."
        )
