"""Private. Data frames and Arrow tables in memory, through narwhals."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from dpselect.errors import DataError


def frame_table(source: Any, names: list[str]) -> Any:
    """An Arrow table of those named columns that a data frame has."""
    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError:
        raise DataError(
            f"A table cannot be read from a {type(source).__name__}: give (X, y) arrays, a pandas or polars data frame "
            "or an Arrow table."
        ) from None
    except nw.exceptions.DuplicateError:
        raise DataError("A column name is in the table more than once: rename one of them.") from None
    known = set(frame.columns)
    try:
        return frame.select([name for name in names if name in known]).to_arrow()
    except Exception as error:  # Arrow's message may quote a cell
        raise DataError(
            f"The table's columns cannot be turned into Arrow columns ({type(error).__name__}): give each column one type."
        ) from None
