"""Private. No damaged batch and no half file: whole columns, of files that nobody writes to meanwhile.

An offset beyond its buffer kills a process, so damaged Arrow columns are found before anything computes with them. A file that
is written to while it is read would be part old and part new, with a row twice or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
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


class Watch:
    """Private. A file, held open to see whether anybody writes to it.

    If another file takes its name meanwhile, this one stays what it is, and may be read to its end.
    """

    __slots__ = ("_descriptor", "_name", "_state")

    def __init__(self, file: str) -> None:
        self._name = file
        self._descriptor: int | None = None
        try:
            self._descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            reason = error.strerror or "it cannot be opened"
            raise DataError(f"{file!r} cannot be read: {reason}.") from None
        self._state = _state(os.fstat(self._descriptor))

    def __repr__(self) -> str:
        return "Watch(values=<private>)"

    def __del__(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def require_name(self) -> None:
        """Refuse if the name is another file's now: ask right after a reader has opened the file by its name."""
        assert self._descriptor is not None
        if not os.path.samestat(os.fstat(self._descriptor), os.stat(self._name)):
            raise DataError(_sentence(self._name))

    def require_unchanged(self) -> None:
        """Refuse if somebody has written to the file since: ask after its last row was read."""
        assert self._descriptor is not None
        if _state(os.fstat(self._descriptor)) != self._state:
            raise DataError(_sentence(self._name))


def states_of(files: Sequence[str]) -> list[tuple[int, ...]]:
    """What tells whether files that a library opens by their names were replaced or written to."""
    found = [os.stat(file) for file in files]
    return [(each.st_dev, each.st_ino, *_state(each)) for each in found]


def require_same(files: Sequence[str], before: Sequence[tuple[int, ...]]) -> None:
    """Refuse if a file is not what it was before."""
    for file, then, now in zip(files, before, states_of(files), strict=True):
        if then != now:
            raise DataError(_sentence(file))


def _state(found: os.stat_result) -> tuple[int, int]:
    return found.st_size, found.st_mtime_ns


def _sentence(file: str) -> str:
    return f"{file!r} changed while it was read: read it again when nobody writes to it."


def as_text(column: Any) -> Any:
    """A column of bytes, called text without a look at them: what compares bytes may take it so."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.string(), len(column), column.buffers(), -1, column.offset)


def is_utf8(column: Any) -> bool:
    """Whether all cells of a column of text are text."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowException:
        return False
    return True
