"""No command writes over what it reads or charges, over another of its own files, or over a file of another kind."""

import os
from pathlib import Path

import pytest

import dpselect
from dpselect.errors import DpselectError
from dpselect.release.ledger.ledger import Ledger
from dpselect.use import command_line

STUDY = '[response]\nname = "y"\nlower = 0\nupper = 1\n[[predictors]]\nname = "x"\nlower = 0\nupper = 1\n'
ANALYZE = ["analyze", "study.toml", "rows.csv", "--epsilon", "1", "-q", "--yes"]
SELECT = ["select", "study.toml", "rows.csv", "--epsilon", "1", "-q", "--yes"]
CHECK = ["check", "study.toml", "rows.csv", "-q"]
SQL = ["sql", "study.toml", "--dialect", "duckdb", "--table", "people"]
INIT = ["init", "rows.csv", "--force"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    rows = "x,y\n" + "".join(f"{i / 100},{i / 100}\n" for i in range(100))
    for name in ("rows.csv", "parts/a.csv", "parts/b.csv", "out.json"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(rows)
    Ledger("rows.budget.db", epsilon=10, delta="1e-5")
    os.symlink("rows.csv", "link.html")
    os.mkfifo("pipe.html")


def everything():
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


DATABASE = "is a database, perhaps a ledger"
IS_THERE = "is there already and is not"
REFUSED = {
    "a folder as the ledger": ([*ANALYZE, "--ledger", "/"], "is a folder; give the path of a file for the ledger"),
    "a check over the ledger": ([*CHECK, "-o", "rows.budget.db"], DATABASE),
    "a check over a file of SQLite's": ([*CHECK, "-o", "rows.budget.db-wal"], "is the ledger's"),
    "a check over the rows": ([*CHECK, "-o", "rows.csv"], "is where the rows are"),
    "a check over the rows by another name": ([*CHECK, "-o", "link.html"], "is where the rows are"),
    "a check over the ledger by a link": ([*CHECK, "-o", "twin.html"], DATABASE),
    "a check over the study": ([*CHECK, "-o", "parts/../study.toml"], "is the study"),
    "a check over a part of the rows": (["check", "study.toml", "parts", "-o", "parts/b.csv"], "is where the rows are"),
    "a check over what a pattern finds": (["check", "study.toml", "pa*/*", "-o", "parts/b.csv"], "where the rows are"),
    "a check over another's page": ([*CHECK, "-o", "out.json"], f"{IS_THERE} a confidential page"),
    "a check over what is no file": ([*CHECK, "-o", "pipe.html"], "is no ordinary file"),
    "a query over the ledger": ([*SQL, "-o", "rows.budget.db"], DATABASE),
    "a query over the study": ([*SQL, "-o", "study.toml"], "is the study"),
    "a choice over the ledger": ([*SELECT, "-o", "rows.budget.db"], DATABASE),
    "a choice over the rows": ([*SELECT, "-o", "rows.csv"], "is where the rows are"),
    "a board over the ledger": ([*ANALYZE, "--board", "rows.budget.db"], DATABASE),
    "a board over the report": ([*ANALYZE, "-o", "new.html", "--board", "new.json"], "is also the name of another"),
    "a report over the ledger": ([*ANALYZE, "--ledger", "report.json"], "is the ledger's"),
    "a report over the answer": (
        ["analyze", "study.toml", "--moments", "out.json", "--epsilon", "1", "-o", "out.html"],
        "'out.json' is where the rows are",
    ),
    "a study over the rows": ([*INIT, "-o", "rows.csv"], "is where the rows are"),
    "a study over the ledger": ([*INIT, "-o", "rows.budget.db"], DATABASE),
    "a choice over the study's own ledger": ([*SELECT, "--ledger", "z.db", "-o", "rows.budget.db"], DATABASE),
    "a page in the folder of the rows": (
        ["analyze", "study.toml", "parts", "--epsilon", "1", "-o", "parts/new.html"],
        "'parts/new.html' would lie in 'parts', which is where the rows are: write it elsewhere",
    ),
    "a study over its code book": ([*INIT, "--codebook", "out.json", "-o", "out.json"], "is the code book"),
}


@pytest.mark.parametrize(("asked", "said"), REFUSED.values(), ids=REFUSED)
def test_what_would_be_written_over_is_kept(asked, said, capsys):
    if "twin.html" in asked:
        os.link("rows.budget.db", "twin.html")
    before = everything()
    assert command_line.run(asked) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert everything() == before


def test_figures_are_not_drawn_over_other_files(capsys):
    Path("curves.svg").write_text("mine")
    assert command_line.run(["plan", "study.toml", "--rows", "500", "--epsilon", "1", "-o", "curves"]) == 2
    assert "'curves.svg' is there already and is not a picture" in capsys.readouterr().err


@pytest.mark.parametrize(("asked", "name"), [(CHECK, "page.html"), (SQL, "query.sql"), (INIT, "other.txt")])
def test_a_file_of_the_same_kind_is_written_again(asked, name):
    Path(name).touch()  # as mktemp leaves one
    for _ in range(2):
        assert command_line.run([*asked, "-o", name]) == 0
    assert Path(name).stat().st_size > 0


def test_a_choice_written_twice_keeps_both():
    for _ in range(2):
        assert command_line.run([*SELECT, "-o", "study.selection.json"]) == 0
    assert Path("study.selection.1.json").exists()


def test_an_analysis_in_python_writes_no_two_things_to_one_file():
    study = dpselect.Study.read("study.toml")
    done = dpselect.analyze("rows.csv", study, epsilon=1, ledger="rows.budget.db")
    with pytest.raises(DpselectError, match="also the name of another file"):
        done.to_html("r.html", board="r.json")
    with pytest.raises(DpselectError, match="'nowhere' does not exist"):
        done.to_html("nowhere/r.html")
    assert not Path("r.html").exists()
    done.to_html("r.html", board="board.html")
    assert all(Path(name).exists() for name in ("board.html", "r.html", "r.json"))
