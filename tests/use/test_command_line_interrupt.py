"""Ctrl-C anywhere: one line, nothing half-written, the ledger right."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dpselect.release.ledger.ledger import Ledger
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


# Where Ctrl-C strikes, and how many charges are on the disk then.
PLACES = {
    "opening the data": ("dpselect.use.shell.sources.open_stream", 0),
    "reading the rows": ("dpselect.use.gathering.gather_blocks", 0),
    "scoring": ("dpselect.use.select.penalize", 0),
    "charging": ("dpselect.release.ledger.ledger.Ledger.charge", 0),
    "between charge and draw": ("dpselect.release.select._draw", 1),
    "planning the second release": ("dpselect.use.analyze.release_estimate", 1),
    "drawing the noise": ("dpselect.release.estimate.noisy_moments", 2),
    "showing the answer": ("dpselect.use.commands.analyze._show", 2),
    "writing the page": ("dpselect.use.commands.analyze.report_page", 2),
    "moving a file to its place": ("pathlib.Path.replace", 2),
}


@pytest.mark.parametrize(("where", "charges"), PLACES.values(), ids=PLACES)
def test_one_line_and_the_ledger_is_right(where, charges, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    assert command_line.run(ASKED) == 1
    _, err = capsys.readouterr()
    assert err.strip().startswith("Stopped.")
    assert err.strip().count("\n") == 0
    assert not [path for path in Path().iterdir() if path.name.endswith(".part")]
    assert not Path("report.html").exists()
    if Path("study.budget.db").exists():
        ledger = Ledger("study.budget.db")
        ledger.verify()
        assert len(ledger.records()) == charges
    else:
        assert charges == 0


def test_a_real_signal(tmp_path):
    """The process waits inside the draw, after its charge; SIGINT ends it with one line, and the charge stays."""
    program = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have switched it off for background work
import dpselect.release.select as select
from dpselect.use.command_line import main
def draw(*_):
    print("drawing", flush=True)
    time.sleep(60)
select._draw = draw
main(sys.argv[1:])
"""
    paths = {"PYTHONPATH": str(Path(command_line.__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, "-c", program, *ASKED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **paths},
    )
    with process:
        assert process.stdout.readline() == "drawing\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err.strip().startswith("Stopped.")
    assert err.strip().count("\n") == 0
    assert len(Ledger("study.budget.db").records()) == 1
