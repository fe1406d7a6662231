"""The ledger's interface, once for each place where records are kept."""

import contextlib
import copy
import os
import pickle
import threading
from decimal import Decimal

import pytest

from dpselect.errors import AssumptionError, BudgetExceeded, LedgerError
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.records import Charge, Left, Receipt


def choice(epsilon="0.5", mechanism="permute-and-flip", **more):
    return Charge(what="select", mechanism=mechanism, epsilon=epsilon, **more)


def test_charges_add_up_exactly_to_the_total_and_not_a_unit_more(where):
    ledger = Ledger(where, epsilon=1)
    for done in range(1, 11):
        receipt = ledger.charge(choice(0.1))  # ten binary 0.1 are not 1; ten decimal ones are
        assert receipt.left == Left(epsilon=1 - Decimal("0.1") * done, delta=Decimal(0))
        assert receipt.index == done
    assert [ledger.left_after(index).epsilon for index in (1, 4, 10)] == [Decimal("0.9"), Decimal("0.6"), 0]
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


def test_a_first_look_writes_nothing(where):
    ledger = Ledger(where, epsilon=1)
    ledger.charge(choice("0.5"))
    ledger.check(choice("0.25"), choice("0.25"))
    with pytest.raises(
        BudgetExceeded, match=r"select and select ask for epsilon=0.6, delta=0, .* epsilon=0.5, delta=0 left"
    ):
        ledger.check(choice("0.3"), choice("0.3"))
    assert len(ledger.records()) == 1


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


def test_a_ledger_is_opened_again_with_the_same_totals_or_none(shared):
    Ledger(shared, epsilon="2.5", delta="1e-6").charge(choice())
    for ledger in (Ledger(shared), Ledger(str(shared), epsilon=2.5, delta=1e-6)):
        assert (ledger.epsilon, ledger.delta) == (Decimal("2.5"), Decimal("1e-6"))
        assert len(ledger.records()) == 1
    with pytest.raises(LedgerError, match=r"epsilon=2.5, delta=1e-6, not epsilon=3, delta=0"):
        Ledger(shared, epsilon=3)


def test_basic_composition_is_kept_to_where_it_was_chosen(where):
    ledger = Ledger(where, epsilon=1, delta="1e-6", composition="basic")
    with pytest.raises(BudgetExceeded, match="left of epsilon=1, delta=1e-6, basic composition"):
        ledger.charge(choice("0.005", "exponential", count=201))
    ledger.charge(choice("0.005", "exponential", count=200))
    assert (ledger.spent().epsilon, ledger.spent().method) == (1, "basic")
    if where is not None:
        assert Ledger(where).spent() == ledger.spent()
        with pytest.raises(LedgerError, match="delta=1e-6, basic composition, not epsilon=1, delta=1e-6;"):
            Ledger(where, epsilon=1, delta="1e-6")


def test_there_are_two_compositions():
    with pytest.raises(AssumptionError, match="composition is 'magic'; it must be 'smaller' or 'basic'"):
        Ledger(epsilon=1, composition="magic")


def test_room_that_only_zcdp_finds_is_used(where):
    ledger = Ledger(where, epsilon=1, delta="1e-6")
    ledger.charge(choice("0.005", "exponential", count=201))
    assert ledger.spent().method == "zCDP"
    assert ledger.spent().epsilon < Decimal("0.2")


def test_opening_does_not_create(shared):
    with pytest.raises(LedgerError, match=r"There is no ledger at .*; state epsilon to create one"):
        Ledger(shared)


def test_the_path_does_not_follow_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("budget.db", epsilon=1)
    monkeypatch.chdir("/")
    ledger.charge(choice())
    assert ledger.path == str(tmp_path / "budget.db")


def test_a_ledger_that_is_not_there_is_not_made_by_opening_or_charging(tmp_path):
    path = tmp_path / "budget.db"
    with pytest.raises(AssumptionError, match="epsilon"):
        Ledger(path, epsilon="much")
    assert not path.exists()
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


def test_a_shared_ledger_pickles_as_its_place_and_memory_refuses(shared):
    ledger = Ledger(shared, epsilon=1, wait=5)
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


TAMPERED = {
    "edited": (
        ["UPDATE records SET body = replace(body, '500000000000', '100000000000') WHERE number = 2"],
        "record 2 was edited",
    ),
    "totals raised": (
        ["UPDATE records SET body = replace(body, '3000000000000', '9000000000000') WHERE number = 0"],
        "the opening record was edited",
    ),
    "hash edited": (["UPDATE records SET hash = 'ab' WHERE number = 3"], "record 3 was edited"),
    "not text of a record": (["UPDATE records SET body = 'x' WHERE number = 1"], "record 1 was edited"),
    "removed": (["DELETE FROM records WHERE number = 2"], "record 2 was removed"),
    "opening removed": (["DELETE FROM records WHERE number = 0"], "the opening record was removed"),
    "all removed": (["DELETE FROM records"], "the opening record was removed"),
    "truncated": (["DELETE FROM records WHERE number = 4"], "record 4 was removed"),
    "removed and renumbered": (
        [
            "DELETE FROM records WHERE number = 2",
            "UPDATE records SET number = 2 WHERE number = 3",
            "UPDATE records SET number = 3 WHERE number = 4",
            "UPDATE head SET count = 4",
        ],
        "record 2 was edited",
    ),
    "moved": (
        [
            "UPDATE records SET number = 9 WHERE number = 1",
            "UPDATE records SET number = 1 WHERE number = 3",
            "UPDATE records SET number = 3 WHERE number = 9",
        ],
        "record 1 was edited",
    ),
    "added": (["INSERT INTO records VALUES (5, '{}', '')"], "record 5 was edited"),
    "head lowered": (["UPDATE head SET count = 3"], "record 3 was removed or added"),
    "head replaced": (["UPDATE head SET hash = 'ab'"], "record 4 was replaced"),
    "head removed": (["DELETE FROM head"], "the opening record was removed or added"),
}


@pytest.mark.parametrize(("statements", "sentence"), TAMPERED.values(), ids=TAMPERED)
def test_every_change_by_another_hand_is_reported_and_nothing_is_charged(statements, sentence, shared, tamper):
    ledger = Ledger(shared, epsilon=3)
    for _ in range(4):
        ledger.charge(choice())
    tamper(shared, *statements)
    for act in (ledger.verify, ledger.spent, ledger.records, lambda: ledger.charge(choice()), lambda: Ledger(shared)):
        with pytest.raises(LedgerError, match=f"cannot be trusted: {sentence}"):
            act()


def test_a_ledger_that_is_emptied_while_it_is_open_takes_no_charge(shared, tamper):
    ledger = Ledger(shared, epsilon=3)
    ledger.charge(choice())
    tamper(shared, "DELETE FROM records", "UPDATE head SET count = 0, hash = ''")
    for act in (ledger.verify, ledger.spent, ledger.records, lambda: ledger.charge(choice())):
        with pytest.raises(LedgerError, match="cannot be trusted: the opening record was removed"):
            act()


FORBIDDEN = [
    "UPDATE records SET body = '{}' WHERE number = 1",
    "DELETE FROM records WHERE number = 1",
    "INSERT INTO records VALUES (7, '{}', '')",
    "INSERT INTO records VALUES (0, '{}', '')",
    "DELETE FROM head",
    "INSERT INTO head VALUES (2, 0, '')",
    "UPDATE head SET count = 0",
    "UPDATE head SET count = count + 1",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_tables_only_grow(statement, shared, tamper):
    ledger = Ledger(shared, epsilon=3)
    ledger.charge(choice())
    with pytest.raises(Exception, match=r"never|follow|only|stays|one head|unique"):
        tamper(shared, statement, triggers=True)
    ledger.verify()


def test_a_chain_made_anew_passes_alone_but_not_against_a_receipt(shared, tamper):
    ledger = Ledger(shared, epsilon=3)
    receipts = [ledger.charge(choice()) for _ in range(2)]
    others = Ledger(epsilon=3)
    for _ in range(3):
        others.charge(choice("0.001"))
    contents = others._store.read()
    tamper(
        shared,
        "DELETE FROM records",
        *(f"INSERT INTO records VALUES ({row.index}, '{row.body}', '{row.hash}')" for row in contents.rows),
        f"UPDATE head SET count = {contents.count}, hash = '{contents.head}'",
    )
    fresh = Ledger(shared)
    fresh.verify()  # one ledger alone cannot show it
    for receipt in receipts:
        with pytest.raises(LedgerError, match=f"does not hold the record of receipt {receipt.index}"):
            fresh.verify(receipt)
    with pytest.raises(LedgerError, match="replaced by an older or another one since it was opened"):
        ledger.left()


def test_a_record_in_an_unknown_form_is_refused(shared, tamper):
    from dpselect.release.ledger.chain import link

    ledger = Ledger(shared, epsilon=3)
    head = ledger._store.read().head
    body = '{"index":1,"epsilon_units":1,"delta_units":0,"of_the_future":1}'
    tamper(
        shared,
        f"INSERT INTO records VALUES (1, '{body}', '{link(head, body)}')",
        f"UPDATE head SET count = 2, hash = '{link(head, body)}'",
    )
    with pytest.raises(LedgerError, match="record 1 in a form that this version cannot read"):
        ledger.left()


def test_a_foreign_opening_is_refused(shared, tamper):
    from dpselect.release.ledger.chain import link

    Ledger(shared, epsilon=3)
    body = '{"index":0,"format":"something else"}'
    new = link("", body)
    tamper(shared, f"UPDATE records SET body = '{body}', hash = '{new}'", f"UPDATE head SET hash = '{new}'")
    with pytest.raises(LedgerError, match="does not open with its totals"):
        Ledger(shared)


def test_a_moved_body_with_its_chain_made_anew_is_reported(shared, tamper):
    from dpselect.release.ledger.chain import link

    ledger = Ledger(shared, epsilon=3)
    ledger.charge(choice())
    first, second = ledger._store.read().rows
    new = link(first.hash, second.body.replace('"index":1', '"index":2'))
    tamper(
        shared,
        f"UPDATE records SET body = replace(body, '\"index\":1', '\"index\":2'), hash = '{new}' WHERE number = 1",
        f"UPDATE head SET hash = '{new}'",
    )
    with pytest.raises(LedgerError, match="record 1 was moved"):
        ledger.verify()


@pytest.mark.parametrize("body", ["not JSON", "[1]"])
def test_a_text_that_is_no_record_is_reported(body, shared, tamper):
    from dpselect.release.ledger.chain import link

    ledger = Ledger(shared, epsilon=3)
    new = link("", body)
    tamper(shared, f"UPDATE records SET body = '{body}', hash = '{new}'", f"UPDATE head SET hash = '{new}'")
    with pytest.raises(LedgerError, match="the opening record was moved"):
        ledger.verify()


def test_a_schema_is_brought_up_to_date_and_a_newer_one_is_refused(shared, tamper, monkeypatch):
    from dpselect.release.ledger.stores import postgres, sqlite

    Ledger(shared, epsilon=3).charge(choice())
    module = sqlite if isinstance(shared, os.PathLike) else postgres
    step = "CREATE TABLE notes (text TEXT)"
    with monkeypatch.context() as patch:
        patch.setattr(module, "MIGRATIONS", (*module.MIGRATIONS, (step,) if module is sqlite else step))
        ledger = Ledger(shared)
        ledger.charge(choice())
        ledger.verify()
        tamper(shared, "INSERT INTO notes VALUES ('migrated')", triggers=True)
    here = len(module.MIGRATIONS)
    with pytest.raises(LedgerError, match=rf"newer dpselect \(schema {here + 1}, here {here}\); update dpselect"):
        Ledger(shared)


def test_two_ledgers_for_one_data_set_are_warned_about_once_each(shared):
    from dpselect.errors import TwoLedgersWarning

    other = shared.with_name("other.db") if isinstance(shared, os.PathLike) else f"{shared}_other"
    Ledger(other, epsilon=1).charge(choice(data="births"))
    ledger = Ledger(shared, epsilon=1)
    ledger.charge(choice("0.1", data="something else"))
    ledger.charge(choice("0.1"))  # no label: nothing to compare
    with pytest.warns(TwoLedgersWarning, match="The data set 'births' is also charged to .*other"):
        ledger.charge(choice("0.1", data="births"))
    ledger.charge(choice("0.1", data="births"))
    with pytest.warns(TwoLedgersWarning, match="births"):
        Ledger(shared)


def test_a_busy_ledger_is_waited_for_and_the_wait_is_announced_and_bounded(shared):
    said = []
    ledger = Ledger(shared, epsilon=1, wait=0.4, announce=said.append)
    object.__setattr__(ledger._store.patience, "quiet", 0.1)
    held, release = threading.Event(), threading.Event()

    def hold(contents):
        held.set()
        release.wait(10)
        raise KeyError("no charge after all")

    def holder():
        with contextlib.suppress(KeyError):
            Ledger(shared)._store.append(hold)

    thread = threading.Thread(target=holder)
    thread.start()
    held.wait(10)
    assert ledger.left().epsilon == 1  # reading does not wait
    with pytest.raises(LedgerError, match=r"was busy for 0.4 s and nothing was charged"):
        ledger.charge(choice())
    assert len(said) == 1
    assert said[0].startswith("Waiting for the ledger")
    assert "at most 0.4 s" in said[0]
    release.set()
    thread.join()
    ledger.charge(choice())


def test_a_wait_must_be_a_number_of_seconds():
    for wait, shown in ((float("nan"), "nan"), ("x", "'x'"), (None, "None"), (-1, "-1"), ([1], r"\[1\]")):
        with pytest.raises(AssumptionError, match=f"wait is {shown}; it must be a number of seconds"):
            Ledger(epsilon=1, wait=wait)


def test_another_process_is_told_by_its_number(monkeypatch):
    ledger = Ledger(epsilon=1)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(LedgerError, match="stays in the process that made it"):
        ledger.left()
