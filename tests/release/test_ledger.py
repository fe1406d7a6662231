"""The ledger's interface, once for each place where records are kept."""

import copy
import os
import pickle
from decimal import Decimal

import pytest

from dpselect.errors import AssumptionError, BudgetExceeded, LedgerError
from dpselect.release.ledger import Ledger
from dpselect.release.records import Charge, Left, Receipt


def choice(epsilon="0.5", mechanism="permute-and-flip", **more):
    return Charge(what="select", mechanism=mechanism, epsilon=epsilon, **more)


@pytest.fixture(params=["memory", "file"])
def where(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "budget.db"


def test_charges_add_up_exactly_to_the_total_and_not_a_unit_more(where):
    ledger = Ledger(where, epsilon=1)
    for done in range(1, 11):
        receipt = ledger.charge(choice(0.1))  # ten binary 0.1 are not 1; ten decimal ones are
        assert receipt.left == Left(epsilon=1 - Decimal("0.1") * done, delta=Decimal(0))
        assert receipt.index == done
    with pytest.raises(BudgetExceeded, match=r"asks for epsilon=1e-12, delta=0, .* has epsilon=0, delta=0 left"):
        ledger.charge(choice("1e-30"))
    assert (ledger.spent().epsilon, ledger.left().epsilon) == (1, 0)


def test_a_refused_charge_changes_nothing_and_says_what_is_left(where):
    ledger = Ledger(where, epsilon=1, delta="1e-6")
    ledger.charge(choice("0.75"))
    before = ledger.records()
    with pytest.raises(BudgetExceeded, match=r"epsilon=0.5, delta=0, but .* epsilon=0.25, delta=1e-6 left"):
        ledger.charge(choice())
    with pytest.raises(BudgetExceeded, match="delta=2e-6"):
        ledger.charge(choice("0.25", "pcpl/laplace", delta="2e-6"))
    assert ledger.records() == before
    ledger.charge(choice("0.25", "pcpl/laplace", delta="1e-6"))
    assert ledger.left() == Left(epsilon=Decimal(0), delta=Decimal(0))


def test_records_are_the_facts_of_the_charges_with_place_time_and_hash(where):
    ledger = Ledger(where, epsilon=5, delta="1e-6")
    first = choice(parameters={"penalty": 2.5, "rows": 97}, assumptions="ab12", data="prostate", analyst="me")
    second = choice("0.25", "gaussian", delta="1e-8", parameters={"rho": Decimal("0.01")}, count=3)
    receipts = [ledger.charge(first), ledger.charge(second)]
    records = ledger.records()
    assert [record.hash for record in records] == [receipt.hash for receipt in receipts]
    assert [record.index for record in records] == [1, 2]
    assert records[0].time <= records[1].time
    for record, charge in zip(records, (first, second), strict=True):
        facts = record.to_json()
        assert {name: facts[name] for name in charge.to_json()} == charge.to_json()
    assert (receipts[1].epsilon, receipts[1].delta) == (Decimal("0.75"), Decimal("3e-8"))


def test_a_file_is_opened_again_with_the_same_totals_or_none(tmp_path):
    path = tmp_path / "budget.db"
    Ledger(path, epsilon="2.5", delta="1e-6").charge(choice())
    for ledger in (Ledger(path), Ledger(str(path), epsilon=2.5, delta=1e-6)):
        assert (ledger.epsilon, ledger.delta) == (Decimal("2.5"), Decimal("1e-6"))
        assert len(ledger.records()) == 1
    with pytest.raises(LedgerError, match=r"epsilon=2.5, delta=1e-6, not epsilon=3, delta=0"):
        Ledger(path, epsilon=3)


def test_the_path_does_not_follow_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("budget.db", epsilon=1)
    monkeypatch.chdir("/")
    ledger.charge(choice())
    assert ledger.path == str(tmp_path / "budget.db")


def test_a_ledger_that_is_not_there_is_not_made_by_opening_or_charging(tmp_path):
    path = tmp_path / "budget.db"
    with pytest.raises(LedgerError, match="There is no ledger"):
        Ledger(path)
    ledger = Ledger(path, epsilon=1)
    path.unlink()
    with pytest.raises(LedgerError, match="There is no ledger"):
        ledger.charge(choice())
    assert not path.exists()


@pytest.mark.parametrize("arguments", [{}, {"path": ":memory:"}, {"path": "x.db", "delta": "1e-6"}])
def test_a_new_ledger_needs_epsilon(arguments):
    with pytest.raises(AssumptionError, match="State epsilon"):
        Ledger(**arguments)


def test_copies_and_clones_are_the_same_ledger(where):
    sklearn_base = pytest.importorskip("sklearn.base")
    ledger = Ledger(where, epsilon=1)
    assert copy.copy(ledger) is copy.deepcopy(ledger) is sklearn_base.clone(ledger) is ledger


def test_a_file_pickles_as_its_path_and_memory_refuses(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", epsilon=1, wait=5)
    ledger.charge(choice())
    again = pickle.loads(pickle.dumps(ledger))
    assert again.records() == ledger.records()
    assert again.path == ledger.path
    with pytest.raises(LedgerError, match="stays in the process"):
        pickle.dumps(Ledger(epsilon=1))


def test_a_ledger_in_memory_refuses_in_a_forked_process():
    ledger = Ledger(epsilon=1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # only os calls from here on: the child must not run pytest's cleanup
        try:
            ledger.charge(choice())
            os.write(writer, b"charged")
        except LedgerError:
            os.write(writer, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100) == b"refused"
    ledger.charge(choice())


def test_repr_shows_the_totals(where):
    assert "epsilon=1, delta=1e-6" in repr(Ledger(where, epsilon=1, delta=1e-6))


def test_receipts_verify_and_travel_as_json(where):
    ledger = Ledger(where, epsilon=1)
    receipt = ledger.charge(choice())
    assert Receipt.from_json(receipt.to_json()) == receipt
    ledger.verify()
    ledger.verify(receipt)
    with pytest.raises(LedgerError, match="receipt 1"):
        Ledger(epsilon=1).verify(receipt)
