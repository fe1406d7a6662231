"""Releases that are no releases, tables that cannot be read, ledgers whose records say what none says: each is named."""

import json
import os
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest

from dpselect import Assumptions, DataError, Ledger, LedgerError, Numeric, Selection, estimate, select
from dpselect.errors import AssumptionError
from dpselect.gather.table import gather_table
from dpselect.release import account
from dpselect.release.coefficients import frames
from dpselect.release.coefficients.drawn import Drawn
from dpselect.release.coefficients.units import design_matrix
from dpselect.release.estimate import plan_estimate, release_estimate
from dpselect.release.ledger.chain import Row
from dpselect.release.ledger.entries import FORMAT, record_of, terms_of
from dpselect.release.ledger.records import Receipt
from dpselect.release.ledger.stores import sqlite
from dpselect.release.ledger.stores.sqlite_file import IMMUTABLE, others_beside, reading_mode
from dpselect.release.tuned_selection import TunedSelection

STUDY = Assumptions(Numeric("y", 0, 1), [Numeric("x", 0, 1)])
X = np.linspace(0, 1, 200)


def test_the_json_of_a_listed_choice_is_read_back():
    chosen = select((X[:, None], X), STUDY, epsilon=1, candidates=[["x"], []])
    again = Selection.from_json(chosen.to_json())
    assert again == chosen
    assert json.loads(again.to_json())["recipe"]["candidates"]["rule"] == "list"


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", '{"format": "dpselect selection 1"}'])
def test_what_is_no_selection_is_named(text):
    with pytest.raises(DataError, match="not the JSON text of a dpselect selection"):
        Selection.from_json(text)


@pytest.mark.parametrize("kind", [Selection, TunedSelection])
def test_another_format_is_named(kind):
    with pytest.raises(DataError, match="This is a 'dpselect song 1'"):
        kind.from_dict({"format": "dpselect song 1"})


def test_what_was_drawn_survives_its_file_and_is_solved_to_the_same():
    kept = []
    moments = gather_table((X[:, None], X), STUDY)
    made = release_estimate(moments, plan_estimate(STUDY, (0, 1), epsilon=50, delta=0), keep=kept.append)
    again = Drawn.from_dict(json.loads(json.dumps(kept[0].to_dict())))
    assert again == kept[0]
    assert again.solved() == made


def test_moments_of_another_study_are_refused_before_the_charge(tmp_path):
    other = Assumptions(Numeric("y", 0, 2), [Numeric("x", 0, 1)])
    ledger = Ledger(tmp_path / "budget.db", epsilon=1)
    with pytest.raises(DataError, match="gathered under other assumptions"):
        release_estimate(
            gather_table((X[:, None], X), other),
            plan_estimate(STUDY, (0, 1), epsilon=1, delta=0),
            account.Account(ledger),
        )
    assert ledger.records() == ()


def test_where_noise_drowns_everything_nothing_is_determined_and_intervals_are_open():
    """Noise that looks like something closes one in ten or twenty of them, as 95% intervals may: half of 20, never by chance."""
    none = Assumptions(Numeric("y", 0, 1), [Numeric("x", 0, 1)], intercept="none")
    draws = [estimate((X[:, None], X), ["x"], assumptions=none, epsilon="0.001").terms for _ in range(20)]
    assert not any(term.determined for terms in draws for term in terms)
    assert sum(all(term.lower is term.upper is None for term in terms) for terms in draws) > 10


def test_a_program_that_is_not_installed_has_no_version(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(account, "version", missing)
    assert account.software_version.__wrapped__() == "unknown"


def test_a_frame_of_a_library_that_is_missing_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(frames, "import_module", missing)
    with pytest.raises(AssumptionError, match="polars is not installed"):
        frames.framed([{"a": 1}], "polars")


class Strange:
    """A frame whose library has its own kind of error, which quotes a cell."""

    shape = (3, 1)

    def __len__(self):
        return 3

    def __getitem__(self, name):
        raise RuntimeError("secret cell 1234")


def test_new_rows_that_cannot_be_read_are_named_without_their_cells():
    with pytest.raises(DataError) as refused:
        design_matrix(Strange(), STUDY, (0, 1))
    assert str(refused.value) == "The column 'x' of the new rows cannot be read (RuntimeError)."
    assert refused.value.__cause__ is None and refused.value.__suppress_context__


# The ledger.


@pytest.mark.parametrize("units", ["5", -1, 2.0, None, True])
def test_totals_that_are_no_whole_numbers_open_no_ledger(units):
    values = {"format": FORMAT, "composition": "smaller", "epsilon_units": 5, "delta_units": units}
    with pytest.raises(LedgerError, match="does not open with totals that are whole numbers"):
        terms_of(values, "The ledger")


@pytest.mark.parametrize("values", [{}, {"epsilon_units": 1}, {"epsilon_units": 1, "delta_units": 0, "song": 1}])
def test_a_record_that_says_what_none_says_is_named(values):
    with pytest.raises(LedgerError, match="The ledger"):
        record_of(Row(1, "{}", "0" * 64), {"index": 1, **values}, "The ledger")


def test_a_receipt_has_a_whole_place():
    ledger = Ledger(None, epsilon=1)
    chosen = select((X[:, None], X), STUDY, epsilon=1, ledger=ledger)
    values = chosen.receipt.to_json()
    assert Receipt.from_json(values) == chosen.receipt
    with pytest.raises(TypeError, match="whole number"):
        Receipt.from_json(values | {"index": 1.0})


def only_reads(monkeypatch, *, folder_too):
    """As for an account that may read a file and not write it, whatever account runs the test."""
    real = os.access
    denied = lambda path, mode: mode == os.W_OK and (folder_too or os.path.isfile(path))  # noqa: E731
    monkeypatch.setattr(os, "access", lambda path, mode: not denied(path, mode) and real(path, mode))


def test_who_may_only_read_leaves_nothing_beside_a_ledger(tmp_path, monkeypatch):
    path = tmp_path / "budget.db"
    ledger = Ledger(path, epsilon=1)
    assert reading_mode(path) == "rw"
    only_reads(monkeypatch, folder_too=False)
    assert reading_mode(path) == IMMUTABLE
    path.with_name("budget.db-wal").write_bytes(b"")
    with pytest.raises(LedgerError, match="left in the middle of a charge"):
        reading_mode(path)
    path.with_name("budget.db-shm").write_bytes(b"")
    assert reading_mode(path) == "ro"
    with pytest.raises(LedgerError, match="cannot be written"):
        ledger.check()


def test_a_folder_that_may_not_be_listed_has_no_neighbours(tmp_path):
    assert others_beside(tmp_path / "gone" / "budget.db", "births") == []


def test_a_damaged_file_that_sqlite_quotes_is_a_damaged_file(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "budget.db", epsilon=1)

    def quoted(*_):
        raise UnicodeDecodeError("utf-8", b"\xff secret", 0, 1, "invalid start byte")

    monkeypatch.setattr(sqlite, "_transact", quoted)
    with pytest.raises(LedgerError) as refused:
        ledger.left()
    assert "secret" not in str(refused.value) and refused.value.__suppress_context__
