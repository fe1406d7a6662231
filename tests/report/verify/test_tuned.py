"""A selection with bought bounds: it verifies as it is, and each check notices the edit that it is there for."""

import json

import numpy as np
import pytest

from dpselect.assume.study.paper_setting import plain_assumptions
from dpselect.rehearse.simulate.settings import FIRST, draw
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.verify.answers import overall
from dpselect.report.verify.verify import check_report
from dpselect.use.select_tuned import select_tuned

STUDY = plain_assumptions(list("abcdef"), r=10, R=10)


@pytest.fixture(scope="module")
def bought():
    ledger = Ledger(epsilon=20)
    tuned = select_tuned(draw(FIRST.with_rows(2000), np.random.SeedSequence(3)), STUDY, epsilon=2, ledger=ledger)
    return tuned.to_json(), ledger


def failed(values, ledger=None):
    return {check.what for check in check_report(json.dumps(values), ledger) if check.holds is False}


def test_it_verifies_as_it_is(bought):
    text, ledger = bought
    checks = check_report(text, ledger)
    assert overall(checks) == "yes" and "the ledger holds the charge for the bounds" in {each.what for each in checks}


def between_places(values):
    values["bounds"]["values"][0] += 1e-3


def other_places(values):
    values["bounds"]["values"] = [-10.0, 10.0]


def less_range(values):
    values["bounds"]["range"] /= 2


def a_delta(values):
    values["bounds"]["guarantee"]["delta"] = "0.1"


def cheaper(values):
    values["bounds"]["guarantee"]["epsilon"] = "0.01"


def another_receipt(values):
    values["bounds"]["receipt"]["epsilon"] = "0.01"


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        (between_places, "the bought bounds are among those that were for sale"),
        (other_places, "the choice was made with the bought bounds, all else as stated"),
        (less_range, "the range paid for the bounds is enough"),
        (a_delta, "the bounds were bought for a pure price"),
        (cheaper, "the choice says what its bounds cost"),
        (another_receipt, "the receipt for the bounds is for their price"),
    ],
)
def test_an_edit_is_noticed_by_its_check(bought, edit, what):
    values = json.loads(bought[0])
    edit(values)
    assert what in failed(values)


def test_the_ledger_must_hold_the_charge_for_the_bounds(bought):
    text, ledger = bought
    what = "the ledger holds the charge for the bounds"
    values = json.loads(text)
    cheaper(values)
    assert what in failed(values, ledger)
    values = json.loads(text)
    values["bounds"]["receipt"] = None
    assert what in failed(values, ledger)
    assert what in failed(json.loads(text), Ledger(epsilon=20))
    swapped = json.loads(text)
    swapped["bounds"]["receipt"] = swapped["selection"]["receipt"]
    assert what in failed(swapped, ledger)
