"""Public. A ledger's file among others: how to open it without leaving traces, and which of its neighbours are ledgers too."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from dpselect.errors import LedgerError
from dpselect.release.ledger.chain import mark_of_data

APPLICATION = 0x64707331  # "dps1": marks the file as a ledger

IMMUTABLE = "ro&immutable=1"
"""How a file is opened that this account may not write and nobody is writing: SQLite then leaves nothing beside it."""

MOUNTS = Path("/proc/self/mountinfo")
"""The places of this process's tree of files; the fifth word of a line, where blanks and the like are octal numbers."""

MOST_SIBLINGS = 200
"""No more files than this are looked at in search of a second ledger for one data set."""


def configured(where: str, seconds: float, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """A connection whose commits are durable."""
    connection = sqlite3.connect(
        where,
        timeout=seconds,
        isolation_level=None,
        uri=where.startswith("file:"),
        check_same_thread=check_same_thread,
    )
    try:
        # A commit returns when the record is on the disk, on macOS too.
        for setting in ("synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def exists(path: Path) -> bool:
    """Whether there is a file or a folder."""
    try:
        return path.exists()
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
    """Other ledgers in the folder of `path` that hold records for the data set `label`."""
    endings = {".db", ".sqlite", ".sqlite3", ".ledger", path.suffix}
    try:
        files = [file for file in sorted(path.parent.iterdir()) if file.suffix in endings and file.is_file()]
        others = [file for file in files[:MOST_SIBLINGS] if not file.samefile(path)]
    except OSError:  # a folder that may not be listed
        return []
    return [str(file) for file in others if _mentions(file, label)]


def _mentions(file: Path, label: str) -> bool:
    """Whether a file is a ledger with records for the data set `label`; a damaged file or no ledger mentions nothing.

    Opened through SQLite, never as a plain file: closing a plain file would drop the locks that this process may hold
    on it in another thread.
    """
    try:
        with closing(configured(f"{file.as_uri()}?mode={IMMUTABLE}", 0)) as connection:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
                return False  # another program's database is not even locked
        with closing(configured(f"{file.as_uri()}?mode={reading_mode(file)}", 0)) as connection:
            query = "SELECT EXISTS (SELECT 1 FROM records WHERE instr(body, ?) > 0)"
            return bool(connection.execute(query, [mark_of_data(label)]).fetchone()[0])
    except (sqlite3.Error, LedgerError, OSError, UnicodeError):
        return False
