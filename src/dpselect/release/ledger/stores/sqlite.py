"""Public. A ledger's records in one SQLite file: durable, append-only, shared by processes and threads.

Every operation opens the file, does one transaction and closes it. That costs a few milliseconds and makes threads,
`fork` and `spawn` safe, as nothing of SQLite outlives an operation.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from dpselect.errors import LedgerError, NoLedgerYet
from dpselect.release.ledger.chain import Contents, Row
from dpselect.release.ledger.stores.patience import Patience
from dpselect.release.ledger.stores.sqlite_file import (
    APPLICATION,
    IMMUTABLE,
    configured,
    exists,
    is_mounted_alone,
    journal,
    others_beside,
    reading_mode,
)

T = TypeVar("T")

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (  # to version 1
        "CREATE TABLE records (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
        "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL, hash TEXT NOT NULL)",
        "INSERT INTO head VALUES (1, 0, '')",
        "CREATE TRIGGER records_are_never_changed BEFORE UPDATE ON records "
        "BEGIN SELECT RAISE(ABORT, 'a record is never changed'); END",
        "CREATE TRIGGER records_are_never_removed BEFORE DELETE ON records "
        "BEGIN SELECT RAISE(ABORT, 'a record is never removed'); END",
        # REPLACE deletes without firing the trigger above; this one leaves it nothing to replace.
        "CREATE TRIGGER records_follow_one_another BEFORE INSERT ON records "
        "WHEN NEW.number IS NOT (SELECT count FROM head) "
        "BEGIN SELECT RAISE(ABORT, 'a record follows the last one'); END",
        "CREATE TRIGGER the_head_follows AFTER INSERT ON records "
        "BEGIN UPDATE head SET count = NEW.number + 1, hash = NEW.hash; END",
        "CREATE TRIGGER the_head_only_follows BEFORE UPDATE ON head WHEN NEW.count <> OLD.count + 1 "
        "OR NEW.hash IS NOT (SELECT hash FROM records WHERE number = OLD.count) "
        "BEGIN SELECT RAISE(ABORT, 'the head only follows the records'); END",
        "CREATE TRIGGER the_head_stays BEFORE DELETE ON head BEGIN SELECT RAISE(ABORT, 'the head stays'); END",
        "CREATE TRIGGER the_head_is_one BEFORE INSERT ON head BEGIN SELECT RAISE(ABORT, 'there is one head'); END",
    ),
)
"""Statements that lead from one version of the schema to the next; a step that was released is never edited."""

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_SENTENCES = {
    sqlite3.SQLITE_READONLY: "cannot be written to: make the file and its folder writable",
    sqlite3.SQLITE_PERM: "cannot be written to: make the file and its folder writable",
    sqlite3.SQLITE_FULL: "cannot grow, because the disk is full: make room",
    sqlite3.SQLITE_IOERR: "cannot be read or written, because the disk reports an error or is full: check it",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check that its folder exists and is writable",
    sqlite3.SQLITE_NOTADB: "is not a ledger but some other file: give another path",
    sqlite3.SQLITE_CORRUPT: "is damaged: restore it from a backup and check it against your receipts",
    sqlite3.SQLITE_CONSTRAINT: "refused a record out of order: verify it",
}


class SqliteStore:
    """Public. The records in a file, or in memory if `path` is None."""

    def __init__(self, path: Path | None, patience: Patience) -> None:
        self.path = path
        self.patience = patience
        self.name = "The ledger in memory" if path is None else f"The ledger {str(path)!r}"
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._memory = None if path else configured(":memory:", 0, check_same_thread=False)

    def address(self) -> str | None:
        """The path, or None."""
        return None if self.path is None else str(self.path)

    def key(self) -> str:
        """The path; a ledger in memory has none to give."""
        if self.path is None:
            raise LedgerError("A ledger in memory stays in the process that made it; use a file to share one.")
        return str(self.path)

    def create(self, opening: Row) -> None:
        """Make the ledger with its opening record, unless there is one already."""

        def work(connection: sqlite3.Connection) -> None:
            if not self._prepared(connection, may_create=True):
                _insert(connection, opening)

        self._patiently("rwc", "BEGIN IMMEDIATE", work)

    def append(self, decide: Callable[[Contents], Row]) -> Row:
        """Read everything, let `decide` make the next record, and write it, in one exclusive and durable transaction."""

        def work(connection: sqlite3.Connection) -> Row:
            self._prepared(connection)
            self.require_chargeable()
            row = decide(_contents(connection))
            _insert(connection, row)
            return row

        return self._patiently("rw", "BEGIN IMMEDIATE", work)

    def read(self) -> Contents:
        """Everything as of one moment; never in the way of a writer."""

        def work(connection: sqlite3.Connection) -> Contents:
            self._prepared(connection)
            return _contents(connection)

        for _ in self.patience.attempts(self.name):
            mode, before = ("rw" if self.path is None else reading_mode(self.path)), self._stamp()
            try:
                contents = self._patiently(mode, "BEGIN", work)
            except LedgerError:
                if mode != IMMUTABLE or before == self._stamp():
                    raise
            else:
                if mode != IMMUTABLE or before == self._stamp():
                    return contents  # else its owner wrote while it was read
        raise AssertionError("the attempts end with a return or an error")  # pragma: no cover

    def require_chargeable(self) -> None:
        """Refuse a file that cannot be written, or that has a second name: a hard link, or a mount of this file alone.

        SQLite keeps one journal for each name: two programs that use two names of one file do not see each other's charges.
        """
        if self.path is None or not exists(self.path):
            return
        if self.path.stat().st_nlink > 1:
            raise LedgerError(
                f"{self.name} has a second name (a hard link), through which it could be spent twice: copy it to a new file, "
                "remove both names, and go on with the copy; nothing was released."
            )
        if is_mounted_alone(self.path):
            raise LedgerError(
                f"{self.name} is mounted as a single file, so that it could be spent once here and once where it comes from: "
                "mount its whole folder; nothing was released."
            )
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            raise self._sentence(sqlite3.SQLITE_READONLY)

    def others_with(self, label: str) -> list[str]:
        """Other ledgers in the same folder that hold records for the data set `label`."""
        if self.path is None:
            return []
        return others_beside(self.path, label)

    def _patiently(self, mode: str, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
        for seconds in self.patience.attempts(self.name):
            try:
                # SQLite waits on the open file, which is cheap; after that the wait is announced and begins again.
                with self._connection(mode, min(seconds, self.patience.quiet)) as connection:
                    return _transact(connection, mode, begin, work)
            except sqlite3.Error as problem:
                code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
                if code not in _BUSY:
                    raise self._sentence(code) from problem
            except UnicodeError:  # SQLite's own message quoted bytes of a damaged file
                raise self._sentence(sqlite3.SQLITE_CORRUPT) from None
        raise AssertionError("the attempts end with a return or an error")  # pragma: no cover

    def _stamp(self) -> tuple[float, int, bool]:
        """What changes when somebody writes."""
        if self.path is None or not exists(self.path):
            return 0, 0, False
        status = self.path.stat()
        return status.st_mtime_ns, status.st_size, journal(self.path).exists()

    @contextmanager
    def _connection(self, mode: str, seconds: float) -> Iterator[sqlite3.Connection]:
        if self.path is not None:
            if mode != "rwc" and not exists(self.path):
                raise NoLedgerYet(f"There is no ledger at {str(self.path)!r}; state epsilon to create one.")
            if self.path.is_dir():
                raise LedgerError(f"{str(self.path)!r} is a folder; give the path of a file for the ledger.")
            with closing(configured(f"{self.path.as_uri()}?mode={mode}", seconds)) as connection:
                yield connection
        else:
            assert self._memory is not None
            if os.getpid() != self._process:
                raise LedgerError(
                    "A ledger in memory stays in the process that made it; use a file for work in several processes."
                )
            with self._lock:
                yield self._memory

    def _prepared(self, connection: sqlite3.Connection, *, may_create: bool = False) -> bool:
        """Bring the schema up to date; whether there was a ledger already."""
        application, version = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        new = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if new and not may_create:
            raise NoLedgerYet(f"{self.name} holds nothing yet; state epsilon to create it.")
        if not new and application != APPLICATION:
            raise LedgerError(f"{self.name} is a database of another program; give another path.")
        if version > len(MIGRATIONS):
            raise LedgerError(
                f"{self.name} was written by a newer dpselect (schema {version}, here {len(MIGRATIONS)}); update dpselect."
            )
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                connection.execute(statement)
        if version < len(MIGRATIONS):
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        return not new

    def _sentence(self, code: int) -> LedgerError:
        what = _SENTENCES.get(code, f"cannot be used (SQLite error {code}): check the file")
        return LedgerError(f"{self.name} {what}; nothing was released.")


def _transact(connection: sqlite3.Connection, mode: str, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
    if mode == "rwc":
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(begin)
    try:
        result = work(connection)
        connection.execute("COMMIT")
        return result
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _contents(connection: sqlite3.Connection) -> Contents:
    rows = [Row(*row) for row in connection.execute("SELECT number, body, hash FROM records ORDER BY number")]
    head = connection.execute("SELECT count, hash FROM head").fetchone() or (0, "")
    return Contents(rows, *head)


def _insert(connection: sqlite3.Connection, row: Row) -> None:
    connection.execute("INSERT INTO records VALUES (?, ?, ?)", (row.index, row.body, row.hash))
