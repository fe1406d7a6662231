"""Private. Data frames, lazy frames, dictionaries of columns and Arrow tables in memory, through narwhals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import narwhals as nw

from dpselect.errors import DataError
from dpselect.gather.sources.arrow import is_number, is_text, require_named
from dpselect.gather.sources.stream import BATCH_ROWS, Kinds, Stream, one_sentence, refuse_untyped_scan, require_whole
from dpselect.gather.sources.text_numbers import number_in

_MIXED = "The column {!r} cannot be turned into an Arrow column: give all its cells one type"


def frame_stream(source: Any, kinds: Kinds) -> Stream:
    """A data frame's columns as Arrow: those named by `kinds`, or all if none is."""
    if nw.dependencies.is_polars_lazyframe(source):
        return _lazy_stream(source)
    if isinstance(source, Mapping):
        return _table_stream(_table_of(source, kinds))
    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError:
        if isinstance(source, tuple):
            raise DataError(
                "Arrays have no names: give (X, y) with a study that names the response and its columns, "
                "Study(Numeric('y'), [...])."
            ) from None
        raise DataError(
            f"A table cannot be read from a {type(source).__name__}: give (X, y) arrays, a pandas, polars, Dask or Spark data "
            "frame, an Arrow table, a dictionary of columns, a path or a database's address."
        ) from None
    except nw.exceptions.DuplicateError:
        raise DataError("A column name is in the table more than once: rename one of them.") from None
    for name in kinds:
        require_named(name, frame.columns)
    names = [name for name in frame.columns if name in kinds or not kinds]
    table = _arrow(frame.select(names).to_arrow)
    guesses = {name for name in names if _is_a_guess(frame.get_column(name))}
    if table is not None and not guesses:
        return _table_stream(table)
    columns = {}
    for name in names:
        column = _arrow(frame.get_column(name).to_arrow) if table is None else table[name]
        wanted = kinds.get(name) if name in guesses else None
        columns[name] = _column(column, frame.get_column(name).to_list, name, wanted, schema_only=not kinds)
    return _table_stream(_together(columns))


def guessed_names(source: Any) -> frozenset[str]:
    """The columns of a data frame or a dictionary whose type is only what their cells look like."""
    if isinstance(source, Mapping):
        return frozenset(str(key) for key, values in source.items() if _is_untyped(values))
    try:
        frame = nw.from_native(source, eager_only=True)
    except (TypeError, nw.exceptions.DuplicateError):  # no frame, or one that is refused where it is read
        return frozenset()
    return frozenset(name for name in frame.columns if _is_a_guess(frame.get_column(name)))


def _is_untyped(values: Any) -> bool:
    return isinstance(values, list | tuple) or getattr(getattr(values, "dtype", None), "kind", "") in "OUSc"


def _arrow(convert: Callable[[], Any]) -> Any:
    """What a conversion gives, or None where it fails; its message may quote a cell, so it is forgotten here."""
    try:
        return convert()
    except Exception:
        return None


def _is_a_guess(series: nw.Series[Any]) -> bool:
    """Whether a column's type says no more than its cells: objects, text, categories of text, complex and very long numbers.

    Whoever read a text file into memory made text of a column of numbers where one cell is none, and of all its other cells; or
    numbers of 128 bits, which Arrow has not, where one is as long.
    """
    native = series.to_native()
    if nw.dependencies.is_pyarrow_chunked_array(native):  # of a damaged type no more than this should be asked
        kind = native.type
        return is_text(kind.value_type if nw.dependencies.get_pyarrow().types.is_dictionary(kind) else kind)
    if not nw.dependencies.is_pandas_like_series(native):
        guesses = (nw.Object(), nw.String(), nw.Int128(), nw.UInt128())
        return nw.dependencies.is_polars_series(native) and series.dtype in guesses
    if getattr(series.to_native().dtype, "kind", "") == "c":  # one complex number makes pandas call all others so
        return True
    categories = getattr(series.to_native().dtype, "categories", None)
    kind = series.dtype if categories is None else nw.from_native(categories.to_series(), series_only=True).dtype
    return kind in (nw.Object(), nw.String())


def _column(
    column: Any, cells: Callable[[], Sequence[Any]], name: str, wanted: str | None, *, schema_only: bool
) -> Any:
    """A column as it is; where its type is a guess and no cell may refuse the table, cell by cell if it is another type.

    Where only names and types are asked for, a column whose cells have no common type has none: it may be in no study at all.
    """
    import pyarrow as pa

    kind = None if column is None else column.type
    if kind is not None and pa.types.is_dictionary(kind):
        kind = kind.value_type
    if wanted == "number or missing" and (kind is None or not is_number(kind)):
        return pa.array(list(map(number_in, cells())), pa.float64())
    if wanted == "text or missing" and (kind is None or not is_text(kind)):
        return pa.array([cell if _is_unicode(cell) else None for cell in cells()], pa.string())
    if column is None:
        listed = _arrow(cells) if schema_only else None
        if listed is None:
            raise DataError(f"{_MIXED.format(name)}.")
        return pa.nulls(len(listed))
    return column


def _is_unicode(cell: Any) -> bool:
    return isinstance(cell, str) and not any("\ud800" <= each <= "\udfff" for each in cell)


def _table_of(columns: Mapping[Any, Any], kinds: Kinds) -> Any:
    """A dictionary of lists or arrays; the types of lists are guesses from their cells."""
    import pyarrow as pa

    for name in kinds:
        require_named(name, [str(key) for key in columns])
    found = {}
    for key, values in columns.items():
        name = str(key)
        if name in kinds or not kinds:
            column = _arrow(partial(pa.array, values))
            wanted = kinds.get(name) if _is_untyped(values) else None
            found[name] = _column(column, partial(list, values), name, wanted, schema_only=not kinds)
    return _together(found)


def _together(columns: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    with one_sentence("The dictionary's columns are not a table: give each name a list or an array, all equally long"):
        return pa.table(dict(columns))


def _table_stream(table: Any) -> Stream:
    def read(names: Sequence[str]) -> Iterator[Any]:
        for batch in table.select(list(names)).to_batches():
            yield require_whole(batch, "The table")

    return Stream(table.schema, read)


def _lazy_stream(source: Any) -> Stream:
    """A polars LazyFrame: its plan is run by polars itself, for the needed columns, some rows at a time."""
    with one_sentence("The polars LazyFrame cannot be run: collect it yourself to see why"):
        refuse_untyped_scan(source.explain(optimized=False), "The polars LazyFrame")
        schema = source.head(0).collect().to_arrow().schema

    def read(names: Sequence[str]) -> Iterator[Any]:
        with one_sentence("The polars LazyFrame stopped while it was run: collect it yourself to see why"):
            asked = source.select(list(names))
            # Older versions of polars give it whole.
            frames = (
                asked.collect_batches(chunk_size=BATCH_ROWS) if hasattr(asked, "collect_batches") else [asked.collect()]
            )
            for frame in frames:
                yield from frame.to_arrow().to_batches()

    return Stream(schema, read)
