"""Private. Where a source is at home: the address that tells its rows from others, and the place of its ledger beside it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from dpselect.errors import DataError
from dpselect.gather.formats import COMPRESSIONS
from dpselect.gather.listed import listed_files
from dpselect.gather.sources.source import Csv, Database, is_path, parse_address, split_sheet


def rows_address(source: Any) -> list[Any] | None:
    """All that tells where rows are from where others are, in plain values without a password; None of what is in memory alone.

    Links are followed, so a file has one address however it is called; how it is read is for the study to say. A file that was
    moved has another, and so has a copy: whether they hold the same rows cannot be known.
    """
    if isinstance(source, Csv):
        source = source.path
    if isinstance(source, os.PathLike):
        source = os.fspath(source)
    database = parse_address(source) if isinstance(source, str) else source
    if isinstance(database, Database):
        here = [os.getcwd()] if database.engine == "duckdb" else []  # its queries may name files
        return [*here, *_without_password(database), database.table, database.query]
    if not is_path(source):
        return None
    return ["rows", *map(_real_path, source if isinstance(source, list) else [source])]


def _real_path(path: str | os.PathLike[str]) -> str:
    file, sheet = split_sheet(os.fspath(path))
    return os.path.realpath(file) + ("" if sheet is None else f"#{sheet}")


POSTGRES_ENVIRONMENT = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE", "PGSERVICEFILE")
"""What the driver takes from the environment where an address does not say it."""


def _without_password(database: Database) -> list[Any]:
    """The address of a database in parts, of which none is its password."""
    if database.engine != "postgresql":
        return [database.bare if database.engine in ("adbc", "odbc") else database.uri]
    try:
        parts = urlsplit(database.uri)
    except ValueError:  # it will not be opened either
        return [database.place]
    options = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if "password" not in pair[0].lower()]
    # What an address leaves open the environment says: under another one it means another server.
    around = [os.environ.get(name, "") for name in POSTGRES_ENVIRONMENT]
    return [database.place, parts.username, parts.path, options, around]


@dataclass(frozen=True, slots=True)
class DataPlace:
    """Public. Where data is at home, for its ledger to stand beside it: a folder, and what the data is called there.

    Data of several files is at home wherever one of them is: `parts` are their places, and empty for a file by itself.
    """

    folder: Path
    name: str
    parts: tuple[DataPlace, ...] = ()


def data_place(source: Any) -> DataPlace | None:
    """Where a source is at home; None for what has no place, such as a frame, a list of files, a query or a table on a server.

    A link is followed, and neither compression nor format counts: people.csv, people.csv.gz and a link to one of them are the
    same data. So are p*.csv and the folder, as far as they mean the same files. A table of DuckDB is at home beside its file, by
    its name without the usual schema and whatever the case of its letters.
    """
    if isinstance(source, Csv):
        source = source.path
    if isinstance(source, os.PathLike):
        source = os.fspath(source)
    database = parse_address(source) if isinstance(source, str) else source
    if isinstance(database, Database):
        if database.engine != "duckdb" or not database.path or not database.table:
            return None
        *schemas, table = database.table.casefold().replace('"', "").split(".")
        usual = not schemas or schemas[-1] == "main"
        return DataPlace(Path(os.path.realpath(database.path)).parent, table if usual else f"{schemas[-1]}.{table}")
    if not isinstance(source, str) or not source:
        return None
    path = split_sheet(source)[0]
    several = os.path.isdir(path) or not os.path.exists(path)
    try:
        files = listed_files([path]) if several else []
    except DataError:  # it will be said when they are opened
        files = []
    if len(files) == 1 and not os.path.isdir(path):
        return _file_place(files[0])
    whole = _file_place(path)
    return DataPlace(whole.folder, whole.name, tuple(dict.fromkeys(map(_file_place, files))))


def _file_place(file: str) -> DataPlace:
    path = Path(file)
    if path.name in ("", ".."):  # the folder where one is, or the one above: called as it is from elsewhere
        path = Path(os.path.abspath(path))
    if path.is_symlink():  # a link among the folders above it leads to the same folder either way
        path = Path(os.path.realpath(path))
    if path.name.endswith(COMPRESSIONS):
        path = path.with_suffix("")
    name = path.stem.replace("*", "").replace("?", "").strip("-_. ") or path.absolute().parent.name
    return DataPlace(path.parent, name)
