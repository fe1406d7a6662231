"""Public. A ledger in one SQLite file, or in memory: durable, append-only, shared by processes and threads.

An operation opens the file, does one transaction and closes it, so that nothing of SQLite outlives it and the file is whole in
between. During `hold` the connection is kept instead: one opening and one checkpoint for all that an analysis does. A connection
must not cross a fork (the child would believe in locks that it does not have), so kept ones are closed before every fork and
opened again when they are needed.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dpselect.errors import LedgerError, NoLedgerYet
from dpselect.release.ledger.store import (
    Addition,
    Contents,
    Patience,
    Row,
    Stored,
    mark_of_data,
    query_of,
    require_version,
)

T = TypeVar("T")

APPLICATION = 0x64707331  # "dps1": marks the file as a ledger
SQLITE_VERSION = 3
SQLITE_SCHEMA = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE outbox (id TEXT PRIMARY KEY NOT NULL, entry INTEGER NOT NULL, time TEXT NOT NULL, request TEXT NOT NULL, "
    "text TEXT NOT NULL, delivered TEXT)",
    "INSERT INTO head VALUES (1, 0, '')",
    "CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'an entry is never changed'); END",
    "CREATE TRIGGER entries_are_never_removed BEFORE DELETE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'an entry is never removed'); END",
    # REPLACE deletes without firing the trigger above; this one leaves it nothing to replace.
    "CREATE TRIGGER entries_follow_one_another BEFORE INSERT ON entries "
    "WHEN NEW.number IS NOT (SELECT count FROM head) "
    "BEGIN SELECT RAISE(ABORT, 'an entry follows the last one'); END",
    "CREATE TRIGGER the_head_follows AFTER INSERT ON entries "
    "BEGIN UPDATE head SET count = NEW.number + 1, hash = NEW.hash; END",
    "CREATE TRIGGER the_head_only_follows BEFORE UPDATE ON head WHEN NEW.count <> OLD.count + 1 "
    "OR NEW.hash IS NOT (SELECT hash FROM entries WHERE number = OLD.count) "
    "BEGIN SELECT RAISE(ABORT, 'the head only follows the entries'); END",
    "CREATE TRIGGER the_head_stays BEFORE DELETE ON head BEGIN SELECT RAISE(ABORT, 'the head stays'); END",
    "CREATE TRIGGER the_head_is_one BEFORE INSERT ON head BEGIN SELECT RAISE(ABORT, 'there is one head'); END",
    "CREATE TRIGGER a_release_is_paid_for BEFORE INSERT ON outbox WHEN NEW.delivered IS NOT NULL "
    "OR EXISTS (SELECT 1 FROM outbox WHERE id = NEW.id) OR NOT EXISTS (SELECT 1 FROM entries "
    """WHERE number = NEW.entry AND instr(body, '"release":"' || NEW.id || '"') > 0) """
    "BEGIN SELECT RAISE(ABORT, 'a release is kept once, with the entry that pays for it'); END",
    "CREATE TRIGGER a_release_waits BEFORE UPDATE ON outbox WHEN OLD.delivered IS NOT NULL OR NEW.id IS NOT OLD.id "
    "OR NEW.entry IS NOT OLD.entry OR NEW.time IS NOT OLD.time OR NEW.request IS NOT OLD.request "
    "BEGIN SELECT RAISE(ABORT, 'only the text of a release that waits is ever changed'); END",
    # SQLite cannot hash: that a text has a line for each entry that holds one is what it can see to.
    "CREATE TRIGGER a_release_only_grows BEFORE UPDATE ON outbox WHEN NEW.text IS NOT OLD.text AND NOT ("
    "substr(NEW.text, 1, length(OLD.text) + 1) IS OLD.text || char(10) "
    "AND length(NEW.text) - length(replace(NEW.text, char(10), '')) + 1 = (SELECT count(*) FROM entries WHERE number >= OLD.entry "
    """AND instr(body, '"release":"' || OLD.id || '"') > 0 AND instr(body, '"sealed":"') > 0)) """
    "BEGIN SELECT RAISE(ABORT, 'a release only grows, by the stage that the last entry holds'); END",
    "CREATE TRIGGER a_release_is_not_lost BEFORE DELETE ON outbox WHEN OLD.delivered IS NULL "
    "BEGIN SELECT RAISE(ABORT, 'a release is never removed before it is handed over'); END",
)

IMMUTABLE = "ro&immutable=1"
"""How a file is opened that this account may not write and nobody is writing: SQLite then leaves nothing beside it."""

MOUNTS = Path("/proc/self/mountinfo")
"""The places of this process's tree of files; the fifth word of a line, where blanks and the like are octal numbers."""

MAX_SIBLINGS = 200
"""No more files than this are looked at in search of a second ledger for one data set."""

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_SQLITE_SENTENCES = {
    sqlite3.SQLITE_READONLY: "cannot be written to: make the file and its folder writable",
    sqlite3.SQLITE_PERM: "cannot be written to: make the file and its folder writable",
    sqlite3.SQLITE_FULL: "cannot grow, because the disk is full: make room",
    sqlite3.SQLITE_IOERR: "cannot be read or written, because the disk reports an error or is full: check it",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check that its folder exists and is writable",
    sqlite3.SQLITE_NOTADB: "is not a ledger but some other file: give another path",
    sqlite3.SQLITE_CORRUPT: "is damaged: restore it from a backup and check it against your receipts",
    sqlite3.SQLITE_CONSTRAINT: "refused an entry out of order: verify it",
}


class SqliteStore:
    """Public. The ledger in a file, or in memory if `path` is None."""

    def __init__(self, path: Path | None, patience: Patience) -> None:
        self.path = path
        self.patience = patience
        self.name = "The ledger in memory" if path is None else f"The ledger {str(path)!r}"
        self._lock = threading.Lock()  # of the connection that is kept
        self._kept: _Kept | None = None
        self._holders = 0
        self._process = os.getpid()
        if path is None:
            memory = configured(":memory:", 0)
            self._kept = _Kept(memory, None)
            weakref.finalize(self, memory.close)
        else:
            _STORES.add(self)

    def address(self) -> str | None:
        """The path, or None."""
        return None if self.path is None else str(self.path)

    def key(self) -> str:
        """The path; a ledger in memory has none to give."""
        if self.path is None:
            raise LedgerError("A ledger in memory stays in the process that made it; use a file to share one.")
        return str(self.path)

    def create(self, opening: Row) -> None:
        """Make the ledger with its opening entry, unless there is one already."""

        def work(connection: sqlite3.Connection) -> None:
            if _is_empty(connection):
                for statement in SQLITE_SCHEMA:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {SQLITE_VERSION}")
                _insert(connection, [opening], None)
            else:
                self._require_ledger(connection)

        self._patiently("rwc", "BEGIN IMMEDIATE", work)

    def append(self, decide: Callable[[Contents, Stored | None], Addition], id: str = "") -> None:
        """Read the chain, let `decide` make what follows, and write it, in one exclusive and durable transaction."""

        def work(connection: sqlite3.Connection) -> None:
            self._require_ledger(connection)
            self.require_chargeable()
            found = _stored(connection, *query_of(id, False, "?")) if id else []
            rows, sealed = decide(_contents(connection), found[0] if found else None)
            _insert(connection, rows, None if found else sealed)
            if found and sealed is not None:
                connection.execute("UPDATE outbox SET text = ? WHERE id = ?", (sealed.text, id))

        self._patiently("rw", "BEGIN IMMEDIATE", work)

    def change(self, id: str, decide: Callable[[Stored | None], Stored]) -> None:
        """Let `decide` say when a release was handed over, and write it, in one exclusive transaction."""

        def work(connection: sqlite3.Connection) -> None:
            self._require_ledger(connection)
            self.require_chargeable()
            found = _stored(connection, *query_of(id, False, "?"))
            before = found[0] if found else None
            after = decide(before)
            if after != before:
                connection.execute("UPDATE outbox SET delivered = ? WHERE id = ?", (after.delivered, id))

        self._patiently("rw", "BEGIN IMMEDIATE", work, durable=False)

    def read(self) -> Contents:
        """The chain as of one moment; never in the way of a writer."""
        return self._reading(_contents)

    def releases(self, *, id: str | None = None, waiting: bool = False) -> tuple[Contents, list[Stored]]:
        """The chain, and the releases of the same moment, the oldest first: all, those that wait, or the one with an id."""
        return self._reading(lambda each: (_contents(each), _stored(each, *query_of(id, waiting, "?"))))

    def hold(self) -> None:
        """Keep the connection that the next operation opens."""
        with self._lock:
            self._holders += 1

    def let_go(self) -> None:
        """Close it when nobody holds it any more."""
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._drop()

    def close(self) -> None:
        """Close what is open. A ledger in memory ends; a file is opened again when it is needed."""
        with self._lock:
            if self._kept is not None:
                self._kept.connection.close()
            self._kept = None

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
        """Other ledgers in the same folder that hold entries for the data set `label`."""
        return [] if self.path is None else others_beside(self.path, label)

    def _reading(self, what: Callable[[sqlite3.Connection], T]) -> T:
        def work(connection: sqlite3.Connection) -> T:
            self._require_ledger(connection)
            return what(connection)

        for _ in self.patience.attempts(self.name):
            mode, before = ("rw" if self.path is None else reading_mode(self.path)), self._stamp()
            try:
                found = self._patiently(mode, "BEGIN", work)
            except LedgerError:
                if mode != IMMUTABLE or before == self._stamp():
                    raise
            else:
                if mode != IMMUTABLE or before == self._stamp():
                    return found  # else its owner wrote while it was read
        raise AssertionError("the attempts end with a return or an error")  # pragma: no cover

    def _patiently(self, mode: str, begin: str, work: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> T:
        for seconds in self.patience.attempts(self.name):
            try:
                # SQLite waits on the open file, which is cheap; after that the wait is announced and begins again.
                with self._connection(mode, min(seconds, self.patience.quiet)) as connection:
                    return _transact(connection, mode, begin, work, durable)
            except sqlite3.Error as problem:
                code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
                if code not in _BUSY:
                    raise self._sentence(code) from problem
            except UnicodeError:  # SQLite's own message quoted bytes of a damaged file
                raise self._sentence(sqlite3.SQLITE_CORRUPT) from None
        raise AssertionError("the attempts end with a return or an error")  # pragma: no cover

    @contextmanager
    def _connection(self, mode: str, seconds: float) -> Iterator[sqlite3.Connection]:
        if self.path is None:
            with self._lock:
                yield self._in_memory()
            return
        if mode != "rwc" and not exists(self.path):
            raise NoLedgerYet(
                f"There is no ledger at {str(self.path)!r}: check its name, or state epsilon to create one."
            )
        if self.path.is_dir():
            raise LedgerError(f"{str(self.path)!r} is a folder; give the path of a file for the ledger.")
        address = f"{self.path.as_uri()}?mode={mode}"
        # Another thread may be using the connection that is kept: this one then opens one of its own, and waits for nobody.
        if mode == "rw" and self._holders and self._lock.acquire(blocking=False):
            try:
                yield self._kept_connection(address, seconds)
            except sqlite3.Error:
                self._drop()
                raise
            finally:
                self._lock.release()
        else:
            with closing(configured(address, seconds)) as connection:
                yield connection

    def _in_memory(self) -> sqlite3.Connection:
        if os.getpid() != self._process:
            raise LedgerError(
                "A ledger in memory stays in the process that made it; use a file for work in several processes."
            )
        if self._kept is None:
            raise LedgerError("The ledger in memory was closed, and what it held is gone; open a new one.")
        return self._kept.connection

    def _kept_connection(self, address: str, seconds: float) -> sqlite3.Connection:
        """The connection that is kept, unless another file has taken the place of the one that it was opened for."""
        assert self.path is not None
        status = self.path.stat()
        file = status.st_dev, status.st_ino
        if self._kept is not None and self._kept.file != file:
            self._drop()
        if self._kept is None:
            self._kept = _Kept(configured(address, seconds), file)
        self._kept.connection.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")
        return self._kept.connection

    def _drop(self) -> None:
        if self.path is not None and self._kept is not None:
            self._kept.connection.close()
            self._kept = None

    def _stamp(self) -> tuple[float, int, bool]:
        """What changes when somebody writes."""
        if self.path is None or not exists(self.path):
            return 0, 0, False
        status = self.path.stat()
        return status.st_mtime_ns, status.st_size, journal(self.path).exists()

    def _require_ledger(self, connection: sqlite3.Connection) -> None:
        """Refuse a file without a ledger of this version."""
        if _is_empty(connection):
            raise NoLedgerYet(f"{self.name} holds nothing yet; state epsilon to create it.")
        application, version = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if application != APPLICATION:
            raise LedgerError(f"{self.name} is a database of another program; give another path.")
        require_version(self.name, version, SQLITE_VERSION)

    def _sentence(self, code: int) -> LedgerError:
        what = _SQLITE_SENTENCES.get(code, f"cannot be used (SQLite error {code}): check the file")
        return LedgerError(f"{self.name} {what}; nothing was released.")


@dataclass(frozen=True, slots=True)
class _Kept:
    """Public. A connection that outlives an operation, and the device and number of the file that it was opened for."""

    connection: sqlite3.Connection
    file: tuple[int, int] | None


_STORES: weakref.WeakSet[SqliteStore] = weakref.WeakSet()
_HELD_FOR_FORK: list[SqliteStore] = []
FORK_WAIT = 5.0
"""Seconds that a fork waits for an operation on a kept connection to end; one that forks in the middle of its own never ends."""


def _before_fork() -> None:
    for store in list(_STORES):
        if store._lock.acquire(timeout=FORK_WAIT):
            store._drop()
            _HELD_FOR_FORK.append(store)


def _after_fork() -> None:
    while _HELD_FOR_FORK:
        _HELD_FOR_FORK.pop()._lock.release()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def configured(where: str, seconds: float) -> sqlite3.Connection:
    """A connection whose commits are durable. Threads share it one at a time, under a lock."""
    connection = sqlite3.connect(
        where, timeout=seconds, isolation_level=None, uri=where.startswith("file:"), check_same_thread=False
    )
    try:
        # A commit returns when the entry is on the disk, on macOS too.
        for setting in ("synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def _transact(
    connection: sqlite3.Connection, mode: str, begin: str, work: Callable[[sqlite3.Connection], T], durable: bool
) -> T:
    if mode == "rwc":
        connection.execute("PRAGMA journal_mode = WAL")
    if not durable:
        connection.execute("PRAGMA synchronous = NORMAL")
    try:
        connection.execute(begin)
        result = work(connection)
        connection.execute("COMMIT")
        return result
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    finally:
        if not durable:
            connection.execute("PRAGMA synchronous = FULL")


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _contents(connection: sqlite3.Connection) -> Contents:
    rows = [Row(*row) for row in connection.execute("SELECT number, body, hash FROM entries ORDER BY number")]
    head = connection.execute("SELECT count, hash FROM head").fetchone() or (0, "")
    return Contents(rows, *head)


def _stored(connection: sqlite3.Connection, query: str, values: tuple[str, ...]) -> list[Stored]:
    return [Stored(*row) for row in connection.execute(query, values)]


def _insert(connection: sqlite3.Connection, rows: Sequence[Row], sealed: Stored | None) -> None:
    connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", [(row.index, row.body, row.hash) for row in rows])
    if sealed is not None:
        connection.execute(
            "INSERT INTO outbox VALUES (?, ?, ?, ?, ?, NULL)",
            (sealed.id, sealed.entry, sealed.time, sealed.request, sealed.text),
        )


def exists(path: Path) -> bool:
    """Whether there is a file or a folder."""
    try:
        os.stat(path)  # not Path.exists, which since Python 3.14 calls whatever it may not see absent
        return True
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as problem:  # a name that is too long, for one
        reason = problem.strerror or "the system refused"
        raise LedgerError(f"The ledger {str(path)!r} cannot be opened ({reason}): give another path.") from None


def journal(path: Path) -> Path:
    """The file where SQLite keeps what is not yet in the ledger's own."""
    return Path(f"{path}-wal")


def is_mounted_alone(path: Path) -> bool:
    """Whether a file is a place of its own in the tree of files, as `docker run -v ledger.db:/x/ledger.db` makes it one."""
    try:
        table = MOUNTS.read_bytes()
    except OSError:  # only Linux has this table, and only there a file is mounted by itself
        return False
    places = (line.split(b" ")[4] for line in table.splitlines())
    return os.fsencode(os.path.realpath(path)) in {re.sub(rb"\\([0-7]{3})", _letter, place) for place in places}


def _letter(octal: re.Match[bytes]) -> bytes:
    return bytes([int(octal[1], 8)])


def reading_mode(path: Path) -> str:
    """How to open a file for reading so that nothing stays behind that its owner could not use.

    An account that may write can do as SQLite likes: the last to leave removes the files beside the ledger. One that may only
    read would leave files of its own there, and the owner could charge no more.
    """
    if not exists(path) or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return "rw"
    if not journal(path).exists():
        return IMMUTABLE
    if os.access(path.parent, os.W_OK) and not Path(f"{path}-shm").exists():
        raise LedgerError(
            f"The ledger {str(path)!r} was left in the middle of a charge: have somebody who may write to it look at it first."
        )
    return "ro"


def others_beside(path: Path, label: str) -> list[str]:
    """Other ledgers in the folder of `path` that hold entries for the data set `label`."""
    endings = {".db", ".sqlite", ".sqlite3", ".ledger", path.suffix}
    try:
        files = [file for file in sorted(path.parent.iterdir()) if file.suffix in endings and file.is_file()]
        others = [file for file in files[:MAX_SIBLINGS] if not (path.exists() and file.samefile(path))]
    except OSError:  # a folder that may not be listed
        return []
    return [str(file) for file in others if _mentions(file, label)]


def _mentions(file: Path, label: str) -> bool:
    """Whether a file is a ledger with entries for the data set `label`; a damaged file or no ledger mentions nothing.

    Opened through SQLite, never as a plain file: closing a plain file would drop the locks that this process may hold
    on it in another thread.
    """
    try:
        with closing(configured(f"{file.as_uri()}?mode={IMMUTABLE}", 0)) as connection:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
                return False  # another program's database is not even locked
        with closing(configured(f"{file.as_uri()}?mode={reading_mode(file)}", 0)) as connection:
            query = "SELECT EXISTS (SELECT 1 FROM entries WHERE instr(body, ?) > 0)"
            return bool(connection.execute(query, [mark_of_data(label)]).fetchone()[0])
    except (sqlite3.Error, LedgerError, OSError, UnicodeError):
        return False
