"""Public. Where the rows live: the paths and addresses that a person writes, and where such data is at home."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from dpselect.errors import DataError
from dpselect.gather.formats import COMPRESSIONS, FORMATS, WORKBOOK_SUFFIXES
from dpselect.gather.listed import listed_files

Engine = Literal["duckdb", "postgresql", "spark", "adbc", "odbc"]
ENGINES = ("postgresql", "postgres", "duckdb", "spark", "adbc", "odbc")
"""First words of addresses."""
DUCKDB_SUFFIXES = (".duckdb", ".ddb", ".db")
_SHEET_ADDRESS = re.compile(
    r"(.+(?:" + "|".join(map(re.escape, WORKBOOK_SUFFIXES)) + r"))\?sheet=(.+)", re.IGNORECASE | re.DOTALL
)
MOMENTS_SUFFIX = ".moments"


@dataclass(frozen=True, slots=True)
class Csv:
    """Public. A text file with one row a line, its first line the names; compressed if the name ends so (.gz, .bz2, .zst).

    A plain path is read with commas.

    Parameters
    ----------
    path : str or path
        The file.
    delimiter : str, optional
        What stands between two cells, one character.
    encoding : str, optional
        How its letters are written, "utf-8" or "latin-1".
    decimal : str, optional
        The decimal point, or comma.

    Examples
    --------
    >>> Csv("sales.csv.gz", delimiter=";", decimal=",")
    Csv(path='sales.csv.gz', delimiter=';', encoding='utf-8', decimal=',')
    """

    path: str | os.PathLike[str]
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."

    def __post_init__(self) -> None:
        for what in ("delimiter", "decimal"):
            value = getattr(self, what)
            if not (isinstance(value, str) and len(value) == 1 and value.isascii() and value not in '"\r\n'):
                raise DataError(f"The {what} is {value!r}; it must be one character, such as ',' or ';'.")
        if self.delimiter == self.decimal:
            raise DataError(f"The delimiter and the decimal point are both {self.decimal!r}; they must differ.")


DEFAULT_SERVER = "PostgreSQL at the default host"
"""An address without a host: PGHOST, or a socket of this machine, as the driver has it."""


@dataclass(frozen=True, slots=True)
class Database:
    """Public. A table or a query of a database; the address prints without its password.

    Others: `Database("sales.duckdb", table="houses")`, `Database("postgresql://reader@host/sales", table="public.houses")`,
    `Database("duckdb:", query="SELECT * FROM 'houses.parquet'")`, `Database("spark:", table="sales.houses")`. Any ADBC driver by
    its name, `Database("adbc:sqlite:houses.db", table="houses")`; SQL Server, Oracle and DB2 by ODBC,
    `Database("odbc:Driver={ODBC Driver 18 for SQL Server};Server=host", table="dbo.houses")`. Leave the password to PGPASSWORD or
    ~/.pgpass, and with ODBC to the DSN.

    Parameters
    ----------
    address : str or path
        Where the database is: a file, or an address that begins with its kind.
    table, query : str, optional
        The name of a table, or a SELECT; one of the two.

    Examples
    --------
    >>> Database("postgresql://reader:secret@host/sales", table="public.houses").place
    'PostgreSQL at host'
    """

    address: str | os.PathLike[str] = field(repr=False)
    table: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", os.fspath(self.address))
        if (self.table is None) == (self.query is None):
            raise DataError("A database needs either a table or a query: give table='name', or query='SELECT ...'.")
        if self.engine == "spark" and self.table is None:
            raise DataError("Spark needs a table: give table='name', or a Spark data frame.")

    @property
    def uri(self) -> str:
        """The whole address, for the driver alone."""
        return os.fspath(self.address)

    @property
    def engine(self) -> Engine:
        """Which program holds the rows."""
        scheme = self.uri.split(":", 1)[0]
        if scheme in ("postgresql", "postgres"):
            return "postgresql"
        if scheme in ("spark", "adbc", "odbc"):
            return scheme  # type: ignore[return-value]
        if scheme == "duckdb" or self.uri.endswith(DUCKDB_SUFFIXES):
            return "duckdb"
        raise DataError(
            "The address of a database must be postgresql://..., duckdb:path, spark:, adbc:driver:address, odbc:connection, or a "
            f"file that ends in {', '.join(DUCKDB_SUFFIXES)}."
        )

    @property
    def place(self) -> str:
        """The part of the address that is safe to print: no user, no password, no options."""
        if self.engine == "duckdb":
            return repr(self.path or "memory")
        if self.engine == "spark":
            return "Spark"
        if self.engine == "odbc":
            return "The ODBC source"
        if self.engine == "adbc":
            return f"The ADBC driver {self.path.partition(':')[0]!r}"
        return _server(self.uri)

    @property
    def path(self) -> str:
        """DuckDB's file, empty for a database in memory; what the driver is told, for one that is named."""
        if self.engine in ("adbc", "odbc"):
            return self.uri.partition(":")[2]
        path = self.uri.removeprefix("duckdb:")
        return path.removeprefix("//") if path.startswith("//") else path

    @property
    def bare(self) -> str:
        """The address without what is a user or a password, as drivers spell them."""
        told = r"(?i)((?:pwd|password|passwd|token|secret|uid|user|username)\s*=)(?:\s*\{[^}]*\})?[^;&]*"
        words = self.uri.split(":", 2 if self.engine == "adbc" else 1)
        words[-1] = re.sub(r"^((?:\w+:)?//)?[^/;]*@", r"\1", re.sub(told, r"\1", words[-1]))
        return ":".join(words)


def _server(uri: str) -> str:
    """The host of a PostgreSQL address, and no piece of a password, however that was written."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # it may quote the address
        return "PostgreSQL"
    if "@" in parts.path + parts.query + parts.fragment:  # of a password with a / or ? in it what is before has pieces
        return "PostgreSQL"
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ""
    option = dict(parse_qsl(parts.query)).get("host", "")  # or the folder of a socket
    host = unquote(parts.hostname or "") or option
    return f"PostgreSQL at {host}{port}" if host else DEFAULT_SERVER


def parse_address(text: str) -> Database | None:
    """A database in one string, as a command line has it: an address with `?table=name` or `?query=SELECT ...`.

    Other options stay with the address, for the driver. Anything that is not an address gives None: a path.
    """
    scheme = text.split(":", 1)[0]
    base, _, options = text.partition("?")
    if scheme not in ENGINES:
        if "://" in text:  # refused by its first word alone: the rest may hold a password
            raise DataError(
                f"Rows cannot be read from {scheme!r} addresses; known are postgresql, duckdb, spark, adbc and odbc: copy them to "
                "one of these, or to Parquet."
            )
        if not base.endswith(DUCKDB_SUFFIXES):
            return None
    asked = dict(parse_qsl(options, keep_blank_values=True))
    table, query = asked.pop("table", None), asked.pop("query", None)
    return Database(base + ("?" + urlencode(asked) if asked else ""), table=table, query=query)


def is_path(source: object) -> bool:
    """Whether a source is the name of something on disk, or several."""
    if isinstance(source, list):
        return bool(source) and all(isinstance(each, str | os.PathLike) for each in source)
    return isinstance(source, str | os.PathLike)


def format_of(files: Sequence[str]) -> str:
    """The one format of some files, by their names."""
    formats = set()
    for file in files:
        path = Path(file)
        name = path.with_suffix("") if path.suffix in COMPRESSIONS else path
        if name.suffix.lower() not in FORMATS:
            if len(files) > 1:
                raise DataError(
                    f"The format of {file!r}, which is among the files, cannot be told by its name: move it elsewhere, or give "
                    "the data alone, such as 'people/*.parquet'."
                )
            raise DataError(
                f"The format of {file!r} cannot be told by its name: known are {', '.join(FORMATS)} and .duckdb; use Csv(path) "
                "for other text."
            )
        formats.add(FORMATS[name.suffix.lower()])
        if name != path and formats & {"statistics", "excel"}:
            raise DataError(f"{file!r} is compressed, and only text files are read so: unpack it first.")
    if len(formats) > 1:
        raise DataError(f"The files mix the formats {' and '.join(sorted(formats))}: give one format at a time.")
    return formats.pop()


def split_sheet(path: str) -> tuple[str, str | None]:
    """A path and the sheet that it names: "people.xlsx?sheet=2020"; without one, the first sheet is meant."""
    found = _SHEET_ADDRESS.fullmatch(path)
    return (path, None) if found is None else (found[1], found[2])


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
