"""Stopped anywhere, by Ctrl-C or by SIGKILL: nothing half-written, and no charge without its release."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from dpselect.assume.records import sha256_of
from dpselect.errors import LedgerError, WaitingWarning
from dpselect.gather.sources.source import rows_address
from dpselect.randomize.rounds_noise import whole_mu
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.sealed import Sealed
from dpselect.use import command_line
from dpselect.use.spend import resume

STUDY = """
[response]
name = "y"
lower = 0
upper = 1

[[predictors]]
name = "x"
lower = 0
upper = 1
"""
ASKED = ["analyze", "study.toml", "rows.csv", "--epsilon", "1", "--delta", "1e-6", "-o", "report.html", "--yes"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("rows.csv").write_text("x,y\n" + "".join(f"{i / 100},{i / 100}\n" for i in range(100)))


def paid():
    """The entries that cost anything; those of later stages do not."""
    return [entry for entry in Ledger("rows.budget.db").entries() if entry.epsilon]


# Where an interrupt strikes, how many charges are on the disk then, and which files.
PLACES = {
    "counting the rows": ("dpselect.use.order.count_rows", 0, []),
    "reading the rows": ("dpselect.use.methods.gather", 0, []),
    "scoring": ("dpselect.use.methods.penalize", 0, []),
    "drawing the choice": ("dpselect.use.spend.draw_selection", 0, []),
    "drawing the estimate": ("dpselect.use.spend.draw_estimate", 0, []),
    "opening the ledger": ("dpselect.release.account.NewLedger.open", 0, []),
    "committing": ("dpselect.release.ledger.ledger.Ledger.commit", 0, []),
    "adding up for a round": ("dpselect.release.rounds.drawing._read", 0, []),
    "drawing the noise of a round": ("dpselect.randomize.rounds_noise.invoke", 0, []),
    "solving": ("dpselect.release.rounds.drawing.terms_of", 2, []),
    "moving a file to its place": ("dpselect.use.shell.files._placed", 2, []),
    "making the page": ("dpselect.use.shell.files.report_page", 2, []),
    "noting that it was delivered": (
        "dpselect.release.ledger.ledger.Ledger.delivered",
        2,
        ["report.html", "report.json"],
    ),
    "showing the answer": ("dpselect.use.runs.spending.show_report", 2, ["report.html", "report.json"]),
}


# The same where the rows do not fit in memory: each round reads them again, after the commit, and is kept.
ROUNDS = {
    "reading for a round": "dpselect.release.rounds.drawing._read",
    "drawing the noise of a round": "dpselect.randomize.rounds_noise.invoke",
    "keeping a round": "dpselect.release.ledger.ledger.Ledger.keep",
}


@pytest.mark.parametrize("where", ROUNDS.values(), ids=ROUNDS)
def test_rounds_that_read_rows_again_go_on_from_the_ledger(where, monkeypatch, capsys):
    monkeypatch.setattr("dpselect.gather.kept.KeptRows.whole", False)
    test_one_line_and_the_ledger_has_what_was_paid_for(where, 2, [], monkeypatch, capsys)


@pytest.mark.parametrize(("where", "charges", "files"), PLACES.values(), ids=PLACES)
def test_one_line_and_the_ledger_has_what_was_paid_for(where, charges, files, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(where, interrupted)
        assert command_line.run(ASKED) == 1
    _, err = capsys.readouterr()
    assert err.strip().splitlines()[-1].startswith("Stopped. Nothing is lost")
    assert not [path for path in Path().iterdir() if path.name.endswith(".part")]
    assert sorted(str(path) for path in Path().glob("report*")) == files
    if not charges:
        assert not Path("rows.budget.db").exists() or Ledger("rows.budget.db").entries() == ()
        return
    ledger = Ledger("rows.budget.db")
    ledger.verify()
    assert len(paid()) == charges
    waits = len(ledger.undelivered())
    assert waits == (0 if "show_report" in where else 1)
    assert command_line.run(["resume", "rows.csv"]) == 0
    assert len(paid()) == charges and Ledger("rows.budget.db").undelivered() == ()
    assert command_line.run(["verify", "report.html", "--ledger", "rows.budget.db"]) == 0


PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have switched it off for background work
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and nohup this one
import {module} as module
from dpselect.use.command_line import main
real = module.{name}
def slow(*arguments, **more):
    print("here", flush=True)
    time.sleep(1.5)
    return real(*arguments, **more)
module.{name} = slow
main(sys.argv[1:])
"""


def signalled(number, module, name, *asked):
    """(exit code, stderr) of a command that gets a signal while it is inside a function."""
    paths = {"PYTHONPATH": str(Path(command_line.__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(module=module, name=name), *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **paths},
    ) as process:
        assert process.stdout.readline() == "here\n", process.stderr.read()
        process.send_signal(number)
        _, err = process.communicate(timeout=300)
    return process.returncode, err


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(each, marks=pytest.mark.thorough) for each in (signal.SIGINT, signal.SIGHUP))],
)
def test_a_signal_after_the_commit_leaves_the_release_to_the_next_call(number):
    code, err = signalled(number, "dpselect.release.rounds.drawing", "terms_of", *ASKED)
    # The sentence before the last says what so few rows can show.
    assert (code, err.count("\n")) == (1, 2), err
    assert err.splitlines()[-1].startswith("Stopped. Nothing is lost")
    assert len(Ledger("rows.budget.db").entries()) == 2
    assert not list(Path().glob("report*"))
    assert command_line.run(ASKED) == 0
    assert len(Ledger("rows.budget.db").entries()) == 2
    assert command_line.run(["verify", "report.html", "--ledger", "rows.budget.db"]) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)])
def test_a_signal_before_the_commit_stops_at_once_and_leaves_nothing(number):
    code, err = signalled(number, "dpselect.use.methods", "penalize", *ASKED)
    assert (code, err.count("\n")) == (1, 2), err
    assert err.splitlines()[-1].startswith("Stopped.")
    assert sorted(path.name for path in Path().iterdir()) == ["rows.csv", "study.toml"]


ODDS = """
[response]
name = "ill"
kind = "binary"
categories = [0, 1]

[[predictors]]
name = "x"
lower = 0
upper = 1
"""


def test_rounds_that_were_stopped_are_gone_on_with_from_the_last_one_that_was_kept(monkeypatch, capsys):
    """A round that is paid for once is drawn once, as far as anybody can see."""
    monkeypatch.setattr("dpselect.gather.kept.KeptRows.whole", False)  # the rows do not fit in memory
    from dpselect.release.rounds import drawing

    Path("study.toml").write_text(ODDS)
    Path("rows.csv").write_text("x,ill\n" + "".join(f"{i / 400},{int(i % 7 > 3)}\n" for i in range(400)))
    asked = [*ASKED[:3], "--epsilon", "2", "--delta", "1e-6", "--family", "binomial", "--yes", "-o", "report.html"]
    real, drawn = drawing._read, []

    def third_round_is_interrupted(source, study, ask):
        drawn.append(ask)
        if len(drawn) == 3:
            raise KeyboardInterrupt
        return real(source, study, ask)

    monkeypatch.setattr(drawing, "_read", third_round_is_interrupted)
    assert command_line.run(asked) == 1
    (waiting,) = Ledger("rows.budget.db").undelivered()
    kept = Sealed.from_text(waiting.text).estimate.released
    assert len(kept.asks) == 2 and not kept.done
    assert command_line.run(["resume", "rows.budget.db"]) == 2
    assert "'rows.csv' was stopped between its rounds" in capsys.readouterr().err
    assert command_line.run(["resume", "rows.csv"]) == 0
    assert len(drawn) > 4 and drawn[2] == drawn[3] and drawn[1] != drawn[2]
    charged = [entry.epsilon for entry in Ledger("rows.budget.db").entries()]
    assert sum(charged) == 2 and charged[2:] == [0] * (len(drawn) - 1)  # and what each round has drawn
    assert Ledger("rows.budget.db").undelivered() == ()
    assert command_line.run(["verify", "report.html", "--ledger", "rows.budget.db"]) == 0


def of_no_rows(values):
    del values["rows"]


def of_other_rows(values):
    values["rows"] = sha256_of(rows_address("other.csv"))


@pytest.mark.parametrize("edit", [of_no_rows, of_other_rows])
def test_a_text_by_hand_that_states_no_rows_or_others_reads_none(edit, stopped, read, capsys):
    (waiting,) = stopped.undelivered()
    stopped.delivered(waiting.id)
    values = json.loads(waiting.text)
    edit(values)
    stopped.commit([charge_of_entry(each) for each in stopped.entries()], json.dumps(values))
    assert command_line.run(["resume", "rows.csv"]) == 2
    assert "only the rows that it was charged for" in capsys.readouterr().err
    assert read == [] and len(stopped.undelivered()) == 1


def dearer(estimate):
    estimate["guarantee"]["epsilon"] = "50"
    estimate["released"]["mu"] = whole_mu(50.0, 1e-6)


def less_noise(estimate):
    estimate["released"]["mu"] *= 10


def narrower(estimate):
    estimate["study"]["predictors"][0]["upper"] = 0.5


@pytest.fixture
def stopped(monkeypatch):
    """A ledger with a release that was stopped before its first round, because its rows do not fit in memory."""
    monkeypatch.setattr("dpselect.gather.kept.KeptRows.whole", False)
    from dpselect.release.rounds import drawing

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(drawing, "_read", interrupted)
        assert command_line.run([*ASKED, "--total-epsilon", "9", "--total-delta", "1e-5"]) == 1
    return Ledger("rows.budget.db")


def without_triggers(*statements):
    """SQL by a hand that puts all triggers back."""
    with closing(sqlite3.connect("rows.budget.db")) as connection, connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in (*statements, *((made,) for _, made in triggers)):
            connection.execute(*statement)


@pytest.mark.parametrize("edit", [dearer, less_noise, narrower])
def test_a_text_that_was_edited_while_it_waited_draws_nothing(edit, stopped, monkeypatch, capsys):
    """A waiting release's text must not buy more than its entry has paid for, nor may it be another text at all."""
    (waiting,) = stopped.undelivered()
    values = json.loads(waiting.text)
    edit(values["estimate"])
    edited = "UPDATE outbox SET text = ? WHERE id = ?", (json.dumps(values), waiting.id)
    with closing(sqlite3.connect("rows.budget.db")) as connection:
        with pytest.raises(sqlite3.IntegrityError, match="only grows"):
            connection.execute(*edited)
    without_triggers(edited)
    drawn = []
    monkeypatch.setattr("dpselect.randomize.rounds_noise.invoke", lambda *_: drawn.append(1))
    for asked in (["resume", "rows.csv"], [*ASKED], ["budget", "rows.csv"]):
        capsys.readouterr()
        assert command_line.run(asked) == 2
        assert f"text of its release {waiting.id} was edited" in capsys.readouterr().err
    assert drawn == [] and not list(Path().glob("report*"))


def one_column_often(estimate):
    """Copies of a dummy would pass for levels of a category, of which a row has one: noise for two counts, and all of them move."""
    estimate["columns"] = [0, 1, 1, 1]


def a_column_from_behind(estimate):
    estimate["columns"] = [-1, 0]


@pytest.mark.parametrize("edit", [one_column_often, a_column_from_behind])
def test_a_text_that_names_a_column_twice_draws_nothing(edit, stopped, read, capsys):
    (waiting,) = stopped.undelivered()
    stopped.delivered(waiting.id)
    values = json.loads(waiting.text)
    edit(values["estimate"])
    stopped.commit([charge_of_entry(each) for each in stopped.entries()], json.dumps(values))
    assert command_line.run(["resume", "rows.csv"]) == 2
    assert "was not sealed by this program" in capsys.readouterr().err
    assert read == [] and not list(Path().glob("report*"))


def begun_by_another_version(values):
    values["estimate"]["version"] = "0.2.9"


def over_already(values):
    """A text that states rounds are left although so few rows leave none."""
    values["estimate"]["released"]["rows"] = 1


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [(begun_by_another_version, "Finish it with dpselect 0.2.9"), (over_already, "rounds are left, and none are")],
)
def test_one_release_that_cannot_be_finished_holds_up_no_other(edit, sentence, stopped, capsys):
    (waiting,) = stopped.undelivered()
    stopped.delivered(waiting.id)
    charges, values = [charge_of_entry(each) for each in stopped.entries()], json.loads(waiting.text)
    edit(values)
    bad = stopped.commit(charges, json.dumps(values)).id
    assert command_line.run(["resume", "rows.csv"]) == 2
    assert sentence in capsys.readouterr().err
    stopped.commit(charges, waiting.text)
    assert command_line.run(["resume", "rows.csv"]) == 0
    assert sentence in capsys.readouterr().err
    assert [each.id for each in stopped.undelivered()] == [bad] and list(Path().glob("report*"))


@pytest.mark.parametrize("edit", [dearer, less_noise, narrower])
def test_a_text_that_states_more_than_its_entries_pay_for_draws_nothing(edit, stopped, monkeypatch, capsys):
    """An account of a server's ledger may commit any text, whose hash the chain then holds, for any price that it pays."""
    (waiting,) = stopped.undelivered()
    stopped.delivered(waiting.id)
    values = json.loads(waiting.text)
    edit(values["estimate"])
    charges = [charge_of_entry(each) for each in stopped.entries()]
    stopped.commit(charges, json.dumps(values))
    drawn = []
    monkeypatch.setattr("dpselect.randomize.rounds_noise.invoke", lambda *_: drawn.append(1))
    capsys.readouterr()
    assert command_line.run(["resume", "rows.csv"]) == 2
    err = capsys.readouterr().err
    assert "nothing of it was drawn" in err or "nothing more was drawn" in err, err
    assert drawn == [] and not list(Path().glob("report*"))


def charge_of_entry(entry):
    return Charge(**{name: getattr(entry, name) for name in Charge.__struct_fields__})


# Which rows answer the rounds of a release that was stopped.


def estimates():
    """The estimates in the reports that are there."""
    return [json.loads(path.read_text())["coefficients"]["released"] for path in sorted(Path().glob("*.json"))]


@pytest.fixture
def read(monkeypatch):
    """The tables that rounds were asked of."""
    from dpselect.release.rounds import drawing

    real, asked = drawing._read, []

    def noted(source, study, ask):
        asked.append(source)
        return real(source, study, ask)

    monkeypatch.setattr(drawing, "_read", noted)
    return asked


def test_rounds_are_answered_by_the_rows_that_were_charged_and_no_others(stopped, read, capsys):
    """`resume` with another table gave its coefficients, and charged nobody."""
    Path("other.csv").write_text(Path("rows.csv").read_text())
    Path("folder").mkdir()
    Path("folder/rows.csv").write_text(Path("rows.csv").read_text())
    for other in (
        ["other.csv", "--ledger", "rows.budget.db"],
        ["folder/rows.csv", "--ledger", "rows.budget.db"],
        ["rows.csv", "--delimiter", ";"],
        ["*.csv", "--ledger", "rows.budget.db"],
        ["rows.budget.db"],
    ):
        capsys.readouterr()
        assert command_line.run(["resume", *other]) == 2
        assert "A release of 'rows.csv' was stopped between its rounds" in capsys.readouterr().err
    assert read == [] and not list(Path().glob("report*")) and len(stopped.undelivered()) == 1
    Path("link.csv").symlink_to("folder/../rows.csv")
    assert command_line.run(["resume", "link.csv", "--ledger", "rows.budget.db", "-o", "report.html"]) == 0
    assert read and stopped.undelivered() == ()
    assert command_line.run(["verify", "report.html", "--ledger", "rows.budget.db"]) == 0


def test_the_studio_and_python_read_no_others_either(stopped, read):
    from dpselect.use.studio.releases import hand_over_waiting
    from dpselect.use.studio.sources import open_source

    Path("other").mkdir()
    Path("other/rows.csv").write_text(Path("rows.csv").read_text())
    stopped.close()
    Path("other/rows.budget.db").write_bytes(Path("rows.budget.db").read_bytes())
    with pytest.raises(LedgerError, match="only the rows that it was charged for"):
        hand_over_waiting(Path("other/study.toml"), open_source("other/rows.csv", {}), lambda said: None)
    frame = {"x": [0.5] * 100, "y": [0.5] * 100}
    for source in (frame, "other/rows.csv", Path("other/rows.csv"), ["rows.csv", "other/rows.csv"], None):
        with pytest.raises(LedgerError, match="only the rows that it was charged for"):
            resume(stopped, source, lambda released: pytest.fail("it was handed over"))
    assert read == []
    hand_over_waiting(Path("study.toml"), open_source("rows.csv", {}), lambda said: None)
    assert read and Path("study.report-1.html").exists() and stopped.undelivered() == ()


def test_a_ledger_that_took_the_place_of_another_reads_no_rows(stopped, read, capsys):
    """The registry is asked before the rows of a stopped release are read, as before a charge."""
    line = json.loads(Path("dpselect.ledgers").read_text())
    Path("dpselect.ledgers").write_text(json.dumps(line | {"id": "ab" * 16}) + "\n")
    assert command_line.run(["resume", "rows.csv"]) == 2
    assert "was made anew in its place" in capsys.readouterr().err
    assert read == []


def test_of_two_tables_that_share_a_ledger_each_answers_its_own_rounds(stopped, read, monkeypatch, capsys):
    from dpselect.release.rounds import drawing

    Path("other.csv").write_text("x,y\n" + "".join(f"{i / 100},{1 - i / 100}\n" for i in range(100)))
    with monkeypatch.context() as patch:
        patch.setattr(drawing, "_read", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        other = [each if each != "rows.csv" else "other.csv" for each in ASKED]
        assert command_line.run([*other, "--ledger", "rows.budget.db"]) == 1
    assert len(stopped.undelivered()) == 2
    capsys.readouterr()
    with pytest.warns(WaitingWarning, match=r"A release of 'rows\.csv' was stopped"):
        assert resume(stopped, "other.csv", lambda released: None) == 1
    assert set(read) == {"other.csv"}
    assert resume(stopped, "rows.csv", lambda released: None) == 1
    assert stopped.undelivered() == ()


def test_a_round_that_was_drawn_is_never_drawn_again(stopped, read, monkeypatch, capsys):
    """Nor a release that was handed over, whatever its text is put back to."""
    id, first = stopped.undelivered()[0].id, stopped.undelivered()[0].text
    assert command_line.run(["resume", "rows.csv"]) == 0
    assert command_line.run(["verify", "report.html", "--ledger", "rows.budget.db"]) == 0
    whole, rounds = stopped.release(id), len(read)
    for text in (first, whole.rpartition("\n")[0], first.replace(" ", "")):
        without_triggers(("UPDATE outbox SET text = ?, delivered = NULL", (text,)))
        assert command_line.run(["resume", "rows.csv", "-o", "again.html"]) == (0 if text == whole else 2)
        assert command_line.run(["budget", "rows.csv"]) == 2
        assert command_line.run(["verify", "report.html", "--ledger", "rows.budget.db"]) == 4
    assert len(read) == rounds and not Path("again.html").exists()
    without_triggers(("UPDATE outbox SET text = ?, delivered = NULL", (whole,)))
    assert command_line.run(["resume", "rows.csv", "-o", "again.html"]) == 0  # the same numbers
    assert len(read) == rounds and estimates()[0] == estimates()[1]


def test_a_release_that_was_drawn_at_once_is_not_drawn_again(read, monkeypatch, capsys):
    """One whose rows fit in memory has no stages: its text was emptied of its rounds, and they were drawn anew."""
    monkeypatch.setattr(Ledger, "delivered", lambda *_: None)
    assert command_line.run([*ASKED, "--total-epsilon", "9", "--total-delta", "1e-5"]) == 0
    ledger, rounds = Ledger("rows.budget.db"), len(read)
    (waiting,) = ledger.undelivered()
    values = json.loads(waiting.text)
    values["estimate"]["released"] |= {"asks": [], "done": False}
    without_triggers(("UPDATE outbox SET text = ?", (json.dumps(values),)))
    assert command_line.run(["resume", "rows.csv", "-o", "again.html"]) == 2
    assert len(read) == rounds and not Path("again.html").exists()


def test_a_signal_that_a_library_swallowed_is_still_a_stop(monkeypatch, capsys):
    from dpselect.use.shell import failures

    def swallowed(*_, **__):
        failures._State.came = True
        raise ImportError("numpy failed to load")

    monkeypatch.setattr("dpselect.use.shell.sources.Study.read", swallowed)
    assert command_line.run(ASKED) == 1
    assert capsys.readouterr().err.startswith("Stopped.")


def test_in_another_thread_signals_are_left_alone(capsys):
    codes = []
    thread = threading.Thread(target=lambda: codes.append(command_line.run(["budget", "nowhere.db"])))
    thread.start()
    thread.join()
    assert codes == [2]


def test_a_signal_that_was_ignored_stays_ignored():
    from dpselect.use.shell.failures import stoppable

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stoppable():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_while_the_program_is_being_imported_is_one_sentence():
    program = """
import signal, sys, os
signal.signal(signal.SIGINT, signal.default_int_handler)
class Strike:
    def find_spec(self, name, *rest):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Strike())
from dpselect.use.start import main
main()
"""
    paths = {"PYTHONPATH": str(Path(command_line.__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **paths}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "Stopped. Nothing was read or charged.\n")
