"""A studio that dies between charge and draw: the charge stands, nothing is released, and the next studio says so."""

import re

from dpselect.assume.models.budget import plain
from dpselect.release.ledger.ledger import Ledger

from .conftest import START

KILLED = (
    """
import os, signal
from dpselect.assume.models.budget import plain
from dpselect.release.ledger.ledger import Ledger
charge = Ledger.charge
def charge_and_die(self, record):
    charge(self, record)
    os.kill(os.getpid(), signal.SIGKILL)
Ledger.charge = charge_and_die
"""
    + START
)


def test_a_charge_without_a_release_is_said_to_stand(start):
    dying = start(start=KILLED)
    dying.state().ask()
    try:
        dying.post("confirm", {"nonce": dying.nonce(), "amount": "1"})
    except OSError:
        pass  # it may die before it answers
    assert dying.process.wait(30) == -9
    (record,) = Ledger(dying.folder / "study.budget.db").records()
    assert list(dying.folder.glob("*report*")) == []

    studio = start()
    for screen in ("budget", "release"):
        text = re.sub(r"\s+", " ", studio.get(screen)[2])
        assert "A charge stands without a release." in text
        assert f"record 1 ({record.what}, epsilon {plain(record.epsilon)}," in text
    assert f"epsilon {plain(3 - record.epsilon)} of 3 left" in studio.get("study")[2]
    assert studio.post("study", {"address": "people.csv"})[0] == 303
    studio.ask()
    assert studio.post("confirm", {"nonce": studio.nonce(), "amount": "1"})[0] == 303
    assert "Read the report" in studio.get("progress")[2]
    text = studio.get("budget")[2]
    assert "A charge stands" in text  # still the first one, and that one alone
    assert text.count("no report here") == 1
    assert text.count("study.report-1.json") == 2


def test_a_finished_release_leaves_no_such_sentence(studio):
    studio.state().ask()
    assert studio.post("confirm", {"nonce": studio.nonce(), "amount": "1"})[0] == 303
    assert "Read the report" in studio.get("progress")[2]
    assert "stands without" not in studio.get("budget")[2]
    (studio.folder / "study.report-1.json").unlink()
    assert "Charges stand without a release." in studio.get("budget")[2]
