"""Private. Damaged Arrow columns are found before anything computes with them: an offset beyond its buffer kills a process."""

from __future__ import annotations

from typing import Any

from dpselect.errors import DataError


def require_whole(batch: Any, what: str) -> Any:
    """The same batch, refused if it is damaged."""
    if not is_whole(batch):
        raise DataError(f"{what} holds damaged columns: write it again from its source.")
    return batch


def is_whole(batch: Any) -> bool:
    """Whether every buffer of a record batch is as long as its columns need, and every offset and index is within them.

    Text is looked at as bytes: whether it is UTF-8 is a matter of single cells, which `missing` decides.
    """
    import pyarrow as pa

    try:
        for column in batch.columns:
            _check(column)
    except (pa.ArrowException, ValueError, OverflowError):  # its message may quote a cell
        return False
    return all(len(column) == batch.num_rows for column in batch.columns)


def _check(column: Any) -> None:
    import pyarrow as pa

    column.validate()
    if pa.types.is_dictionary(column.type):
        _check(column.dictionary)
        column.indices.validate(full=True)
        # Checked here and not by the column itself, which would look at its categories as text.
        pa.DictionaryArray.from_arrays(column.indices, pa.nulls(len(column.dictionary)))
        return
    as_bytes(column).validate(full=True)


def as_bytes(column: Any) -> Any:
    """The same column, text as bytes; nothing is copied and nothing is looked at."""
    import pyarrow as pa

    kinds = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    kind = kinds.get(column.type)
    if kind is None:
        return column
    if kind == pa.binary_view():  # it has as many buffers as it likes, which older versions of pyarrow miscount
        return column.view(kind)
    return pa.Array.from_buffers(kind, len(column), column.buffers(), -1, column.offset)
