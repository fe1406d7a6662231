"""Private. Which files are meant by paths, patterns and folders: each once, and none of a table that only its engine can read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import glob
from pathlib import Path

from dpselect.errors import DataError
from dpselect.gather.intact.same_files import refuse_managed, refuse_twice, refuse_twins


def listed_files(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files meant by paths, patterns and folders, sorted by name, each once; names that start with . or _ are not data."""
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
    refuse_twice(found)
    refuse_twins(found)
    refuse_managed(found)
    return found


def _folder_files(folder: str) -> list[str]:
    hidden = (".", "_")
    inside = Path(folder).rglob("*")
    shown = [path for path in inside if not any(part.startswith(hidden) for part in path.relative_to(folder).parts)]
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
