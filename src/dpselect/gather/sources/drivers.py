"""Private. Databases by a driver that the address names: any of ADBC, or of ODBC (SQL Server, Oracle, DB2), streamed as Arrow.

What is asked is plain SQL, SELECT "a", "b" FROM "t", which all of them take; nothing is asked of a driver but Arrow types.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from dpselect.errors import DataError
from dpselect.gather.sources.databases import quoted, quoted_table
from dpselect.gather.sources.source import Database
from dpselect.gather.sources.stream import (
    BATCH_ROWS,
    TEXTS,
    Kinds,
    Stream,
    one_sentence,
    refuse_untyped_scan,
    require_whole,
)

MAX_TEXT_BYTES = 4096
"""Of a cell of text that ODBC hands over: a longer one stops the reading, whatever it holds."""
LOOKING_VENDORS = frozenset({"sqlite", "duckdb"})
"""Databases whose columns may have the types of their cells: SQLite's have no others, and to DuckDB a CSV file is a table."""
MAX_BATCH_BYTES = 2**26
"""Of the cells that ODBC hands over at a time: it makes room for the longest that there could be."""


def driver_stream(source: Database, kinds: Kinds) -> Stream:
    """A table or query of a database that a driver reads."""
    asked = "the query" if source.table is None else f"the table {source.table!r}"
    rows = _rows_of(source)
    with ExitStack() as stack:
        with one_sentence(f"{source.place} cannot be reached: check the address, the driver and the login"):
            ask = stack.enter_context(_adbc(source) if source.engine == "adbc" else _odbc(source))
        with one_sentence(f"{source.place} refuses {asked}: check its spelling and the right to read it"):
            schema = ask.batches(f"SELECT * FROM {rows} WHERE 1 = 0").schema
            if ask.explains:
                refuse_untyped_scan(
                    str(ask.batches(f"EXPLAIN SELECT * FROM {rows}").read_all().to_pydict()), source.place
                )
            if ask.typeless:
                schema = _stated_schema(schema.names, kinds) if kinds else ask.batches(f"SELECT * FROM {rows}").schema
        close = stack.pop_all().close

    def read(names: Sequence[str]) -> Iterator[Any]:
        with one_sentence(f"{source.place} stopped while the rows of {asked} were read: run it again"):
            if ask.typeless:
                yield from _typed(ask.batches(_typed_query(rows, names, kinds)))
                return
            for batch in ask.batches(f"SELECT {', '.join(map(quoted, names))} FROM {rows}"):
                yield require_whole(batch, source.place)

    # What a query makes of a file, or of cells, is known to the driver alone.
    return Stream(schema, read, close, by_look=ask.looks or source.query is not None)


def _stated_schema(names: Sequence[str], kinds: Kinds) -> Any:
    import pyarrow as pa

    return pa.schema([(name, pa.string() if kinds.get(name) in TEXTS else pa.float64()) for name in names])


def _typed_query(rows: str, names: Sequence[str], kinds: Kinds) -> str:
    """The rows of SQLite, whose cells have types and whose columns have none, each column as what the study says that it holds.

    The driver takes a column for what its first cells look like, so that they would decide how all others are read: one more row,
    which is dropped again, comes first and says it. A cell that is no number is missing where numbers are stated.
    """
    picked, first = [], []
    for name in names:
        cell = quoted(name)
        text = kinds.get(name) in TEXTS
        number = f"CASE WHEN typeof({cell}) IN ('integer', 'real') THEN CAST({cell} AS REAL) END"
        picked.append(f"CAST({cell} AS TEXT)" if text else number)
        first.append(f"{chr(39) * 2 if text else '0.0'} AS {cell}")
    return f"SELECT {', '.join(first)} UNION ALL SELECT {', '.join(picked)} FROM {rows}"


def _typed(batches: Iterable[Any]) -> Iterator[Any]:
    """The batches without the row that comes first."""
    waiting = True
    for batch in batches:
        if batch.num_rows:
            yield require_whole(batch.slice(int(waiting)), "The SQLite file")
            waiting = False


def _rows_of(source: Database) -> str:
    if source.table is not None:
        return quoted_table(source.table)
    assert source.query is not None
    return f"({source.query.strip().rstrip(';')}) asked"  # without AS, which Oracle does not take here


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Asking:
    """Private. An open connection: `batches` of what is asked; `typeless` if its columns have no types, as those of SQLite.

    `looks` is whether cells may decide the types that it tells, `explains` whether EXPLAIN says how it reads.
    """

    batches: Callable[[str], Any]
    close: Callable[[], None] = lambda: None
    typeless: bool = False
    looks: bool = False
    explains: bool = False

    def __repr__(self) -> str:
        return "_Asking(values=<private>)"

    def __enter__(self) -> _Asking:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _adbc(source: Database) -> _Asking:
    """The driver's own package if there is one (adbc_driver_sqlite), else a library of that name, found by the driver manager."""
    name, _, uri = source.path.partition(":")
    try:
        from adbc_driver_manager import dbapi
    except ImportError:
        raise DataError(
            "Reading by an ADBC driver needs its packages: pip install adbc-driver-manager and the driver."
        ) from None
    own = None
    if name.isidentifier():
        try:
            own = importlib.import_module(f"adbc_driver_{name}.dbapi")
        except ImportError:
            own = None
    connection = dbapi.connect(name, db_kwargs={"uri": uri}) if own is None else own.connect(uri)
    cursor = connection.cursor()

    def ask(query: str) -> Any:
        cursor.execute(query)
        return cursor.fetch_record_batch()

    def close() -> None:
        cursor.close()
        connection.close()

    vendor = str(connection.adbc_get_info().get("vendor_name")).lower()
    return _Asking(
        ask, close, typeless=vendor == "sqlite", looks=vendor in LOOKING_VENDORS, explains=vendor == "duckdb"
    )


def _odbc(source: Database) -> _Asking:
    try:
        from arrow_odbc import read_arrow_batches_from_odbc
    except ImportError:
        raise DataError("Reading by ODBC needs the package arrow-odbc: pip install 'dpselect[odbc]'.") from None
    except OSError:  # the package is there, and the system's driver manager is not
        raise DataError("Reading by ODBC needs unixODBC, which this system lacks: install libodbc2.") from None

    def ask(query: str) -> Any:
        limits = {"max_text_size": MAX_TEXT_BYTES, "max_bytes_per_batch": MAX_BATCH_BYTES}
        return read_arrow_batches_from_odbc(query, source.path, batch_size=BATCH_ROWS, **limits)

    return _Asking(ask)
