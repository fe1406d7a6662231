"""Releases that are no releases, tables that cannot be read, ledgers whose records say what none says: each is named."""

import json
import os
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest

from dpselect import DataError, Estimate, Ledger, LedgerError, Numeric, Selection, Study, estimate, select
from dpselect.errors import StudyError
from dpselect.gather.rows import gather
from dpselect.release import account
from dpselect.release import tables as frames
from dpselect.release.drawn import Drawn
from dpselect.release.estimate import draw_estimate, solved
from dpselect.release.ledger import sqlite
from dpselect.release.ledger.entries import Receipt
from dpselect.release.ledger.sqlite import IMMUTABLE, others_beside, reading_mode
from dpselect.release.ledger.store import Row, entry_of
from dpselect.release.units import design_matrix
from tests.release.exits import plan_estimate, release_estimate

STUDY = Study(Numeric("y", 0, 1), [Numeric("x", 0, 1)])
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


def test_another_format_is_named():
    with pytest.raises(DataError, match="Invalid value 'dpselect song 1' - at `"):
        Selection.from_dict({"format": "dpselect song 1"})


def test_what_was_drawn_survives_its_file_and_is_solved_to_the_same():
    drawn = draw_estimate(gather((X[:, None], X), STUDY), *plan_estimate(STUDY, (0, 1), epsilon=50, delta=0))
    for again in (Drawn.from_dict(json.loads(json.dumps(drawn.to_dict()))), Drawn.from_json(drawn.to_json())):
        assert again == drawn
        assert solved(again) == solved(drawn)


def test_an_estimate_whose_release_is_of_another_family_is_refused():
    made = estimate((X[:, None], X), ["x"], study=STUDY, epsilon=50)
    values = made.to_dict() | {"family": "binomial"}
    with pytest.raises(DataError, match="'binomial' do not come from such a release"):
        Estimate.from_dict(values)
    with pytest.raises(DataError, match="among the study's 2 columns"):
        Estimate.from_dict(made.to_dict() | {"columns": [0, 2]})
    with pytest.raises(DataError, match="among the study's 2 columns"):
        Estimate.from_dict(made.to_dict() | {"columns": [-1]})


def test_moments_of_another_study_are_refused_before_the_charge(tmp_path):
    other = Study(Numeric("y", 0, 2), [Numeric("x", 0, 1)])
    ledger = Ledger(tmp_path / "budget.db", epsilon=1)
    with pytest.raises(DataError, match="gathered under other assumptions"):
        release_estimate(
            gather((X[:, None], X), other),
            plan_estimate(STUDY, (0, 1), epsilon=1, delta=0),
            account.Account(ledger),
        )
    assert ledger.entries() == ()


def test_where_noise_drowns_everything_nothing_is_determined_and_intervals_are_open():
    """Noise that looks like something closes one in ten or twenty of them, as 95% intervals may: half of 20, never by chance."""
    none = Study(Numeric("y", 0, 1), [Numeric("x", 0, 1)], intercept="none")
    draws = [estimate((X[:, None], X), ["x"], study=none, epsilon="0.001").terms for _ in range(20)]
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
    with pytest.raises(StudyError, match="polars is not installed"):
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


@pytest.mark.parametrize(
    "values", [{}, {"epsilon": "1"}, {"what": "x", "mechanism": "y", "epsilon": "1", "time": "", "song": 1}], ids=str
)
def test_an_entry_that_says_what_none_says_is_named(values):
    with pytest.raises(LedgerError, match="The ledger holds entry 1 in a form that this version cannot read"):
        entry_of(Row(1, "{}", "0" * 64), {"index": 1, **values}, "The ledger")


def test_a_receipt_has_a_whole_place():
    ledger = Ledger(None, epsilon=1)
    chosen = select((X[:, None], X), STUDY, epsilon=1, ledger=ledger)
    values = chosen.receipt.to_dict()
    assert Receipt.from_dict(values) == chosen.receipt
    for place in (1.5, "1", None, True):
        with pytest.raises(DataError, match="not a dpselect receipt"):
            Receipt.from_dict(values | {"index": place})


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
        ledger.remaining()
    assert "secret" not in str(refused.value) and refused.value.__suppress_context__
