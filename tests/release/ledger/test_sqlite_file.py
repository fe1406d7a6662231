"""How a ledger's file is opened for reading, by what the account may do and what stands beside it."""

import os

import pytest

from dpselect.errors import LedgerError
from dpselect.release.ledger import sqlite
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.sqlite import IMMUTABLE, exists, is_mounted_alone, reading_mode


@pytest.mark.parametrize(
    ("may_write", "beside", "mode"),
    [
        ({"file", "folder"}, ("-wal",), "rw"),
        ({"file", "folder"}, (), "rw"),
        ({"folder"}, (), IMMUTABLE),
        ({"file"}, (), IMMUTABLE),
        (set(), (), IMMUTABLE),
        ({"folder"}, ("-wal", "-shm"), "ro"),  # the owner is writing: its own files serve
        (set(), ("-wal", "-shm"), "ro"),
        (set(), ("-wal",), "ro"),  # no file of ours can be left where none can be made
        ({"folder"}, ("-wal",), None),
    ],
)
def test_reading_leaves_nothing_that_the_owner_could_not_use(may_write, beside, mode, tmp_path, monkeypatch):
    path = tmp_path / "budget.db"
    path.touch()
    for ending in beside:
        (tmp_path / f"budget.db{ending}").touch()
    allowed = {path: "file" in may_write, tmp_path: "folder" in may_write}
    monkeypatch.setattr(sqlite.os, "access", lambda place, wanted: wanted == os.W_OK and allowed[place])
    if mode is None:
        with pytest.raises(LedgerError, match="left in the middle of a charge"):
            reading_mode(path)
    else:
        assert reading_mode(path) == mode


def test_what_is_not_there_is_opened_as_usual_and_a_name_too_long_is_one_sentence(tmp_path):
    assert reading_mode(tmp_path / "none.db") == "rw"
    with pytest.raises(LedgerError, match="cannot be opened"):
        exists(tmp_path / ("a" * 300))


@pytest.mark.parametrize("closed", ["file", "folder"])
def test_neither_a_file_nor_a_folder_that_may_not_be_written_takes_a_charge(closed, tmp_path, monkeypatch):
    path = tmp_path / "budget.db"
    ledger = Ledger(path, epsilon=1)
    forbidden = path if closed == "file" else tmp_path
    monkeypatch.setattr(sqlite.os, "access", lambda place, wanted: place != forbidden)
    with pytest.raises(LedgerError, match="nothing was released"):
        ledger.charge(Charge(what="select", mechanism="laplace", epsilon="0.5"))
    assert ledger.remaining().epsilon == 1


def test_the_table_of_mounts_is_read_as_the_kernel_writes_it(tmp_path, monkeypatch):
    path, link = tmp_path / "my budget.db", tmp_path / "link.db"
    link.symlink_to(path)
    place = os.fsencode(path.resolve()).replace(b"\\", rb"\134").replace(b" ", rb"\040")
    line = b"63 43 254:0 /there/budget.db %s rw,relatime - ext4 /dev/vda rw\n"
    table = tmp_path / "mountinfo"
    monkeypatch.setattr(sqlite, "MOUNTS", table)
    assert not is_mounted_alone(path)  # where there is no table
    table.write_bytes(line % b"/" + line % os.fsencode(tmp_path.resolve()))
    assert not is_mounted_alone(path)  # its folder is mounted, as it should be
    table.write_bytes(line % b"/" + line % place)
    assert is_mounted_alone(path)
    assert is_mounted_alone(link)
    assert not is_mounted_alone(tmp_path / "other.db")
    ledger = Ledger(path, epsilon=1)
    with pytest.raises(LedgerError, match="is mounted as a single file"):
        ledger.charge(Charge(what="select", mechanism="laplace", epsilon="0.1"))


def test_the_root_of_all_folders_is_no_ledger():
    with pytest.raises(LedgerError, match="is a folder; give the path of a file"):
        Ledger("/").entries()


def test_a_message_that_cannot_be_read_is_that_of_a_damaged_file_and_not_waited_for(tmp_path, monkeypatch):
    """SQLite quotes bytes of the file in it, which Python then takes for text."""
    ledger = Ledger(tmp_path / "budget.db", epsilon=1, wait=0)

    def quoting(*asked):
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    monkeypatch.setattr(sqlite, "_transact", quoting)
    with pytest.raises(LedgerError, match="is damaged: restore it from a backup"):
        ledger.entries()
