"""Private. Data frames and Arrow tables in memory, through narwhals."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from dpselect.errors import DataError
from dpselect.gather.sources.stream import Kinds, Stream, one_sentence


def frame_stream(source: Any, kinds: Kinds) -> Stream:
    """A data frame's columns as Arrow: those named by `kinds`, or all if none is."""
    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError:
        raise DataError(
            f"A table cannot be read from a {type(source).__name__}: give (X, y) arrays, a pandas, polars, Dask or Spark data "
            "frame, an Arrow table, a path or a database's address."
        ) from None
    except nw.exceptions.DuplicateError:
        raise DataError("A column name is in the table more than once: rename one of them.") from None
    names = [name for name in frame.columns if name in kinds or not kinds]
    with one_sentence("The table's columns cannot be turned into Arrow columns: give each column one type"):
        table = frame.select(names).to_arrow()
    return Stream(table.schema, lambda asked: iter(table.select(list(asked)).to_batches()))
