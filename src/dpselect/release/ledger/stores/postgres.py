"""Public. A ledger's records in PostgreSQL, for teams: the same rows, chain and promises as in a file.

The URL postgresql://host/database#study keeps the ledger in the schema dpselect_study, so that one database may hold
several; without #study the schema is dpselect. A password in the URL appears in no message; better still, leave it to
PGPASSWORD or a password file. The server's owner can do to the tables what they like, as the owner of a file can: the chain
and the receipts show it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from dpselect.errors import AssumptionError, DpselectError, LedgerError, NoLedgerYet
from dpselect.release.ledger.chain import Contents, Row, mark_of_data
from dpselect.release.ledger.stores.patience import Patience
from dpselect.release.ledger.stores.postgres_schema import MIGRATIONS, WORKS_SINCE

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

_SENTENCES = {
    "DiskFull": "cannot grow, because the server's disk is full: make room",
    "InsufficientPrivilege": "may not be used by this account: ask the server's owner for the rights",
    "ReadOnlySqlTransaction": "cannot be written to, because the server only reads: use its primary",
    "OperationalError": "cannot be reached, or the connection broke: check the server and the account",
    "RaiseException": "refused a record out of order: verify it",
}


class PostgresStore:
    """Public. The records in one schema of a PostgreSQL database; every operation is a connection of its own."""

    def __init__(self, url: str, patience: Patience) -> None:
        self._url, _, study = url.partition("#")
        self.patience = patience
        if not re.fullmatch(r"[a-z0-9_]{0,40}", study):
            raise AssumptionError("The part of a ledger's URL after # must be a-z, 0-9 and _, at most 40 of them.")
        self.schema = f"dpselect_{study}" if study else "dpselect"
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError:
            raise LedgerError("A ledger on a server needs psycopg; pip install 'dpselect[postgres]'.") from None
        self._psycopg: Any = psycopg
        try:
            parts = conninfo_to_dict(self._url)
        except psycopg.Error:
            raise AssumptionError("The ledger's URL cannot be read; write postgresql://host/database.") from None
        self._has_password = "password" in parts and bool(parts["password"])
        self._address = _address(parts, study)
        self.name = f"The ledger {self._address!r}"

    def address(self) -> str | None:
        """Host, database and study; never the account or its password."""
        return self._address

    def key(self) -> str:
        """The URL as it was given, unless it holds a password, which must not end up in a pickle."""
        if self._has_password:
            raise LedgerError(
                f"{self.name} is not pickled with a password; leave the password to PGPASSWORD or a password file."
            )
        return self._url + (f"#{self.schema.removeprefix('dpselect_')}" if self.schema != "dpselect" else "")

    def create(self, opening: Row) -> None:
        """Make the ledger with its opening record, unless there is one already."""

        def work(connection: psycopg.Connection) -> None:
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self.schema])
            if self._version(connection) is None:
                connection.execute(f"CREATE SCHEMA {self.schema}")
                connection.execute(f"CREATE TABLE {self.schema}.version (number integer NOT NULL)")
                connection.execute(f"INSERT INTO {self.schema}.version VALUES (0)")
            self._migrate(connection)
            if not connection.execute("SELECT count FROM head").fetchall()[0][0]:
                _insert(connection, opening)

        self._patiently(work)

    def append(self, decide: Callable[[Contents], Row]) -> Row:
        """Read everything, let `decide` make the next record, and write it, in one exclusive and durable transaction."""

        def work(connection: psycopg.Connection) -> Row:
            self._migrate(connection)
            connection.execute("SET LOCAL synchronous_commit = on")
            connection.execute("SELECT count FROM head FOR UPDATE")
            row = decide(_contents(connection))
            _insert(connection, row)
            return row

        return self._patiently(work)

    def read(self) -> Contents:
        """Everything as of one moment; never in the way of a writer."""

        def work(connection: psycopg.Connection) -> Contents:
            self._migrate(connection)
            return _contents(connection)

        return self._patiently(work, "REPEATABLE READ")

    def require_chargeable(self) -> None:
        """Whether this account may write is the server's to say, at the charge."""

    def others_with(self, label: str) -> list[str]:
        """Other ledgers in the same database that hold records for the data set `label`."""

        def work(connection: psycopg.Connection) -> list[str]:
            schemas = connection.execute(
                "SELECT table_schema::text FROM information_schema.tables WHERE table_name = 'records' "
                "AND table_schema ~ '^dpselect(_[a-z0-9_]*)?$' AND table_schema <> %s ORDER BY 1",
                [self.schema],
            ).fetchall()
            query = "SELECT EXISTS (SELECT 1 FROM {}.records WHERE position(%s IN body) > 0)"
            return [
                f"{self._address.partition('#')[0]}#{schema.removeprefix('dpselect_')}"
                for (schema,) in schemas
                if connection.execute(query.format(schema), [mark_of_data(label)]).fetchall()[0][0]
            ]

        return self._patiently(work)

    def _patiently(self, work: Callable[[psycopg.Connection], T], isolation: str = "READ COMMITTED") -> T:
        errors = self._psycopg.errors
        for seconds in self.patience.attempts(self.name):
            try:
                # A database that declares no encoding would hand out bytes where text is expected.
                settings = {"connect_timeout": max(2, int(seconds)), "client_encoding": "utf8"}
                with self._psycopg.connect(self._url, **settings) as connection:
                    connection.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
                    wait = max(1, int(1000 * min(seconds, self.patience.quiet)))
                    connection.execute(f"SET LOCAL lock_timeout = {wait}")
                    connection.execute(f"SET LOCAL search_path = {self.schema}, pg_catalog, pg_temp")
                    return work(connection)
            except (errors.LockNotAvailable, errors.SerializationFailure):
                continue
            except self._psycopg.Error as problem:
                # The driver's own text may quote the URL, so it goes no further.
                raise self._sentence(problem) from None
        raise AssertionError("the attempts end with a return or an error")  # pragma: no cover

    def _version(self, connection: psycopg.Connection) -> int | None:
        """The schema's version, None if there is no ledger."""
        found = connection.execute("SELECT to_regclass(%s)", [f"{self.schema}.version"]).fetchall()[0][0]
        if not found:
            return None
        numbers = connection.execute("SELECT number FROM version").fetchall()
        if len(numbers) != 1:
            raise LedgerError(f"{self.name} has lost its version: restore it from a backup; nothing was released.")
        return int(numbers[0][0])

    def _migrate(self, connection: psycopg.Connection) -> None:
        version = self._version(connection)
        if version is None:
            raise NoLedgerYet(f"There is no ledger at {self._address!r}; state epsilon to create one.")
        if version > len(MIGRATIONS):
            raise LedgerError(
                f"{self.name} was written by a newer dpselect (schema {version}, here {len(MIGRATIONS)}); update dpselect."
            )
        if version < len(MIGRATIONS) and not (version >= WORKS_SINCE and not self._owned(connection)):
            connection.execute("LOCK TABLE version IN EXCLUSIVE MODE")
            for statements in MIGRATIONS[self._version(connection) :]:
                connection.execute(statements.replace("{schema}", self.schema))
            connection.execute(f"UPDATE version SET number = {len(MIGRATIONS)}")

    def _owned(self, connection: psycopg.Connection) -> bool:
        """Whether this account may bring the schema up to date."""
        query = "SELECT pg_has_role(tableowner, 'USAGE') FROM pg_tables WHERE schemaname = %s AND tablename = 'records'"
        return connection.execute(query, [self.schema]).fetchall() == [(True,)]

    def _sentence(self, problem: Exception) -> LedgerError:
        kinds = [kind.__name__ for kind in type(problem).__mro__]
        known = next((_SENTENCES[kind] for kind in kinds if kind in _SENTENCES), None)
        return LedgerError(
            f"{self.name} {known or f'cannot be used ({kinds[0]}): check the server'}; nothing was released."
        )


def is_address(path: str) -> bool:
    """Whether a ledger's path is the URL of a server."""
    return path.startswith(("postgresql://", "postgres://"))


def shown_address(url: str) -> str:
    """Host, database and study of a URL; never the account or its password, wherever it stands."""
    try:
        return str(PostgresStore(url, Patience()).address())
    except DpselectError:
        return "the ledger's server"


def _address(parts: Mapping[str, Any], study: str) -> str:
    # An "@" in a password that was not written as %40 makes the driver take its end for a part of the host.
    host, database = str(parts.get("host") or "localhost").rpartition("@")[2], parts.get("dbname") or ""
    return f"postgresql://{host}/{database}" + (f"#{study}" if study else "")


def _contents(connection: psycopg.Connection) -> Contents:
    rows = connection.execute("SELECT number, body, hash FROM records ORDER BY number").fetchall()
    head = connection.execute("SELECT count, hash FROM head").fetchall()
    return Contents([Row(*row) for row in rows], *(head[0] if head else (0, "")))


def _insert(connection: psycopg.Connection, row: Row) -> None:
    connection.execute("INSERT INTO records VALUES (%s, %s, %s)", [row.index, row.body, row.hash])
