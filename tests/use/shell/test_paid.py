"""A run that was killed after it had drawn is finished by the same command, and nothing is charged again."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dpselect.errors import DpselectError
from dpselect.release.ledger.ledger import Ledger
from dpselect.use import command_line
from dpselect.use.shell.paid import Draft

BOUNDS = "lower = 0\nupper = 1\n"
ASKED = ["analyze", "study.toml", "rows.csv", "--epsilon", "1", "--delta", "1e-6", "--title", "Ours"]
FINISHED = "An earlier run had paid for this and was stopped: it is finished now, and nothing was charged."
PROGRAM = """
import os, signal, sys
import {module} as module
from dpselect.use.command_line import main
module.{name} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
main(sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(f'[response]\nname = "y"\n{BOUNDS}[[predictors]]\nname = "x"\n{BOUNDS}')
    Path("rows.csv").write_text("x,y\n" + "".join(f"{i / 100},{i / 100}\n" for i in range(100)))


def killed_at(where):
    """Run an analysis that is killed when it comes to a function."""
    module, name = where.rsplit(".", 1)
    paths = {"PYTHONPATH": str(Path(command_line.__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module=module, name=name), *ASKED],
        env={**os.environ, **paths},
        check=False,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL


def charges():
    return len(Ledger("study.budget.db").records())


def files():
    return sorted(path.name for path in Path().glob("report*"))


@pytest.mark.parametrize(
    "where", ["dpselect.release.coefficients.drawn.coefficients_from", "dpselect.use.commands.analyze.report_page"]
)
def test_the_same_command_finishes_what_was_drawn(where, capsys):
    killed_at(where)
    assert charges() == 2
    assert command_line.run(ASKED) == 0
    assert FINISHED in capsys.readouterr().err
    assert (charges(), files()) == (2, ["report.html", "report.json"])
    assert json.loads(Path("report.json").read_text(encoding="utf-8"))["title"] == "Ours"
    assert command_line.run(["verify", "report.html", "--ledger", "study.budget.db"]) == 0
    assert command_line.run(ASKED) == 0
    assert charges() == 4


def test_a_choice_that_was_drawn_alone_is_delivered_alone(capsys):
    killed_at("dpselect.use.analyze.plan_estimate")
    assert charges() == 1
    assert command_line.run(ASKED) == 0
    err = capsys.readouterr().err
    assert "in report.json; its coefficients are not" in err
    assert FINISHED in err
    assert (charges(), files()) == (1, ["report.json"])
    assert command_line.run(["verify", "report.json", "--ledger", "study.budget.db"]) == 0


def test_a_run_that_was_killed_after_its_files_is_not_written_twice(monkeypatch):
    with monkeypatch.context() as kept:
        kept.setattr(Draft, "forget", lambda self: None)
        assert command_line.run(ASKED) == 0
    before = Path("report.json").read_text(encoding="utf-8")
    assert command_line.run(ASKED) == 0
    assert (charges(), files()) == (2, ["report.html", "report.json"])
    assert Path("report.json").read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    "change",
    [
        {"study.toml": "other.toml"},
        {"rows.csv": "others.csv"},
        {"1": "2"},
        {"1e-6": "1e-7"},
        {"--title": "--ledger", "Ours": "other.db"},
        {"--title": "--method", "Ours": "pcls"},
    ],
)
def test_what_another_command_left_is_not_taken_up(change, capsys):
    killed_at("dpselect.release.coefficients.drawn.coefficients_from")
    Path("other.toml").write_text(Path("study.toml").read_text() + 'label = "another"\n')
    Path("others.csv").write_text(Path("rows.csv").read_text())
    capsys.readouterr()
    assert command_line.run([change.get(word, word) for word in ASKED]) == 2
    assert capsys.readouterr().err == (
        "'report.paid.json' holds what another command had paid for when it was stopped: give that one again to finish it, or "
        "another file with -o.\n"
    )
    assert (charges(), files()) == (2, ["report.paid.json"])
    assert (
        command_line.run(["analyze", "--level", "0.9", "--ledger", str(Path("study.budget.db").absolute()), *ASKED[1:]])
        == 0
    )
    assert (charges(), files()) == (2, ["report.html", "report.json"])


def test_files_that_are_written_leave_no_draft_though_nothing_can_be_shown():
    paths = {"PYTHONPATH": str(Path(command_line.__file__).parents[2])}
    command = " ".join(f"'{word}'" for word in [sys.executable, "-m", "dpselect", *ASKED])
    done = subprocess.run(["sh", "-c", f"{command} >&-"], env={**os.environ, **paths}, check=False, timeout=120)
    assert done.returncode == 1
    assert (charges(), files()) == (2, ["report.html", "report.json"])


def test_a_disk_that_cannot_keep_it_stops_nothing(monkeypatch):
    def full(*_, **__):
        raise DpselectError("No room.")

    monkeypatch.setattr("dpselect.use.shell.paid.write_text", full)
    assert command_line.run(ASKED) == 0
    assert (charges(), files()) == (2, ["report.html", "report.json"])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "dpselect paid 1"}', "[" * 100_000, "\0"])
def test_a_damaged_file_is_named_and_nothing_is_charged(text, capsys):
    Path("report.paid.json").write_text(text)
    assert command_line.run(ASKED) == 2
    assert capsys.readouterr().err == (
        "'report.paid.json' should hold what an interrupted run had paid for, and is damaged: move it elsewhere.\n"
    )
    assert not Path("study.budget.db").exists()
