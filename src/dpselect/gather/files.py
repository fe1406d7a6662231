"""Private. Parquet and Arrow files: one, several, or a folder whose subfolders are named after a column's values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from dpselect.errors import DataError
from dpselect.gather.stream import BATCH, Kinds, Stream, one_sentence

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".csv": "csv",
    ".tsv": "csv",
}
COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")
TITLES = {"parquet": "Parquet", "ipc": "an Arrow file"}
READ_AHEAD = 2
"""Batches that are decoded while another is added up."""


def listed_files(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files meant by paths, patterns and folders, sorted by name; names that start with . or _ are not data."""
    found: list[str] = []
    for each in paths:
        path = os.fspath(each)
        matches = (
            sorted(glob(path, recursive=True)) if any(c in path for c in "*?[") and not os.path.exists(path) else [path]
        )
        if not matches or not os.path.exists(matches[0]):
            raise DataError(
                f"There is no file {path!r}: check the path, or give a database as postgresql://... or duckdb:..."
            )
        for match in matches:
            found += _folder_files(match) if os.path.isdir(match) else [match]
    return found


def _folder_files(folder: str) -> list[str]:
    hidden = (".", "_")
    inside = [path for path in Path(folder).rglob("*") if path.is_file()]
    data = [path for path in inside if not any(part.startswith(hidden) for part in path.relative_to(folder).parts)]
    if not data:
        raise DataError(f"The folder {folder!r} holds no data files: give a folder of Parquet, Arrow or CSV files.")
    return sorted(map(str, data))


def format_of(files: Sequence[str]) -> str:
    """The one format of some files, by their names."""
    formats = set()
    for file in files:
        path = Path(file)
        name = path.with_suffix("") if path.suffix in COMPRESSIONS else path
        if name.suffix.lower() not in FORMATS:
            raise DataError(
                f"The format of {file!r} cannot be told by its name: known are {', '.join(FORMATS)} and .duckdb; use Csv(path) "
                "for other text."
            )
        formats.add(FORMATS[name.suffix.lower()])
    if len(formats) > 1:
        raise DataError(f"The files mix the formats {' and '.join(sorted(formats))}: give one format at a time.")
    return formats.pop()


def file_stream(files: Sequence[str], root: str | None, kinds: Kinds) -> Stream:
    """Parquet or Arrow files as one table; below `root`, folders named column=value are a column."""
    kind = format_of(files)
    folders = _folder_columns(files, root, kinds)

    def read(names: Sequence[str]) -> Iterator[Any]:
        for file in files:
            dataset = _open(file, kind, root, folders)
            for name in names:
                if dataset.schema.names.count(name) != 1:
                    raise DataError(f"The column {name!r} is not in {file!r} exactly once, as it is in the first file.")
            with one_sentence(f"{file!r} cannot be read to its end as {TITLES[kind]}: it may be damaged or cut short"):
                yield from _scanner(dataset, kind, names).to_batches()

    return Stream(_open(files[0], kind, root, folders).schema, read)


def _open(file: str, kind: str, root: str | None, folders: Any) -> Any:
    """One file, with its own types: none is squeezed into those of the first."""
    import pyarrow.dataset as ds

    with one_sentence(f"{file!r} cannot be opened as {TITLES[kind]}: it may be damaged, cut short or something else"):
        return ds.dataset(file, format=kind, partitioning=folders, partition_base_dir=root)


def _scanner(dataset: Any, kind: str, names: Sequence[str]) -> Any:
    import pyarrow.dataset as ds

    # Arrow's default for Parquet fetches whole row groups ahead: three times the memory, and no faster from a disk.
    options = ds.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True) if kind == "parquet" else None
    return dataset.scanner(
        columns=list(names), batch_size=BATCH, batch_readahead=READ_AHEAD, fragment_scan_options=options
    )


def _folder_columns(files: Sequence[str], root: str | None, kinds: Kinds) -> Any:
    """Folder names are text; what they hold is what the assumptions say, not what they look like ("01" is not 1)."""
    if root is None:
        return None
    import pyarrow as pa
    import pyarrow.dataset as ds

    parts = [part for file in files for part in Path(file).relative_to(root).parts[:-1] if "=" in part]
    names = dict.fromkeys(unquote(part.partition("=")[0]) for part in parts)
    types = {name: pa.float64() if kinds.get(name) == "number" else pa.string() for name in names}
    return ds.partitioning(pa.schema(list(types.items())), flavor="hive") if types else None
