"""Private. No row twice: a file that is named twice, and folders whose files are not all of the table."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dpselect.errors import DataError

_ICEBERG = re.compile(r"(v\d+|\d{5}-.+)(\.gz)?\.metadata\.json")
_DUCKDB = "Database('duckdb:', query=\"SELECT * FROM {}('...')\")"
STREAM = "Spark streaming"
MANAGED = {
    "Delta": f"DeltaTable(path).to_pyarrow_dataset() of the package deltalake, {_DUCKDB.format('delta_scan')}, or Spark",
    "Hudi": "Spark",
    "Iceberg": f"{_DUCKDB.format('iceberg_scan')}, pyiceberg's scan().to_arrow(), or Spark",
    STREAM: "Spark",
}
"""Kinds of tables whose folder also holds files that are no longer, or not yet, part of it; and what reads them rightly."""


def refuse_twice(files: Sequence[str]) -> None:
    """Refuse two names of one file, by device and inode: a row that counts twice would need twice the noise."""
    seen: dict[tuple[int, int], str] = {}
    for file in files:
        try:
            found = os.stat(file)
        except OSError as error:  # a link to nowhere, or a file that is gone since it was listed
            reason = error.strerror or "it cannot be opened"
            raise DataError(f"{file!r} cannot be read: {reason}.") from None
        first = seen.get((found.st_dev, found.st_ino))
        seen[found.st_dev, found.st_ino] = file
        if first is not None:
            again = "is given twice" if first == file else f"and {file!r} are the same file"
            raise DataError(f"{first!r} {again}: give it once, for a row that counts twice would need twice the noise.")


def refuse_managed(files: Iterable[str]) -> None:
    """Refuse files of a table that has a log: its folder keeps rows that were deleted, or replaced by others."""
    for folder, parquet in sorted(_folders(files).items()):
        kind = _managed(folder)
        # Delta, Hudi and Iceberg keep rows in Parquet; a stream of Spark's also writes text.
        if kind is not None and (parquet or kind == STREAM):
            raise DataError(
                f"{folder!r} is a table of {kind}, whose files also hold rows that were deleted or replaced: read it with "
                f"{MANAGED[kind]}."
            )


def _folders(files: Iterable[str]) -> dict[str, bool]:
    """All folders that files lie in, by their names and by where links lead; and whether one of the files is Parquet."""
    folders: dict[str, bool] = {}
    for file in files:
        parquet = file.lower().endswith((".parquet", ".pq"))
        for folder in {*_above(file), *_above(os.path.realpath(file))}:
            folders[folder] = parquet or folders.get(folder, False)
    return folders


def _above(path: str) -> tuple[str, ...]:
    return tuple(map(str, Path(os.path.abspath(path)).parents))


def _managed(folder: str) -> str | None:
    inside = {"_spark_metadata": STREAM, "_delta_log": "Delta", ".hoodie": "Hudi"}
    for name, kind in inside.items():
        if os.path.isdir(os.path.join(folder, name)):
            return kind
    try:
        logs = os.listdir(os.path.join(folder, "metadata"))
    except OSError:
        return None
    return "Iceberg" if any(map(_ICEBERG.fullmatch, logs)) or "version-hint.text" in logs else None


def dataset_files(dataset: Any) -> list[str]:
    """The files of an Arrow dataset on this machine, as far as it tells them."""
    children = getattr(dataset, "children", None)
    if children:
        return [file for child in children for file in dataset_files(child)]
    if getattr(getattr(dataset, "filesystem", None), "type_name", None) != "local":
        return []
    return [file for file in dataset.files if os.path.exists(file)]
