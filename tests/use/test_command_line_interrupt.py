"""Ctrl-C anywhere: one line, nothing half-written, the ledger right."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.records import Charge
from dpselect.use import command_line

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
ASKED = ["analyze", "study.toml", "rows.csv", "--epsilon", "1", "--delta", "1e-6", "-o", "report.html"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("rows.csv").write_text("x,y\n" + "".join(f"{i / 100},{i / 100}\n" for i in range(100)))


# Where an interrupt strikes, how many charges are on the disk then, and which files.
PLACES = {
    "opening the data": ("dpselect.use.shell.sources.open_stream", 0, []),
    "reading the rows": ("dpselect.use.gathering.gather_blocks", 0, []),
    "scoring": ("dpselect.use.select.penalize", 0, []),
    "charging": ("dpselect.release.ledger.ledger.Ledger.charge", 0, []),
    "between charge and draw": ("dpselect.release.select._draw", 1, []),
    "planning the second release": ("dpselect.use.analyze.release_estimate", 1, ["report.json"]),
    "drawing the noise": ("dpselect.release.estimate.noisy_moments", 2, ["report.json"]),
    "solving": ("dpselect.release.coefficients.drawn.coefficients_from", 2, ["report.paid.json"]),
    "moving a file to its place": ("dpselect.use.shell.files._placed", 2, ["report.paid.json"]),
    "making the page": ("dpselect.use.commands.analyze.report_page", 2, ["report.json", "report.paid.json"]),
    "showing the answer": ("dpselect.use.commands.analyze._show", 2, ["report.html", "report.json"]),
}


@pytest.mark.parametrize(("where", "charges", "files"), PLACES.values(), ids=PLACES)
def test_one_line_and_the_ledger_is_right(where, charges, files, monkeypatch, capsys):
    """The error itself, wherever it comes from; signals come later, as they wait for what was paid for."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    assert command_line.run(ASKED) == 1
    _, err = capsys.readouterr()
    assert err.strip().splitlines()[-1].startswith("Stopped.")
    assert not [path for path in Path().iterdir() if path.name.endswith(".part")]
    assert sorted(str(path) for path in Path().glob("report*")) == files
    if Path("study.budget.db").exists():
        ledger = Ledger("study.budget.db")
        ledger.verify()
        assert len(ledger.records()) == charges
    else:
        assert charges == 0


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
        _, err = process.communicate(timeout=60)
    return process.returncode, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("inside", ["dpselect.release.select._draw", "dpselect.release.estimate.noisy_moments"])
def test_a_signal_after_the_charge_waits_until_the_report_is_written(number, inside):
    code, err = signalled(number, *inside.rsplit(".", 1), *ASKED)
    assert code == 1
    assert err.splitlines()[-1] == "Stopped; what was paid for is in 'report.json' and 'report.html'."
    assert "Traceback" not in err
    assert len(Ledger("study.budget.db").records()) == 2
    assert command_line.run(["verify", "report.html", "--ledger", "study.budget.db"]) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_charge_stops_at_once(number):
    code, err = signalled(number, "dpselect.use.select", "penalize", *ASKED)
    assert (code, err.count("\n")) == (1, 1), err
    assert err.startswith("Stopped.")
    assert Ledger("study.budget.db").records() == ()
    assert sorted(path.name for path in Path().iterdir()) == ["rows.csv", "study.budget.db", "study.toml"]


def test_a_choice_that_is_paid_for_is_written_when_the_estimate_is_refused(monkeypatch, capsys):
    """Somebody else spends in between."""
    from dpselect.use import analyze

    real = analyze.release_estimate

    def late(*arguments):
        Ledger("study.budget.db").charge(Charge(what="other", mechanism="laplace", epsilon="9.3"))
        return real(*arguments)

    monkeypatch.setattr(analyze, "release_estimate", late)
    assert command_line.run(ASKED) == 3
    _, err = capsys.readouterr()
    assert "The model was chosen and is paid for: y ~ " in err
    assert "in report.json; its coefficients are not" in err
    assert command_line.run(["verify", "report.json", "--ledger", "study.budget.db"]) == 0


def test_a_signal_that_a_library_swallowed_is_still_a_stop(monkeypatch, capsys):
    from dpselect.use.shell import signals

    def swallowed(*_, **__):
        signals._State.came = True
        raise ImportError("numpy failed to load")

    monkeypatch.setattr("dpselect.use.commands.analyze.read_study", swallowed)
    assert command_line.run(ASKED) == 1
    assert capsys.readouterr().err.startswith("Stopped.")


def test_in_another_thread_signals_are_left_alone(capsys):
    codes = []
    thread = threading.Thread(target=lambda: codes.append(command_line.run(["budget", "nowhere.db"])))
    thread.start()
    thread.join()
    assert codes == [2]


def test_a_signal_that_was_ignored_stays_ignored():
    from dpselect.use.shell.signals import stoppable

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
