"""Plausible mistakes, in one table: each ends in one sentence that says what to do, with exit code 2 and nothing charged."""

import errno
import os
import sqlite3
import tempfile
from pathlib import Path

import pytest

from dpselect.use import command_line

STUDY = """
[response]
name = "income"
lower = 0
upper = 100

[[predictors]]
name = "age"
lower = 18
upper = 90

[[predictors]]
name = "region"
categories = ["north", "south"]
"""
SECRET = "73.515625"
ROWS = [f"{20 + age / 2},{age},{'north' if age % 3 else 'south'}" for age in range(18, 91)]
DATA = "\n".join(["income,age,region", *ROWS, f"{SECRET},40,north"]) + "\n"
SELECT = ["select", "study.toml", "people.csv", "--yes", "--epsilon", "1"]


def write(name, text, encoding="utf-8"):
    return lambda: Path(name).write_bytes(text if isinstance(text, bytes) else text.encode(encoding))


def study(old, new):
    assert old in STUDY
    return write("study.toml", STUDY.replace(old, new))


def select(*changes):
    """`select` with --epsilon replaced or options added."""
    return [*SELECT, *changes]


def priced(epsilon, *more):
    return [*SELECT[:-1], epsilon, *more]


def nothing():
    pass


def read_only_folder():
    Path("locked").mkdir()
    Path("locked").chmod(0o500)


def not_readable():
    Path("people.csv").chmod(0)


def other_database():
    with sqlite3.connect("other.db") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()


def sees_all():
    """Whether this account reads what nobody may read, as root does unless that right was taken away."""
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).chmod(0)
        return os.access(file.name, os.R_OK)


root_sees_all = pytest.mark.skipif(sees_all(), reason="root may read and write everything; make test-elsewhere runs it")

# what went wrong: (how it came about, what was typed, words that the sentence must have)
MISTAKES = {
    "no such command": (nothing, ["selct", "study.toml", "people.csv"], ["selct", "Did you mean 'select'?"]),
    "no such option": (nothing, select("--epsilom", "1"), ["--epsilom", "--help"]),
    "no epsilon": (nothing, SELECT[:4], ["--epsilon"]),
    "no data": (nothing, ["select", "study.toml", "--epsilon", "1"], ["DATA"]),
    "epsilon 0": (nothing, priced("0"), ["epsilon is 0", "above 0"]),
    "epsilon negative": (nothing, priced("-1"), ["epsilon is -1"]),
    "epsilon NaN": (nothing, priced("nan"), ["epsilon is nan", "finite"]),
    "epsilon infinite": (nothing, priced("inf"), ["epsilon is inf", "finite"]),
    "epsilon huge": (nothing, priced("1e300"), ["epsilon is 1e300", "1e9"]),
    "epsilon a word": (nothing, priced("one"), ["epsilon is 'one'", "number"]),
    "epsilon with a comma": (nothing, priced("0,5"), ["epsilon is '0,5'", "number"]),
    "delta 1": (nothing, select("--method", "pcpl", "--delta", "1"), ["delta is 1", "below 0.5"]),
    "pcpl without delta": (nothing, select("--method", "pcpl"), ["delta", "1e-6 is usual"]),
    "delta for pcls": (nothing, select("--delta", "1e-6"), ["delta buys nothing"]),
    "unknown method": (nothing, select("--method", "lasso"), ["lasso", "pcls"]),
    "penalty a word": (nothing, select("--penalty", "hic"), ["'hic'", "bic"]),
    "penalty negative": (nothing, select("--penalty", "-3", "--method", "pcls"), ["penalty", "at least 0"]),
    "no study file": (nothing, ["select", "stduy.toml", *SELECT[2:]], ["stduy.toml", "No such file"]),
    "no study": (nothing, ["select", "people.csv", "--epsilon", "1"], ["--response", "--study"]),
    "two tables": (nothing, ["select", "people.csv", "a.csv", "--study", "study.toml", "--epsilon", "1"], ["one DATA"]),
    "study is a folder": (nothing, ["select", ".", *SELECT[2:]], ["directory"]),
    "study is not TOML": (write("study.toml", "response: income"), SELECT, ["not valid TOML"]),
    "study is empty": (write("study.toml", ""), SELECT, ["[response]"]),
    "study is Latin-1": (write("study.toml", STUDY.replace("south", "süd"), "latin-1"), SELECT, ["UTF-8"]),
    "bounds left open": (study("lower = 18", 'lower = "?"'), SELECT, ["lower of 'age'", "without looking"]),
    "bounds swapped": (
        study("lower = 18", "lower = 118"),
        SELECT,
        ["study.toml line 9: the range of 'age'", "118", "Put the smaller number first"],
    ),
    "bounds as text": (study("upper = 90", 'upper = "ninety"'), SELECT, ["'age'", "number"]),
    "a misspelt entry": (study("upper = 90", "uper = 90"), SELECT, ["'uper'", "upper"]),
    "one level": (study('["north", "south"]', '["north"]'), SELECT, ["'region'", "at least two"]),
    "a misspelt setting": (write("study.toml", 'mising = "midpoint"\n' + STUDY), SELECT, ["'mising'", "missing"]),
    "no data file": (nothing, ["select", "study.toml", "poeple.csv", "--yes", "--epsilon", "1"], ["poeple.csv"]),
    "data is an empty folder": (
        lambda: Path("rows").mkdir(),
        ["select", "study.toml", "rows", "--yes", "--epsilon", "1"],
        ["rows"],
    ),
    "data is empty": (write("people.csv", ""), SELECT, ["people.csv", "empty"]),
    "a header and no rows": (write("people.csv", "income,age,region\n"), SELECT, ["no rows"]),
    "another data set": (write("people.csv", "price,size\n1,2\n3,4\n"), SELECT, ["'age'", "not in the table"]),
    "wrong delimiter": (write("people.csv", DATA.replace(",", ";")), SELECT, ["'age'", "--delimiter ';'"]),
    "a level nobody stated": (
        write("people.csv", DATA.replace("south", "west")),
        SELECT,
        ["'region'", "not among its stated categories"],
    ),
    "a missing cell": (write("people.csv", DATA.replace(SECRET, "")), SELECT, ["'income'", "missing", "zero-row"]),
    "numbers with commas": (
        write("people.csv", 'income,age,region\n"1,000",20,north\n"2,000",30,south\n'),
        SELECT,
        ["'income'", "number"],
    ),
    "decimal commas": (
        write("people.csv", "income;age;region\n1,5;20;north\n2,5;30;south\n"),
        select("--delimiter", ";"),
        ["'income'", "number"],
    ),
    "data in Latin-1": (
        write("people.csv", DATA.replace("south", "süd"), "latin-1"),
        SELECT,
        ["'region'", "state its encoding"],
    ),
    "a short row": (write("people.csv", DATA + "1,2\n"), SELECT, ["people.csv", "unequal length"]),
    "a picture instead of a table": (write("people.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0"), SELECT, ["people.csv"]),
    "no such Parquet file in truth": (
        write("people.parquet", DATA),
        ["select", "study.toml", "people.parquet", "--yes", "--epsilon", "1"],
        ["people.parquet"],
    ),
    "a delimiter for a workbook": (
        nothing,
        ["select", "study.toml", "people.xlsx", "--yes", "--epsilon", "1", "--delimiter", ";"],
        ["text files"],
    ),
    "two columns of one name": (
        write("people.csv", "income,age,age\n1,2,3\n"),
        ["init", "people.csv", "-o", "new.toml"],
        ["'age'", "rename"],
    ),
    "delimiter of two characters": (nothing, select("--delimiter", "::"), ["delimiter", "one character"]),
    "unknown encoding": (nothing, select("--encoding", "latin-99"), ["latin-99", "latin-1"]),
    "ledger is the data": (nothing, select("--ledger", "people.csv"), ["people.csv", "not a ledger"]),
    "ledger of another program": (other_database, select("--ledger", "other.db"), ["other.db", "another program"]),
    "ledger is a folder": (lambda: Path("box").mkdir(), select("--ledger", "box"), ["box", "folder"]),
    "ledger in no folder": (nothing, select("--ledger", "none/here.db"), ["none"]),
    "report to no folder": (nothing, select("-o", "none/report.json"), ["'none'", "does not exist"]),
    "report to a folder": (lambda: Path("box").mkdir(), select("-o", "box"), ["box", "folder"]),
    "init without such a column": (
        nothing,
        ["init", "people.csv", "--response", "incme", "-o", "x.toml"],
        ["'incme'", "income"],
    ),
    "budget of nothing": (nothing, ["budget", "none.db"], ["none.db", "--open"]),
    "verify nothing": (nothing, ["verify", "none.json"], ["none.json"]),
    "check without such a file": (nothing, ["check", "study.toml", "none.csv"], ["none.csv"]),
    "too many models": (
        write(
            "study.toml", STUDY + "".join(f'[[predictors]]\nname = "x{i}"\nlower = 0\nupper = 1\n' for i in range(30))
        ),
        select("--method", "pcls"),
        ["max_size"],
    ),
    "no permission to read": pytest.param(not_readable, SELECT, ["people.csv"], marks=root_sees_all),
    "no permission to write": pytest.param(
        read_only_folder, select("-o", "locked/report.json"), ["locked", "write"], marks=root_sees_all
    ),
}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(DATA)
    Path("study.toml").write_text(STUDY)


def cases():
    for name, case in MISTAKES.items():
        yield pytest.param(
            *(case.values if hasattr(case, "values") else case), marks=getattr(case, "marks", ()), id=name
        )


@pytest.mark.parametrize(("prepare", "typed", "words"), list(cases()))
def test_a_mistake_is_one_sentence(prepare, typed, words, capsys):
    prepare()
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file() and os.access(path, os.R_OK)}
    code = command_line.run(typed)
    out, err = capsys.readouterr()
    assert code == 2, err
    assert out == "" or typed[0] == "verify"  # whose answer is a list of what was looked at
    assert err.count("\n") == 1
    assert err.rstrip()[-1] in ".?`"
    assert all(word in err for word in words), err
    assert "Traceback" not in err
    assert SECRET not in err
    after = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file() and os.access(path, os.R_OK)}
    assert after == before  # nothing charged, nothing written


def test_a_full_disk_is_noticed_before_anything_is_charged(monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("dpselect.use.shell.files._new", full)
    assert command_line.run(select("-o", "report.json")) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "report.json" in err
    assert "No space left" in err
    assert sorted(os.listdir()) == ["people.csv", "study.toml"]


def test_there_are_at_least_thirty():
    assert len(MISTAKES) >= 30
