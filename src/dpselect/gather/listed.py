"""Private. Which files are meant by paths, patterns and folders: each once, and none of a table that only its engine can read.

Nor one that somebody writes to while it is read: it would be part old and part new, with a row twice or not at all.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import Any

from dpselect.errors import DataError
from dpselect.gather.formats import NOT_THE_ROWS

REGISTRY_NAME = "dpselect.ledgers"
"""Beside data: which ledgers it is charged to (`release.account`). It is no data."""
_OWN = re.compile(rf"{re.escape(REGISTRY_NAME)}|.+\.budget\.db(-wal|-shm|-journal)?|.+\.toml")
"""What dpselect itself keeps beside data, by name: the registry, ledgers with their side files, study files."""
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


def refuse_twins(files: Iterable[str]) -> None:
    """Refuse two files of one folder whose names differ in how they are packed or written alone: a table, and the same packed."""
    seen: dict[tuple[str, str], str] = {}
    for file in files:
        place = os.path.realpath(os.path.dirname(os.path.abspath(file))), _bare(os.path.basename(file))
        first = seen.setdefault(place, file)
        if first != file:
            raise DataError(
                f"{first!r} and {file!r} seem to be the same rows, packed or written twice: give one of them, for a row that "
                "counts twice would need twice the noise; if they are different rows, rename one."
            )


def _bare(name: str) -> str:
    """A file's name without the ends that say how it is packed and written: people.csv.gz is people."""
    bare, end = os.path.splitext(name)
    return _bare(bare) if end.lower() in NOT_THE_ROWS else name


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
    """The files of an Arrow dataset on this machine, as far as it tells them; elsewhere a name that stands twice is refused."""
    here: list[str] = []
    elsewhere: dict[str, list[Any]] = {}
    for system, file in _named_files(dataset):
        local = _local(system, file)
        if local is not None:
            here += [local] if os.path.exists(local) else []
            continue
        folder, name = posixpath.split(posixpath.normpath(file).lstrip("/"))
        others = elsewhere.setdefault(posixpath.join(folder, _bare(name)), [])
        if any(map(system.equals, others)):
            raise DataError(
                f"{file!r} is given twice, or packed twice: give it once, for a row that counts twice would need twice the noise."
            )
        others.append(system)
    return here


def dataset_formats(dataset: Any) -> set[str]:
    """What an Arrow dataset and those within it are written in, by the usual ending: "parquet", "csv"."""
    within = [dataset_formats(child) for child in getattr(dataset, "children", None) or ()]
    written = getattr(dataset, "format", None)
    return set[str]().union(*within, () if written is None else {written.default_extname})


def _named_files(dataset: Any) -> Iterator[tuple[Any, str]]:
    """Each file of a dataset, and of datasets within it, with the file system that it is a name in."""
    for child in getattr(dataset, "children", None) or ():
        yield from _named_files(child)
    system = getattr(dataset, "filesystem", None)
    yield from ((system, file) for file in (dataset.files if system is not None else ()))


def _local(system: Any, file: str) -> str | None:
    """The path on this machine of a file in a file system that may be a folder of another; None if it is elsewhere."""
    while system.type_name == "subtree":
        system, file = system.base_fs, f"{system.base_path.rstrip('/')}/{file.lstrip('/')}"
    return file if system.type_name == "local" else None


def listed_files(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files meant by paths, patterns and folders, sorted by name, each once.

    Names that start with . or _ are not data, nor is what dpselect itself keeps in a folder of data.
    """
    found: list[str] = []
    for each in paths:
        path = os.fspath(each)
        matches = [path]
        if any(c in path for c in "*?[") and not os.path.exists(path):
            matches = [
                match
                for match in sorted(glob(path, recursive=True))
                if os.path.isdir(match) or not _is_own(Path(match))
            ]
        if not matches or not os.path.exists(matches[0]):
            raise DataError(
                f"There is no file {path!r}: check the path, or give a database as postgresql://... or duckdb:..."
            )
        for match in matches:
            found += _folder_files(match) if os.path.isdir(match) else [match]
    for file in found:
        if os.path.exists(file) and stat.S_ISFIFO(os.stat(file).st_mode):
            raise DataError(f"{file!r} is a pipe, which is read once and may never end: save it as a file first.")
    refuse_twice(found)
    refuse_twins(found)
    refuse_managed(found)
    return found


def _folder_files(folder: str) -> list[str]:
    hidden = (".", "_")
    inside = Path(folder).rglob("*")
    shown = [path for path in inside if not any(part.startswith(hidden) for part in path.relative_to(folder).parts)]
    shown = [path for path in shown if not _is_own(path)]
    for path in shown:
        if path.is_symlink() and not path.is_file():
            raise DataError(
                f"{str(path)!r} is a link to a folder or to nothing, and within a folder such links are not followed: put what it "
                "leads to in its place, or take the link away."
            )
    data = [path for path in shown if path.is_file()]
    if not data:
        raise DataError(f"The folder {folder!r} holds no data files: give a folder of Parquet, Arrow or CSV files.")
    return sorted(map(str, data))


def _is_own(path: Path) -> bool:
    """Whether dpselect keeps this file beside data: the registry, a ledger, a study, or a page and the JSON file of one report."""
    beside = {".html": ".json", ".json": ".html"}.get(path.suffix)
    # By names alone: what a file holds is looked at by its reader and nobody else.
    return _OWN.fullmatch(path.name) is not None or (beside is not None and path.with_suffix(beside).is_file())


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
