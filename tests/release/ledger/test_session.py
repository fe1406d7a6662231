"""How often a ledger's file is opened, and what becomes of an open one: threads, forks, another file in its place, the end."""

import gc
import os
import shutil
import sqlite3
import threading

import numpy as np
import pytest

import dpselect
from dpselect.errors import LedgerError
from dpselect.release.ledger import ledger as ledger_module
from dpselect.release.ledger import sqlite
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger

ONE = Charge(what="select", mechanism="laplace", epsilon="0.01")


@pytest.fixture
def opened(monkeypatch):
    """The addresses that were opened."""
    real, seen = sqlite.configured, []
    monkeypatch.setattr(sqlite, "configured", lambda where, seconds: seen.append(where) or real(where, seconds))
    return seen


def beside(folder):
    return sorted(os.listdir(folder))


def test_a_session_opens_the_file_once(tmp_path, opened):
    ledger = Ledger(tmp_path / "budget.db", epsilon=3)
    opened.clear()
    with ledger.session():
        ledger.check(ONE)
        with ledger.session():
            id = ledger.commit([ONE], "").id
        ledger.delivered(id)
        ledger.remaining()
        assert len(opened) == 1
        assert len(Ledger(tmp_path / "budget.db").entries()) == 1  # nothing is locked in between
    assert beside(tmp_path) == ["budget.db"]  # and the file is whole after it
    ledger.charge(ONE)
    assert beside(tmp_path) == ["budget.db"]


def test_one_analysis_opens_its_ledger_once_to_look_and_once_to_work(tmp_path, opened):
    Ledger(tmp_path / "budget.db", epsilon=3, delta="1e-6")
    numbers = np.random.default_rng(1).uniform(-1, 1, (200, 2))
    study = dpselect.Study(dpselect.Numeric("y", -1, 1), [dpselect.Numeric("x", -1, 1)])
    opened.clear()
    dpselect.analyze((numbers[:, :1], numbers[:, 1]), study, epsilon=1, ledger=tmp_path / "budget.db")
    assert len(opened) == 2
    assert len(Ledger(tmp_path / "budget.db").entries()) == 2


def test_threads_share_a_session(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", epsilon=1)
    problems = []

    def spend():
        try:
            for _ in range(10):
                ledger.commit([ONE], "")
                ledger.remaining()
        except Exception as problem:
            problems.append(problem)

    with ledger.session():
        threads = [threading.Thread(target=spend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert problems == []
    assert len(ledger.entries()) == len(ledger.undelivered()) == 80
    ledger.verify()


def test_a_fork_in_the_middle_of_a_session_takes_no_connection_along(tmp_path):
    """The child would believe in locks that it does not have, and what it charged could be swept away with the journal."""
    path = tmp_path / "budget.db"
    ledger = Ledger(path, epsilon=10)
    children = []
    with ledger.session():
        ledger.charge(ONE)
        assert ledger._store._kept is not None
        for _ in range(4):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    none = ledger._store._kept is None
                    for _ in range(25):
                        ledger.charge(ONE)
                        Ledger(path).charge(ONE)
                    code = 0 if none else 2
                finally:
                    os._exit(code)
            children.append(child)
            ledger.charge(ONE)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0] * 4
    assert len(ledger.entries()) == 5 + 4 * 50
    Ledger(path).verify()


def test_a_fork_does_not_wait_for_ever_for_one_that_forks_in_its_own_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "FORK_WAIT", 0.1)
    ledger = Ledger(tmp_path / "budget.db", epsilon=1)
    real = ledger_module.now

    def forking():
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return real()

    monkeypatch.setattr(ledger_module, "now", forking)
    with ledger.session():
        ledger.commit([ONE], "")
        ledger.commit([ONE], "")
    assert len(ledger.entries()) == 2


def test_another_file_in_the_place_of_the_open_one_is_noticed(tmp_path):
    path, copy = tmp_path / "budget.db", tmp_path / "copy"
    ledger = Ledger(path, epsilon=1)
    ledger.charge(ONE)
    shutil.copy(path, copy)
    with ledger.session():
        ledger.charge(ONE)
        for ending in ("", "-wal", "-shm"):
            path.with_name(f"budget.db{ending}").unlink()
        with pytest.raises(LedgerError, match="There is no ledger"):
            ledger.charge(ONE)
        copy.rename(path)
        with pytest.raises(LedgerError, match="replaced by an older or another one since it was opened"):
            ledger.charge(ONE)


def test_an_error_of_the_database_ends_the_connection_and_not_the_session(tmp_path, tamper):
    ledger = Ledger(tmp_path / "budget.db", epsilon=1)
    with ledger.session():
        ledger.charge(ONE)
        tamper(tmp_path / "budget.db", "ALTER TABLE head RENAME TO tail")
        with pytest.raises(LedgerError, match="SQLite error 1"):
            ledger.charge(ONE)
        assert ledger._store._kept is None
        tamper(tmp_path / "budget.db", "ALTER TABLE tail RENAME TO head")
    assert len(ledger.entries()) == 1


def test_a_ledger_in_memory_closes_what_it_opened(opened, monkeypatch):
    """Python 3.13 warns of a database that nobody closed."""
    ledger = Ledger(epsilon=1)
    connection = ledger._store._kept.connection
    ledger.charge(ONE)
    with ledger.session():
        pass
    assert len(ledger.entries()) == 1  # the end of a session is not its end
    del ledger
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_ledger_in_memory_ends_when_it_is_closed():
    with Ledger(epsilon=1) as ledger:
        ledger.charge(ONE)
    for act in (ledger.remaining, lambda: ledger.charge(ONE), lambda: ledger.release("")):
        with pytest.raises(LedgerError, match="was closed"):
            act()
    ledger.close()


def test_a_file_may_be_used_after_it_was_closed(tmp_path, opened):
    with Ledger(tmp_path / "budget.db", epsilon=1) as ledger:
        opened.clear()
        ledger.charge(ONE)
        ledger.charge(ONE)
        assert len(opened) == 1
    assert beside(tmp_path) == ["budget.db"]
    assert len(ledger.entries()) == 2
