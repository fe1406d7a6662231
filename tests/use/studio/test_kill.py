"""A studio that is killed after the commit: nothing is lost, and the next studio hands the release over at no cost."""

import re

import pytest

from dpselect.release.ledger.ledger import Ledger
from dpselect.use import command_line

from .conftest import START

DIE = """
import os, signal
{setup}
def die(*arguments, **more):
    {first}
    os.kill(os.getpid(), signal.SIGKILL)
{name} = die
"""
AFTER_COMMIT = DIE.format(
    setup="from dpselect.release.ledger.ledger import Ledger; commit = Ledger.commit",
    first="commit(*arguments, **more)",
    name="Ledger.commit",
)
BEFORE_COMMIT = DIE.format(
    setup="from dpselect.release.ledger.ledger import Ledger", first="pass", name="Ledger.commit"
)


def killed(start, where):
    dying = start(start=where + START)
    dying.state().ask()
    try:
        dying.post("confirm", {"nonce": dying.nonce(), "amount": "1"})
    except OSError:
        pass  # it may die before it answers
    assert dying.process.wait(30) == -9
    assert list(dying.folder.glob("*report*")) == []
    return dying.folder


def test_what_was_paid_for_is_handed_over_by_the_next_studio(start):
    folder = killed(start, AFTER_COMMIT)
    ledger = Ledger(folder / "people.budget.db")
    assert len(ledger.entries()) == 2 and len(ledger.undelivered()) == 1
    studio = start()
    assert studio.post("study", {"address": "people.csv"})[0] == 303
    for screen in ("budget", "release"):
        assert "A release was paid for and did not arrive" in re.sub(r"\\s+|<[^>]+>", " ", studio.get(screen)[2])
    assert studio.post("hand-over", {})[0] == 303
    assert len(ledger.entries()) == 2 and ledger.undelivered() == ()
    assert "did not arrive" not in studio.get("release")[2]
    assert "study.report-1.json" in studio.get("budget")[2]
    assert studio.get("report-1")[0] == 200


def test_before_the_commit_nothing_is_spent(start):
    folder = killed(start, BEFORE_COMMIT)
    ledger = Ledger(folder / "people.budget.db")
    assert ledger.entries() == () and ledger.undelivered() == ()


def test_the_command_hands_over_what_a_studio_left(start, monkeypatch):
    folder = killed(start, AFTER_COMMIT)
    monkeypatch.chdir(folder)
    assert command_line.run(["resume", "people.csv"]) == 0
    assert command_line.run(["verify", "report.html", "--ledger", "people.budget.db"]) == 0


@pytest.mark.thorough  # of the page of releases test_attacks.py asks the same
@pytest.mark.parametrize("screen", ["budget", "release"])
def test_a_finished_release_leaves_no_such_sentence(studio, screen):
    studio.state().ask()
    assert studio.post("confirm", {"nonce": studio.nonce(), "amount": "1"})[0] == 303
    assert "Read the report" in studio.get("progress")[2]
    assert "did not arrive" not in studio.get(screen)[2]
