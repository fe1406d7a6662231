"""Private. Parquet and Arrow files: one, several, or a folder whose subfolders are named after a column's values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from dpselect.errors import DataError
from dpselect.gather.listed import Watch
from dpselect.gather.sources.source import format_of
from dpselect.gather.sources.stream import (
    MIN_PART_ROWS,
    NUMBER_CELLS,
    Kinds,
    Stream,
    batch_rows,
    is_whole,
    one_sentence,
)
from dpselect.gather.sources.text_numbers import number_of

TITLES = {"parquet": "Parquet", "ipc": "an Arrow file"}
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
MAX_WHOLE_BYTES = 1 << 24
"""Bytes of a row group that are read whole."""
READ_BYTES = 1 << 18
"""Bytes of each column that are read from the disk at a time."""


def file_stream(files: Sequence[str], root: str | None, kinds: Kinds) -> Stream:
    """Parquet or Arrow files as one table; below `root`, folders named column=value are columns."""
    kind = format_of(files)

    def parts(names: Sequence[str]) -> Iterator[Iterator[Any]]:
        for file in files:
            folders = _folder_values(file, root, kinds)
            for content, groups in _row_groups(file, kind):
                yield _read_part(file, kind, content, groups, folders, names)

    def read(names: Sequence[str]) -> Iterator[Any]:
        return chain.from_iterable(parts(names))

    with _reader(files[0], kind, _open(files[0], kind)) as reader:
        with _opening(files[0], kind):
            schema = _with_folders(_schema(reader), _folder_values(files[0], root, kinds))
        return Stream(schema, read, parts=parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Content:
    """Private. A file, opened once for all its parts: if another takes its name meanwhile, this one is read to the end.

    Opened by name for every part, it could be half the old and half the new file, with a row twice.
    """

    handle: Any
    watch: Watch
    metadata: Any = None

    def rows(self, groups: Sequence[int] | None) -> int | None:
        """How many rows the file says are in some of its row groups, where it says so."""
        return None if groups is None else sum(self.metadata.row_group(group).num_rows for group in groups)

    def longest_group(self) -> float:
        """About how many bytes the longest row group has: its share of the rows, of the file's bytes.

        What the file says of the bytes themselves is not asked, for pyarrow dies of what a damaged one may say there.
        """
        rows = [max(self.metadata.row_group(group).num_rows, 0) for group in range(self.metadata.num_row_groups)]
        return float(self.handle.size() * max(rows, default=1) / max(sum(rows), 1))


def _row_groups(file: str, kind: str) -> Iterator[tuple[_Content, Sequence[int] | None]]:
    """The row groups of a Parquet file, some at a time; an Arrow file is one part."""
    content = _open(file, kind)
    if kind != "parquet":
        yield content, None
        return
    metadata = content.metadata
    together, rows = [], 0
    for group in range(metadata.num_row_groups):
        together.append(group)
        rows += metadata.row_group(group).num_rows
        if rows >= MIN_PART_ROWS:
            yield content, together
            together, rows = [], 0
    if together or not metadata.num_row_groups:  # its columns are checked even if it has no rows
        yield content, together


def _read_part(
    file: str,
    kind: str,
    content: _Content,
    groups: Sequence[int] | None,
    folders: Mapping[str, Any],
    names: Sequence[str],
) -> Iterator[Any]:
    """A part of one file, with its own types: none is squeezed into those of the first."""
    import pyarrow as pa

    with _reader(file, kind, content) as reader:
        with _opening(file, kind):
            own = _schema(reader).names  # decoded here, where one that is not text is one sentence too
        for name in names:
            if own.count(name) + (name not in own and name in folders) != 1:
                raise DataError(f"The column {name!r} is not in {file!r} exactly once, as it is in the first file.")
        cut = f"{file!r} cannot be read to its end as {TITLES[kind]}: it may be damaged or cut short"
        rows = 0
        with one_sentence(cut):
            for batch in _batches(content, reader, groups, [name for name in names if name in own]):
                if not is_whole(batch):
                    raise DataError(f"{cut}.")
                rows += batch.num_rows
                columns = [
                    batch.column(name) if name in own else pa.repeat(folders[name], batch.num_rows) for name in names
                ]
                yield pa.RecordBatch.from_arrays(columns, list(names))
            # Asked after each part: whichever ends last sees every change.
            content.watch.require_unchanged()
            if content.rows(groups) not in (None, rows):
                raise DataError(f"{cut}.")


def _open(file: str, kind: str) -> _Content:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _opening(file, kind):
        watch = Watch(file)
        # Not mapped: a mapped file that is cut while it is read kills the process. Several threads may read it at once.
        handle = pa.OSFile(file)
        watch.require_name()
        return _Content(handle, watch, pq.read_metadata(handle) if kind == "parquet" else None)


def _reader(file: str, kind: str, content: _Content) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _opening(file, kind):
        if kind != "parquet":
            return pa.ipc.open_file(content.handle)
        # Arrow's default for Parquet fetches whole row groups ahead: five times the memory, and no faster from a disk.
        return pq.ParquetFile(
            content.handle,
            metadata=content.metadata,
            pre_buffer=False,
            # Columns of short row groups are read whole: through a buffer, a damaged page could claim gigabytes.
            buffer_size=READ_BYTES if content.longest_group() > MAX_WHOLE_BYTES else 0,
            page_checksum_verification=True,
        )


def _opening(file: str, kind: str) -> AbstractContextManager[None]:
    return one_sentence(f"{file!r} cannot be opened as {TITLES[kind]}: it may be damaged, cut short or something else")


def _schema(reader: Any) -> Any:
    return reader.schema_arrow if hasattr(reader, "schema_arrow") else reader.schema


def _batches(content: _Content, reader: Any, groups: Sequence[int] | None, names: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa

    if hasattr(reader, "iter_batches"):
        if groups is not None and not groups:  # which older versions of pyarrow cannot read
            return
        # Without pyarrow's threads: parts are read side by side already.
        yield from reader.iter_batches(
            batch_rows(len(names)), row_groups=groups, columns=list(names), use_threads=False
        )
        return
    # An Arrow file that is compressed would be unpacked whole, so it is opened again for the needed columns.
    needed = pa.ipc.IpcReadOptions(included_fields=[reader.schema.get_field_index(name) for name in names])
    with pa.ipc.open_file(content.handle, options=needed) as narrow:
        for i in range(narrow.num_record_batches):
            yield narrow.get_batch(i)


def _folder_values(file: str, root: str | None, kinds: Kinds) -> dict[str, Any]:
    """What the folders above a file say: text, unless the assumptions call the column a number ("01" is not 1)."""
    parts = Path(file).relative_to(root).parts[:-1] if root is not None else ()
    found = {}
    for part in parts:
        name, equals, text = part.partition("=")
        if equals:
            name, value = unquote(name), None if text == NO_VALUE else unquote(text)
            found[name] = _folder_value(value, name, kinds.get(name))
    return found


def _folder_value(text: str | None, name: str, wanted: str | None) -> Any:
    import pyarrow as pa

    if wanted not in NUMBER_CELLS:
        return pa.scalar(text, pa.string())
    number = math.nan if text is None else number_of(text)
    if wanted == "number" and text is not None and not math.isfinite(number):
        raise DataError(
            f"A folder named after {name!r} does not hold a number: rename it, or state its categories as text."
        )
    return pa.scalar(number, pa.float64())


def _with_folders(schema: Any, folders: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    return pa.schema([*schema, *((name, value.type) for name, value in folders.items() if name not in schema.names)])
