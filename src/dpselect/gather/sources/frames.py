"""Private. Data frames, lazy frames, dictionaries of columns and Arrow tables in memory, through narwhals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw

from dpselect.errors import DataError
from dpselect.gather.sources.stream import BATCH, Kinds, Stream, one_sentence

_ONE_TYPE = "The table's columns cannot be turned into Arrow columns: give each column one type"


def frame_stream(source: Any, kinds: Kinds) -> Stream:
    """A data frame's columns as Arrow: those named by `kinds`, or all if none is."""
    if nw.dependencies.is_polars_lazyframe(source):
        return _lazy_stream(source)
    if isinstance(source, Mapping):
        source = _table_of(source, kinds)
    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError:
        raise DataError(
            f"A table cannot be read from a {type(source).__name__}: give (X, y) arrays, a pandas, polars, Dask or Spark data "
            "frame, an Arrow table, a dictionary of columns, a path or a database's address."
        ) from None
    except nw.exceptions.DuplicateError:
        raise DataError("A column name is in the table more than once: rename one of them.") from None
    names = [name for name in frame.columns if name in kinds or not kinds]
    with one_sentence(_ONE_TYPE):
        table = frame.select(names).to_arrow()
    return Stream(table.schema, lambda asked: iter(table.select(list(asked)).to_batches()))


def _table_of(columns: Mapping[Any, Any], kinds: Kinds) -> Any:
    import pyarrow as pa

    asked = {str(name): values for name, values in columns.items() if str(name) in kinds or not kinds}
    with one_sentence("The dictionary's columns are not a table: give each name a list or an array, all equally long"):
        return pa.table(asked)


def _lazy_stream(source: Any) -> Stream:
    """A polars LazyFrame: its plan is run by polars itself, for the needed columns, some rows at a time."""
    with one_sentence("The polars LazyFrame cannot be run: collect it yourself to see why"):
        schema = source.head(0).collect().to_arrow().schema

    def read(names: Sequence[str]) -> Iterator[Any]:
        with one_sentence("The polars LazyFrame stopped while it was run: collect it yourself to see why"):
            asked = source.select(list(names))
            # Older versions of polars give it whole.
            frames = asked.collect_batches(chunk_size=BATCH) if hasattr(asked, "collect_batches") else [asked.collect()]
            for frame in frames:
                yield from frame.to_arrow().to_batches()

    return Stream(schema, read)
