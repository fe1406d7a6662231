"""A run that was killed after it had drawn is finished by the same command, and nothing is charged again."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dpselect.errors import DpselectError
from dpselect.release.coefficients.drawn import Drawn
from dpselect.release.ledger.ledger import Ledger
from dpselect.use import command_line
from dpselect.use.shell.paid import Draft
from dpselect.use.shell.sources import Rows

BOUNDS = "lower = 0\nupper = 1\n"
ASKED = ["analyze", "study.toml", "rows.csv", "--epsilon", "1", "--delta", "1e-6", "--title", "Ours"]
FINISHED = "An earlier run had paid for this and was stopped: it is finished now, and nothing was charged."
FORM = ("delimiter", "encoding", "decimal")
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


def killed_at(where, asked=ASKED):
    """Run an analysis that is killed when it comes to a function."""
    module, name = where.rsplit(".", 1)
    paths = {"PYTHONPATH": str(Path(command_line.__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module=module, name=name), *asked],
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


QUERIES = [f"duckdb:?query=SELECT * FROM '{name}.csv'" for name in ("rows", "others")]


def test_a_query_of_other_rows_does_not_take_it_up(capsys):
    Path("others.csv").write_text(Path("rows.csv").read_text())
    asked = [[query if word == "rows.csv" else word for word in ASKED] for query in QUERIES]
    killed_at("dpselect.release.coefficients.drawn.coefficients_from", asked[0])
    assert "SELECT" not in Path("report.paid.json").read_text(encoding="utf-8")  # a query may tell something
    assert command_line.run(asked[1]) == 2
    assert command_line.run(asked[0]) == 0
    assert (charges(), files()) == (2, ["report.html", "report.json"])


def test_a_password_is_no_part_of_what_is_compared():
    one, other = (
        Rows.from_options(f"postgresql://me:{secret}@host/db?table=t&password={secret}", dict.fromkeys(FORM))
        for secret in ("first", "second")
    )
    assert one.address == other.address
    assert Rows.from_options("postgresql://me@host/other?table=t", dict.fromkeys(FORM)).address != one.address


def test_two_runs_for_one_report_do_not_meet(monkeypatch, capsys):
    """The first has found no draft and reads its rows; a second would draw, and its draft would be written over."""
    from dpselect.use import gathering

    real, codes = gathering.gather_blocks, []

    def meanwhile(*given, **more):
        codes.append(command_line.run(ASKED))
        return real(*given, **more)

    monkeypatch.setattr(gathering, "gather_blocks", meanwhile)
    assert command_line.run(ASKED) == 0
    assert codes == [2]
    assert "Another run is at work on 'report.html'" in capsys.readouterr().err
    assert (charges(), files()) == (2, ["report.html", "report.json"])
    assert not list(Path().glob(".report*"))


def test_a_lock_that_a_killed_run_left_stops_nobody():
    killed_at("dpselect.use.gathering.gather_blocks")
    assert Path(".report.paid.json.lock").exists()
    assert command_line.run(ASKED) == 0
    assert not Path(".report.paid.json.lock").exists()


def test_without_locks_what_another_run_left_is_kept(monkeypatch):
    """A file system that knows none; then nothing is written over or removed that this run has not written."""

    def none(descriptor, how):
        raise OSError("no locks")

    monkeypatch.setattr("fcntl.flock", none)
    real = Draft.keep

    def keep(draft, paid):
        if not Path("report.paid.json").exists():
            Path("report.paid.json").write_text("another's")
        real(draft, paid)
        if isinstance(paid, Drawn):
            Path("report.paid.json").write_text("a third's")

    monkeypatch.setattr(Draft, "keep", keep)
    assert command_line.run(ASKED) == 0
    assert Path("report.paid.1.json").read_text() == "another's"
    assert Path("report.paid.json").read_text() == "a third's"


@pytest.mark.parametrize(
    ("where", "charged", "said"),
    [
        ("dpselect.use.analyze.plan_estimate", 1, "its coefficients are not."),
        ("dpselect.release.estimate.noisy_moments", 2, "the charge for its coefficients had begun"),
    ],
)
def test_whether_the_coefficients_were_charged_is_said_truly(where, charged, said, monkeypatch, capsys):
    killed_at(where)
    assert charges() == charged
    assert command_line.run(ASKED) == 0
    assert said in capsys.readouterr().err
    before = charges()

    def fails(*_, **__):
        raise DpselectError("No.")

    monkeypatch.setattr(where, fails)
    assert command_line.run(ASKED) == 2
    said = said if charged == 1 else "its coefficients had been charged too when the run was stopped"
    assert (charges() - before, said in capsys.readouterr().err) == (charged, True)


def test_odds_that_are_lost_between_two_rounds_are_said_to_be_charged(capsys):
    """No round is kept by itself: docs/THREAT_MODEL.md names this gap."""
    response = '[response]\nname = "y"\nkind = "binary"\nlevels = [0, 1]\n'
    Path("study.toml").write_text(f'{response}[[predictors]]\nname = "x"\n{BOUNDS}')
    Path("rows.csv").write_text("x,y\n" + "".join(f"{i / 100},{i % 2}\n" for i in range(100)))
    asked = [*ASKED, "--scale", "odds"]
    killed_at("dpselect.release.odds.release.next_center", asked)
    assert charges() == 2
    assert command_line.run(asked) == 0
    assert "the charge for its coefficients had begun when the run was stopped" in capsys.readouterr().err
    assert (charges(), files()) == (2, ["report.json"])


def test_a_draft_that_was_edited_says_nothing_of_what_it_holds(capsys):
    killed_at("dpselect.use.analyze.plan_estimate")
    draft = json.loads(Path("report.paid.json").read_text(encoding="utf-8"))
    title = json.loads(draft["alone"]) | {"title": "Theirs"}
    for alone in (
        "a secret",
        '{"format": "dpselect bounds 1"}',
        json.dumps(title, indent=2, ensure_ascii=False) + "\n",
    ):
        Path("report.paid.json").write_text(json.dumps(draft | {"alone": alone, "says": "a secret"}), encoding="utf-8")
        assert command_line.run(ASKED) == 2
        err = capsys.readouterr().err
        assert "and is damaged" in err and "secret" not in err
    assert files() == ["report.paid.json"]


def test_a_draft_whose_noise_was_edited_is_damaged(capsys):
    killed_at("dpselect.release.coefficients.drawn.coefficients_from")
    draft = json.loads(Path("report.paid.json").read_text(encoding="utf-8"))
    draft["estimate"]["noisy_moments"]["noise"]["delta"] = 10**30
    Path("report.paid.json").write_text(json.dumps(draft), encoding="utf-8")
    assert command_line.run(ASKED) == 2
    assert "and is damaged" in capsys.readouterr().err
    assert files() == ["report.paid.json"]


def test_the_same_command_from_another_folder_finishes_it(monkeypatch):
    killed_at("dpselect.release.coefficients.drawn.coefficients_from")
    Path("below").mkdir()
    monkeypatch.chdir("below")
    there = [f"../{word}" if word.startswith(("study", "rows")) else word for word in ASKED]
    assert command_line.run([*there, "-o", "../report.html"]) == 0
    monkeypatch.chdir("..")
    assert (charges(), files()) == (2, ["report.html", "report.json"])


def test_a_lock_that_is_a_link_is_not_followed(capsys):
    Path(".report.paid.json.lock").symlink_to("elsewhere")
    assert command_line.run(ASKED) == 2
    assert "cannot be opened" in capsys.readouterr().err
    assert not Path("elsewhere").exists() and not Path("study.budget.db").exists()


@pytest.mark.parametrize("asked", [["-o", "report.paid.html"], ["--board", "other.paid.json"]])
def test_the_name_of_a_draft_is_for_drafts(asked, capsys):
    assert command_line.run([*ASKED, *asked]) == 2
    assert "does not end in .paid.json" in capsys.readouterr().err
    assert not Path("study.budget.db").exists()


def test_bounds_alone_say_what_they_are(capsys):
    asked = [*ASKED, "--method", "pcls", "--tune"]
    killed_at("dpselect.use.select_tuned.minimize", asked)
    assert command_line.run(asked) == 0
    assert "no model was chosen" in capsys.readouterr().err
    assert json.loads(Path("report.json").read_text(encoding="utf-8"))["format"] == "dpselect bounds 1"
    assert command_line.run(["verify", "report.json"]) == 2
    assert "These are bounds that were bought" in capsys.readouterr().err


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
        {"Ours": "Theirs"},
        {"rows.csv": "elsewhere/rows.csv"},
        {"1": "1 --level 0.9"},
        {"1": "1 --intervals after-selection"},
        {"1": "1 --max-size 0"},
        {"1": "1 --mechanism exponential"},
        {"1": "1 --split 1:1"},
        {"1": "1 --delimiter ,"},
    ],
)
def test_what_another_command_left_is_not_taken_up(change, capsys):
    killed_at("dpselect.release.coefficients.drawn.coefficients_from")
    Path("elsewhere").mkdir()
    Path("elsewhere/rows.csv").write_text(Path("rows.csv").read_text())
    Path("other.toml").write_text(Path("study.toml").read_text() + 'label = "another"\n')
    Path("others.csv").write_text(Path("rows.csv").read_text())
    capsys.readouterr()
    assert command_line.run([part for word in ASKED for part in change.get(word, word).split()]) == 2
    assert capsys.readouterr().err == (
        "'report.paid.json' holds what another command had paid for when it was stopped: give that one again to finish it, or "
        "another file with -o.\n"
    )
    assert (charges(), files()) == (2, ["report.paid.json"])
    same = ["--ledger", str(Path("study.budget.db").absolute()), "--board", "board.html", "-q", "-y"]
    assert command_line.run([*ASKED, *same]) == 0
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

    for write in ("write_text", "write_aside"):
        monkeypatch.setattr(f"dpselect.use.shell.paid.{write}", full)
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


TITLES = {"half a character": "\udcff", "two lines": "a\nb", "an escape": "\x1b[2J", "too long": "a" * 10_001}


@pytest.mark.parametrize("title", TITLES.values(), ids=TITLES)
def test_a_title_that_no_report_could_have_is_refused_before_it_is_paid_for(title, capsys):
    assert command_line.run([*ASKED[:-1], title]) == 2
    err = capsys.readouterr().err
    assert "it must be one line of text that can be printed" in err and err.count("\n") == 1
    assert not Path("study.budget.db").exists()


@pytest.mark.parametrize("more", [["--max-size", "10000"], ["--max-size", "1" * 30], ["--title", "a" * 10_000]])
def test_what_is_accepted_and_paid_for_verifies(more):
    assert command_line.run([*ASKED, *more]) == 0
    assert command_line.run(["verify", "report.json", "--ledger", "study.budget.db"]) == 0
    assert command_line.run(["verify", "report.html"]) == 0
