"""Private. DuckDB and PostgreSQL, streamed as Arrow: only the needed columns, a few batches at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from dpselect.errors import DataError
from dpselect.gather.sources.source import DEFAULT_SERVER, Database
from dpselect.gather.sources.stream import BATCH_ROWS, TEXTS, Kinds, Stream, one_sentence, refuse_untyped_scan


def quoted(name: str) -> str:
    """A name as SQL takes it literally."""
    return '"' + name.replace('"', '""') + '"'


def quoted_table(table: str) -> str:
    """A table's name, with its schema before a dot if any."""
    return ".".join(quoted(part) for part in table.split("."))


def _rows_of(source: Database) -> str:
    if source.table is not None:
        return quoted_table(source.table)
    assert source.query is not None
    return f"({source.query.strip().rstrip(';')}) AS asked"


def duckdb_stream(source: Database) -> Stream:
    """A table or query of a DuckDB database, opened read-only."""
    try:
        import duckdb
    except ImportError:
        raise DataError("Reading DuckDB needs the package duckdb: pip install 'dpselect[duckdb]'.") from None

    with one_sentence(
        f"The DuckDB database {source.place} cannot be opened: check the path, and that no program is writing to it"
    ):
        connection = duckdb.connect(source.path or ":memory:", read_only=bool(source.path))
    try:
        with one_sentence(f"DuckDB refuses {_asked(source)} in {source.place}: check its spelling"):
            query = f"SELECT * FROM {_rows_of(source)}" if source.table else source.query
            relation = connection.sql(query)
            if relation is None:
                raise DataError("The query returns no table: give one SELECT.")
            refuse_untyped_scan(relation.explain(), f"DuckDB's {_asked(source).removeprefix('the ')}")
            schema = _duckdb_schema(relation)
            by_look = source.table is None or not _in_catalog(connection, quoted_table(source.table))
    except BaseException:
        connection.close()
        raise

    def read(names: Sequence[str]) -> Iterator[Any]:
        with one_sentence(f"DuckDB stopped while the rows of {_asked(source)} were read"):
            yield from relation.project(", ".join(map(quoted, names))).to_arrow_reader(BATCH_ROWS)

    return Stream(schema, read, connection.close, by_look=by_look)


def _in_catalog(connection: Any, table: str) -> bool:
    """Whether the database has a table of that name: to DuckDB a text file is one too, whose types are those of its cells."""
    import duckdb

    try:
        # To the end: a result that is left open keeps others from reading.
        connection.execute("SELECT 1 FROM pragma_table_info(?)", [table]).fetchall()
    except duckdb.CatalogException:
        return False
    return True


def _duckdb_schema(relation: Any) -> Any:
    import pyarrow as pa

    types = relation.limit(0).to_arrow_reader(1).schema.types
    return pa.schema(list(zip(relation.columns, types, strict=True)))


def _asked(source: Database) -> str:
    return "the query" if source.table is None else f"the table {source.table!r}"


def postgres_stream(source: Database, kinds: Kinds) -> Stream:
    """A table or query of a PostgreSQL server, in one read-only transaction."""
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise DataError("Reading PostgreSQL needs its driver: pip install 'dpselect[postgres]'.") from None

    with ExitStack() as stack:
        reason = ""
        try:
            connection = stack.enter_context(dbapi.connect(source.uri))
        except Exception as error:
            reason = _login_reason(source, str(error))
        if reason:
            raise DataError(reason)  # out here, where no __context__ remembers the address
        cursor = stack.enter_context(connection.cursor())
        with one_sentence(f"{source.place} refuses {_asked(source)}: check its spelling and the right to read it"):
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(f"SELECT * FROM {_rows_of(source)} WHERE false")
            fields = list(cursor.fetch_record_batch().schema)
        close = stack.pop_all().close

    def read(names: Sequence[str]) -> Iterator[Any]:
        with one_sentence(f"{source.place} stopped while the rows of {_asked(source)} were read: run it again"):
            picked = ", ".join(
                _postgres_column(field, kinds) for name in names for field in fields if field.name == name
            )
            cursor.execute(f"SELECT {picked} FROM {_rows_of(source)}")
            yield from cursor.fetch_record_batch()

    return Stream(_postgres_schema(fields), read, close)


def _login_reason(source: Database, message: str) -> str:
    """Why the server cannot be used, in words of ours: the driver's may hold the address."""
    if "password" in message or "role" in message or "authentication" in message:
        return f"{source.place} refuses the login: check the user, and the password in PGPASSWORD or ~/.pgpass."
    if "database" in message:
        return f"{source.place} has no such database, or refuses it: check the address."
    check = (
        "name a host in the address or in PGHOST, and check"
        if source.place == DEFAULT_SERVER
        else "check the address, and"
    )
    return f"{source.place} cannot be reached: {check} that the server runs."


def _postgres_type(field: Any) -> str:
    facts = field.metadata or {}
    return str((facts.get(b"POSTGRESQL:type") or facts.get(b"ADBC:postgresql:typname") or b"").decode())


def postgres_double(number: str) -> str:
    """The nearest double of a number; the server calls one beyond all doubles, or too small for one, an error."""
    least, most = "2.5e-324", "1.7976931348623157e308"
    return (
        f"CASE WHEN {number} > {most} OR {number} < -{most} THEN CAST('Infinity' AS double precision) "
        f"WHEN {number} < {least} AND {number} > -{least} THEN 0 ELSE CAST({number} AS double precision) END"
    )


def _postgres_column(field: Any, kinds: Kinds) -> str:
    name = quoted(field.name)
    if kinds.get(field.name) in TEXTS:
        return f"CAST({name} AS text) AS {name}"  # char(n) sheds its padding, an enum becomes its label
    return f"{postgres_double(name)} AS {name}" if _postgres_type(field) == "numeric" else name


def _postgres_schema(fields: Sequence[Any]) -> Any:
    """Arrow types that mean what the server's mean: numeric is a number, and money (sent as cents) is not."""
    import pyarrow as pa

    types = []
    for field in fields:
        name = _postgres_type(field)
        if name == "numeric":
            types.append(pa.float64())
        elif name == "money":
            types.append(pa.opaque(pa.int64(), "money", "PostgreSQL"))
        elif name == "enum" or isinstance(field.type, pa.OpaqueType):
            types.append(pa.string())
        else:
            types.append(field.type)
    return pa.schema([(field.name, kind) for field, kind in zip(fields, types, strict=True)])
