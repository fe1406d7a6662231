"""A ledger may be named by its place; without one Python is told so, once, by a warning of its own kind."""

import subprocess
import sys
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import dpselect
from dpselect.assume.budget import Budget
from dpselect.errors import NoLedgerWarning, NoLedgerYet, StudyError
from dpselect.release import account
from dpselect.release.account import Account, NewLedger, account_of, software_version
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger
from dpselect.use.runs.spending import _Run
from dpselect.use.shell.ledgers import LedgerOptions, not_enough

STUDY = dpselect.Study(dpselect.Numeric("y", 0, 1), [dpselect.Numeric("x", 0, 1)])
ROWS = {"x": np.linspace(0, 1, 200), "y": np.linspace(0, 1, 200)}
MATRIX = np.linspace(-1, 1, 200).reshape(-1, 1)

DOORS = {
    "select": (lambda ledger: dpselect.select(ROWS, STUDY, epsilon=1, ledger=ledger), 1),
    "analyze": (lambda ledger: dpselect.analyze(ROWS, STUDY, epsilon=1, ledger=ledger), 2),
    "estimate": (lambda ledger: dpselect.estimate(ROWS, ["x"], epsilon=1, study=STUDY, ledger=ledger), 1),
    "pcls": (lambda ledger: dpselect.pcls(MATRIX, MATRIX[:, 0], epsilon=1, r=1, R=1, phi=1, ledger=ledger), 1),
    "PCLSSelector": (
        lambda ledger: dpselect.PCLSSelector(epsilon=1, ledger=ledger).fit(MATRIX, MATRIX[:, 0]),
        1,
    ),
}


@pytest.mark.parametrize(("door", "charges"), DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("kind", [str, Path], ids=["text", "path"])
def test_a_ledger_may_be_named_by_its_place(door, charges, kind, tmp_path):
    place = kind(tmp_path / "budget.db")
    ledger = Ledger(place, epsilon=3, delta="1e-6")
    door(place)
    records = ledger.entries()
    assert len(records) == charges
    assert {record.parameters["version"] for record in records} == {software_version()}


def test_a_place_without_a_ledger_and_what_is_no_place(tmp_path):
    with pytest.raises(NoLedgerYet, match=r"dpselect\.Ledger\(place, epsilon="):
        account_of(tmp_path / "budget.db")
    with pytest.raises(StudyError, match="must be text or a path"):
        account_of(3)


@pytest.mark.parametrize("door", [door for door, _ in DOORS.values()], ids=DOORS)
def test_without_a_ledger_a_warning_says_so_once(door, monkeypatch):
    monkeypatch.setattr(account, "_warned", [])
    with pytest.warns(NoLedgerWarning, match="charged to no ledger"):
        door(None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        door(None)


def test_the_command_line_always_has_one_and_says_nothing(tmp_path):
    script = (
        "import warnings; warnings.simplefilter('error'); from dpselect.release.ledger.ledger import Ledger; "
        "from dpselect.release.account import account_of; account_of(Ledger(epsilon=1))"
    )
    paths = {"PYTHONPATH": str(Path(dpselect.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", script], check=True, env=paths)


def test_a_ledger_that_another_run_opened_meanwhile_is_asked_what_remains(tmp_path):
    """A run that is refused once said that all of the total remained."""
    new = NewLedger(str(tmp_path / "budget.db"), Budget(Decimal(7), Decimal(0)))
    assert new.remaining().epsilon == 7
    with Ledger(new.place, epsilon=7) as other:
        other.charge(Charge(what="select", mechanism="permute-and-flip", epsilon=Decimal(5)))
    assert new.remaining().epsilon == 2
    said = not_enough(Account(new), Budget(Decimal(3), Decimal(0)))
    assert (
        said
        == "Not enough budget: this run costs epsilon 3 and 2 remains. Nothing was spent. Use `--epsilon 2` or less."
    )


def test_a_ledger_that_is_a_file_has_four_and_others_none(tmp_path):
    """Nothing is written over them."""
    path = str(tmp_path / "budget.db")
    files = [place for place, _ in LedgerOptions(path).files]
    assert files == [f"{path}{ending}" for ending in ("", "-wal", "-shm", "-journal")]
    assert LedgerOptions(str(tmp_path)).files == LedgerOptions("postgresql://host/budgets").files == []


def test_a_run_whose_new_ledger_holds_its_entry_has_spent_something(tmp_path):
    """Though there was no ledger when it began: "Nothing was spent." would be wrong."""
    run = object.__new__(_Run)
    run.ledger, run._found, run._before = LedgerOptions(str(tmp_path / "budget.db")), None, 0
    assert run._as_before()
    with Ledger(run.ledger.path, epsilon=7) as opened:
        opened.charge(Charge(what="select", mechanism="permute-and-flip", epsilon=Decimal(5)))
    assert not run._as_before()
