"""What can be wrong with a file, and with the disk under it: refused with one sentence, and nothing is charged."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from dpselect.errors import LedgerError
from dpselect.release.ledger import sqlite
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.sqlite import SqliteStore

SOURCE = Path(__file__).parents[3] / "src"


def choice(epsilon="0.1", **more):
    return Charge(what="select", mechanism="laplace", epsilon=epsilon, **more)


def run(script, *arguments):
    """The output of a Python script in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout


def refused(act):
    """The one sentence with which an act is refused."""
    with pytest.raises(LedgerError) as caught:
        act()
    sentence = str(caught.value)
    assert re.fullmatch(r"[^\n]*\w\.", sentence)
    return sentence


def test_files_that_are_no_ledgers(tmp_path):
    text, database, empty = (tmp_path / name for name in ("notes.txt", "other.db", "empty.db"))
    text.write_text("not a database, " * 100)
    empty.touch()
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE birds (name)")
    for path, sentence in (
        (tmp_path, "is a folder"),
        (text, "is not a ledger but some other file"),
        (database, "is a database of another program"),
        (tmp_path / "nowhere" / "budget.db", "cannot be opened: check that its folder exists"),
    ):
        assert sentence in refused(lambda path=path: Ledger(path, epsilon=1))
    assert text.read_text() == "not a database, " * 100
    assert "holds nothing yet" in refused(lambda: Ledger(empty))
    Ledger(empty, epsilon=1).charge(choice())


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "budget.db"
    ledger = Ledger(path, epsilon=10)
    for _ in range(30):
        ledger.charge(choice(parameters={"long": "x" * 1000}))
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    for act in (ledger.remaining, lambda: ledger.charge(choice()), lambda: Ledger(path)):
        assert "is damaged: restore it from a backup" in refused(act)


def test_an_error_without_a_sentence_of_its_own_is_still_one_sentence(tmp_path, tamper):
    path = tmp_path / "budget.db"
    ledger = Ledger(path, epsilon=1)
    tamper(path, "DROP TABLE head")
    assert "cannot be used (SQLite error 1)" in refused(ledger.remaining)


def test_a_ledger_survives_what_a_crash_leaves_behind(tmp_path):
    path = tmp_path / "budget.db"
    script = """
import os, sys
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.entries import Charge
ledger = Ledger(sys.argv[1], epsilon=1)
ledger.charge(Charge(what="select", mechanism="laplace", epsilon="0.25"))
def crash(contents, found):
    os._exit(0)
ledger._store.append(crash)
"""
    run(script, path)
    assert path.with_name("budget.db-wal").exists()
    ledger = Ledger(path, epsilon=1)
    assert str(ledger.remaining().epsilon) == "0.75"
    ledger.verify()


def test_an_older_copy_is_noticed_while_open_and_by_receipt(tmp_path):
    path, copy = tmp_path / "budget.db", tmp_path / "copy"
    ledger = Ledger(path, epsilon=1)
    ledger.charge(choice())
    shutil.copy(path, copy)
    receipt = ledger.charge(choice())
    shutil.copy(copy, path)
    assert "replaced by an older or another one since it was opened" in refused(lambda: ledger.charge(choice()))
    assert "does not hold the entry of receipt 2" in refused(lambda: Ledger(path).verify(receipt))


@contextmanager
def small_disk(folder):
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_refuses_and_nothing_is_charged(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        ledger = Ledger(disk / "budget.db", epsilon=100)
        ledger.charge(choice())
        ballast = disk / "ballast"
        with pytest.raises(OSError, match="No space left"), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 1024)
        sentence = refused(lambda: [ledger.charge(choice(parameters={"long": "x" * 1000})) for _ in range(100)])
        assert "disk" in sentence
        assert "full" in sentence
        assert "nothing was released" in sentence
        ballast.unlink()
        charged = len(ledger.entries())
        assert charged == 1  # not one of the refused was written
        ledger.verify()
        ledger.charge(choice())
        assert len(ledger.entries()) == charged + 1


def test_a_file_that_may_not_grow_refuses_and_nothing_is_charged(tmp_path):
    script = """
import resource, signal, sys
from dpselect.errors import LedgerError
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.entries import Charge
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ledger = Ledger(sys.argv[1], epsilon=100)
before = len(ledger.entries())
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
receipts = []
try:
    while True:
        charge = Charge(what="select", mechanism="laplace", epsilon="0.1", parameters={"long": "x" * 5000})
        receipts.append(ledger.charge(charge).index)
except LedgerError as refusal:
    print(refusal)
print(len(receipts))
"""
    sentence, charged = run(script, tmp_path / "budget.db").splitlines()
    assert "disk" in sentence
    assert "nothing was released" in sentence
    ledger = Ledger(tmp_path / "budget.db")
    ledger.verify()
    assert len(ledger.entries()) == int(charged)


def test_a_read_only_ledger_can_be_read_and_refuses_charges():
    script = """
import os, sys
from pathlib import Path
from dpselect.errors import LedgerError
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.entries import Charge
if os.getuid() == 0:
    os.setuid(65534)  # root may write anywhere
path = Path(sys.argv[1])
for act in (
    lambda: Ledger(path, epsilon=1).remaining(),
    lambda: Ledger(path).charge(Charge(what="select", mechanism="laplace", epsilon="0.1")).index,
    lambda: Ledger(path.with_name("new.db"), epsilon=1),
):
    try:
        print(act())
    except LedgerError as refusal:
        print(refusal)
"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.db"
        Ledger(path, epsilon=1).charge(choice())
        for file_mode, folder_mode in ((0o444, 0o555), (0o444, 0o777)):
            path.chmod(file_mode)
            Path(folder).chmod(folder_mode)
            left, charge, new = run(script, path).splitlines()
            assert left == "epsilon=0.9, delta=0"
            assert "cannot be written to: make the file and its folder writable; nothing was released" in charge
            assert ("cannot be opened" in new) == (folder_mode == 0o555)
        Path(folder).chmod(0o755)
        assert len(Ledger(path).entries()) == 1


def test_looking_for_other_ledgers_ignores_what_is_none(tmp_path):
    (tmp_path / "notes.db").write_text("x" * 5000)
    (tmp_path / "folder.db").mkdir()
    with closing(sqlite3.connect(tmp_path / "birds.db")) as connection, connection:
        connection.execute("CREATE TABLE entries (number, body)")
        connection.execute("""INSERT INTO entries VALUES (1, '"data":"prostate"')""")
    before = sorted(tmp_path.iterdir())
    ledger = Ledger(tmp_path / "budget.db", epsilon=1)
    ledger.charge(choice(data="prostate"))  # a warning would be an error here
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "budget.db"])
    assert Ledger(epsilon=1)._store.others_with("prostate") == []


def test_two_that_create_at_once_make_one_ledger(tmp_path):
    opened, errors, barrier = [], [], threading.Barrier(8)

    def create():
        barrier.wait()
        try:
            opened.append(Ledger(tmp_path / "budget.db", epsilon=1).charge(choice()).hash)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(entry.hash for entry in Ledger(tmp_path / "budget.db").entries()) == sorted(opened)


def test_a_commit_is_written_through_to_the_disk(tmp_path):
    store = Ledger(tmp_path / "budget.db", epsilon=1)._store
    assert isinstance(store, SqliteStore)
    with store._connection("rw", 1) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_connection_that_cannot_be_set_up_is_closed(tmp_path):
    """An open file would keep its lock: the next process would wait for nothing."""
    with pytest.raises(LedgerError):
        Ledger("/dev/null", epsilon=1)
    (tmp_path / "bad.db").write_bytes(b"SQLite format 3\x00" + b"\xff" * 4096)
    refused(lambda: Ledger(tmp_path / "bad.db", epsilon=1))


def test_only_the_note_that_a_release_arrived_does_not_wait_for_the_disk(tmp_path, monkeypatch):
    ledger, charge, heard = (
        Ledger(tmp_path / "budget.db", epsilon=3),
        Charge(what="select", mechanism="laplace", epsilon=1),
        [],
    )
    original = sqlite.configured

    def watched(where, seconds):
        connection = original(where, seconds)
        connection.set_trace_callback(
            lambda each: heard.append(each) if re.search("synchronous|COMMIT", each) else None
        )
        return connection

    monkeypatch.setattr(sqlite, "configured", watched)
    with ledger.session():
        commitment = ledger.commit([charge], "text")
        assert set(heard) == {"COMMIT"}
        ledger.delivered(commitment.id)
        assert heard[-3:] == ["PRAGMA synchronous = NORMAL", "COMMIT", "PRAGMA synchronous = FULL"]
        ledger.charge(charge)
        assert heard[-1] == "COMMIT" and heard.count("PRAGMA synchronous = NORMAL") == 1
    assert not ledger.undelivered()
