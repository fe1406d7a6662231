"""The ledger's interface, once for each place where entries are kept."""

import contextlib
import copy
import os
import pickle
import threading
from decimal import Decimal

import pytest

from dpselect.errors import BudgetExceeded, LedgerError, StudyError
from dpselect.release.ledger.entries import Charge, Receipt, Remaining
from dpselect.release.ledger.ledger import Ledger


def choice(epsilon="0.5", mechanism="permute-and-flip", **more):
    return Charge(what="select", mechanism=mechanism, epsilon=epsilon, **more)


def test_charges_add_up_exactly_to_the_total_and_not_a_unit_more(where):
    ledger = Ledger(where, epsilon=1)
    for done in range(1, 11):
        receipt = ledger.charge(choice(0.1))  # ten binary 0.1 are not 1; ten decimal ones are
        assert receipt.remaining == Remaining(epsilon=1 - Decimal("0.1") * done, delta=Decimal(0))
        assert receipt.index == done
    assert [ledger.remaining_after(index).epsilon for index in (1, 4, 10)] == [Decimal("0.9"), Decimal("0.6"), 0]
    with pytest.raises(BudgetExceeded, match=r"this run costs epsilon=1e-12, delta=0 and nothing remains of epsilon="):
        ledger.charge(choice("1e-30"))
    assert (ledger.spent().epsilon, ledger.remaining().epsilon) == (1, 0)


def test_a_refused_charge_changes_nothing_and_says_what_is_left(where):
    ledger = Ledger(where, epsilon=1, delta="1e-6")
    ledger.charge(choice("0.75"))
    before = ledger.entries()
    with pytest.raises(BudgetExceeded, match=r"epsilon=0.5, delta=0, but .* epsilon=0.25, delta=1e-6 left"):
        ledger.charge(choice())
    with pytest.raises(BudgetExceeded, match="delta=2e-6"):
        ledger.charge(choice("0.25", "pcpl/laplace", delta="2e-6"))
    assert ledger.entries() == before
    ledger.charge(choice("0.25", "pcpl/laplace", delta="1e-6"))
    assert ledger.remaining() == Remaining(epsilon=Decimal(0), delta=Decimal(0))


def test_a_first_look_writes_nothing(where):
    ledger = Ledger(where, epsilon=1)
    ledger.charge(choice("0.5"))
    ledger.check(choice("0.25"), choice("0.25"))
    with pytest.raises(
        BudgetExceeded, match=r"select and select ask for epsilon=0.6, delta=0, .* epsilon=0.5, delta=0 left"
    ):
        ledger.check(choice("0.3"), choice("0.3"))
    assert len(ledger.entries()) == 1


def test_records_are_the_facts_of_the_charges_with_place_time_and_hash(where):
    ledger = Ledger(where, epsilon=5, delta="1e-6")
    first = choice(parameters={"penalty": 2.5, "rows": 97}, study="ab12", data="prostate", analyst="me")
    second = choice("0.25", "gaussian", delta="1e-8", parameters={"rho": Decimal("0.01")}, count=3)
    receipts = [ledger.charge(first), ledger.charge(second)]
    entries = ledger.entries()
    assert [entry.hash for entry in entries] == [receipt.hash for receipt in receipts]
    assert [entry.index for entry in entries] == [1, 2]
    assert entries[0].time <= entries[1].time
    for entry, charge in zip(entries, (first, second), strict=True):
        facts = entry.to_dict()
        assert {name: facts[name] for name in charge.to_dict()} == charge.to_dict()
    assert (receipts[1].epsilon, receipts[1].delta) == (Decimal("0.75"), Decimal("3e-8"))


def test_a_ledger_is_opened_again_with_the_same_totals_or_none(shared):
    Ledger(shared, epsilon="2.5", delta="1e-6").charge(choice())
    for ledger in (Ledger(shared), Ledger(str(shared), epsilon=2.5, delta=1e-6)):
        assert (ledger.epsilon, ledger.delta) == (Decimal("2.5"), Decimal("1e-6"))
        assert len(ledger.entries()) == 1
    with pytest.raises(LedgerError, match=r"epsilon=2.5, delta=1e-6, not epsilon=3, delta=0"):
        Ledger(shared, epsilon=3)


def test_entries_are_added_up_unless_zcdp_was_asked_for(where):
    ledger = Ledger(where, epsilon=1, delta="1e-6")
    with pytest.raises(BudgetExceeded, match=r"left of epsilon=1, delta=1e-6\. Ask for less"):
        ledger.charge(choice("0.005", "exponential", count=201))
    ledger.charge(choice("0.005", "exponential", count=200))
    assert (ledger.spent().epsilon, ledger.spent().method) == (1, "basic")
    if where is not None:
        assert Ledger(where).spent() == ledger.spent()
        assert Ledger(where, epsilon=1, delta="1e-6", composition="basic").spent() == ledger.spent()
        with pytest.raises(LedgerError, match=r"totals epsilon=1, delta=1e-6, not epsilon=1, delta=1e-6, zCDP"):
            Ledger(where, epsilon=1, delta="1e-6", composition="zcdp")


@pytest.mark.parametrize("name", ["magic", "smaller", None])
def test_there_are_two_compositions(name):
    with pytest.raises(StudyError, match=rf"composition is {name!r}; it must be 'basic' or 'zcdp'"):
        Ledger(epsilon=1, composition=name)


def test_room_that_only_zcdp_finds_is_used_where_it_was_asked_for(where):
    ledger = Ledger(where, epsilon=1, delta="1e-6", composition="zcdp")
    ledger.charge(choice("0.005", "exponential", count=201))
    assert ledger.spent().method == "zCDP"
    assert ledger.spent().epsilon < Decimal("0.2")


def test_opening_does_not_create(shared):
    with pytest.raises(LedgerError, match=r"There is no ledger at .*: check its name, or state epsilon to create one"):
        Ledger(shared)


def test_the_path_does_not_follow_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("budget.db", epsilon=1)
    monkeypatch.chdir("/")
    ledger.charge(choice())
    assert ledger.path == str(tmp_path / "budget.db")


def test_a_ledger_that_is_not_there_is_not_made_by_opening_or_charging(tmp_path):
    path = tmp_path / "budget.db"
    with pytest.raises(StudyError, match="epsilon"):
        Ledger(path, epsilon="much")
    assert not path.exists()
    ledger = Ledger(path, epsilon=1)
    path.unlink()
    with pytest.raises(LedgerError, match="There is no ledger"):
        ledger.charge(choice())
    assert not path.exists()


@pytest.mark.parametrize("arguments", [{}, {"path": ":memory:"}, {"path": "x.db", "delta": "1e-6"}])
def test_a_new_ledger_needs_epsilon(arguments):
    with pytest.raises(StudyError, match="State epsilon"):
        Ledger(**arguments)


def test_copies_and_clones_are_the_same_ledger(where):
    sklearn_base = pytest.importorskip("sklearn.base")
    ledger = Ledger(where, epsilon=1)
    assert copy.copy(ledger) is copy.deepcopy(ledger) is sklearn_base.clone(ledger) is ledger


def test_a_shared_ledger_pickles_as_its_place_and_memory_refuses(shared):
    ledger = Ledger(shared, epsilon=1, wait=5)
    ledger.charge(choice())
    again = pickle.loads(pickle.dumps(ledger))
    assert again.entries() == ledger.entries()
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
    assert Receipt.from_dict(receipt.to_dict()) == receipt
    ledger.verify()
    ledger.verify(receipt)
    with pytest.raises(LedgerError, match="receipt 1"):
        Ledger(epsilon=1).verify(receipt)


TAMPERED = {
    "edited": (
        ["""UPDATE entries SET body = replace(body, '"epsilon":"0.5"', '"epsilon":"0.1"') WHERE number = 2"""],
        "entry 2 was edited",
    ),
    "totals raised": (
        ["""UPDATE entries SET body = replace(body, '"epsilon":"3"', '"epsilon":"9"') WHERE number = 0"""],
        "the opening entry was edited",
    ),
    "hash edited": (["UPDATE entries SET hash = 'ab' WHERE number = 3"], "entry 3 was edited"),
    "not text of a entry": (["UPDATE entries SET body = 'x' WHERE number = 1"], "entry 1 was edited"),
    "removed": (["DELETE FROM entries WHERE number = 2"], "entry 2 was removed"),
    "opening removed": (["DELETE FROM entries WHERE number = 0"], "the opening entry was removed"),
    "all removed": (["DELETE FROM entries"], "the opening entry was removed"),
    "truncated": (["DELETE FROM entries WHERE number = 4"], "entry 4 was removed"),
    "removed and renumbered": (
        [
            "DELETE FROM entries WHERE number = 2",
            "UPDATE entries SET number = 2 WHERE number = 3",
            "UPDATE entries SET number = 3 WHERE number = 4",
            "UPDATE head SET count = 4",
        ],
        "entry 2 was edited",
    ),
    "moved": (
        [
            "UPDATE entries SET number = 9 WHERE number = 1",
            "UPDATE entries SET number = 1 WHERE number = 3",
            "UPDATE entries SET number = 3 WHERE number = 9",
        ],
        "entry 1 was edited",
    ),
    "added": (["INSERT INTO entries VALUES (5, '{}', '')"], "entry 5 was edited"),
    "head lowered": (["UPDATE head SET count = 3"], "entry 3 was removed or added"),
    "head replaced": (["UPDATE head SET hash = 'ab'"], "entry 4 was replaced"),
    "head removed": (["DELETE FROM head"], "the opening entry was removed or added"),
}


@pytest.mark.parametrize(("statements", "sentence"), TAMPERED.values(), ids=TAMPERED)
def test_every_change_by_another_hand_is_reported_and_nothing_is_charged(statements, sentence, shared, tamper):
    ledger = Ledger(shared, epsilon=3)
    for _ in range(4):
        ledger.charge(choice())
    tamper(shared, *statements)
    for act in (ledger.verify, ledger.spent, ledger.entries, lambda: ledger.charge(choice()), lambda: Ledger(shared)):
        with pytest.raises(LedgerError, match=f"cannot be trusted: {sentence}"):
            act()


def test_a_ledger_that_is_emptied_while_it_is_open_takes_no_charge(shared, tamper):
    ledger = Ledger(shared, epsilon=3)
    ledger.charge(choice())
    tamper(shared, "DELETE FROM entries", "UPDATE head SET count = 0, hash = ''")
    for act in (ledger.verify, ledger.spent, ledger.entries, lambda: ledger.charge(choice())):
        with pytest.raises(LedgerError, match="cannot be trusted: the opening entry was removed"):
            act()


FORBIDDEN = [
    "UPDATE entries SET body = '{}' WHERE number = 1",
    "DELETE FROM entries WHERE number = 1",
    "INSERT INTO entries VALUES (7, '{}', '')",
    "INSERT INTO entries VALUES (0, '{}', '')",
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
        "DELETE FROM entries",
        *(f"INSERT INTO entries VALUES ({row.index}, '{row.body}', '{row.hash}')" for row in contents.rows),
        f"UPDATE head SET count = {contents.count}, hash = '{contents.head}'",
    )
    fresh = Ledger(shared)
    fresh.verify()  # one ledger alone cannot show it
    for receipt in receipts:
        with pytest.raises(LedgerError, match=f"does not hold the entry of receipt {receipt.index}"):
            fresh.verify(receipt)
    with pytest.raises(LedgerError, match="replaced by an older or another one since it was opened"):
        ledger.remaining()


def test_a_record_in_an_unknown_form_is_refused(shared, tamper):
    from dpselect.release.ledger.store import link

    ledger = Ledger(shared, epsilon=3)
    head = ledger._store.read().head
    body = '{"index":1,"what":"select","mechanism":"laplace","epsilon":"1","time":"","of_the_future":1}'
    tamper(
        shared,
        f"INSERT INTO entries VALUES (1, '{body}', '{link(head, body)}')",
        f"UPDATE head SET count = 2, hash = '{link(head, body)}'",
    )
    with pytest.raises(LedgerError, match="entry 1 in a form that this version cannot read"):
        ledger.remaining()


def test_a_foreign_opening_is_refused(shared, tamper):
    from dpselect.release.ledger.store import link

    Ledger(shared, epsilon=3)
    body = '{"index":0,"format":"something else"}'
    new = link("", body)
    tamper(shared, f"UPDATE entries SET body = '{body}', hash = '{new}'", f"UPDATE head SET hash = '{new}'")
    with pytest.raises(LedgerError, match="does not open with 'dpselect ledger 2' and its totals"):
        Ledger(shared)


def test_a_moved_body_with_its_chain_made_anew_is_reported(shared, tamper):
    from dpselect.release.ledger.store import link

    ledger = Ledger(shared, epsilon=3)
    ledger.charge(choice())
    first, second = ledger._store.read().rows
    new = link(first.hash, second.body.replace('"index":1', '"index":2'))
    tamper(
        shared,
        f"UPDATE entries SET body = replace(body, '\"index\":1', '\"index\":2'), hash = '{new}' WHERE number = 1",
        f"UPDATE head SET hash = '{new}'",
    )
    with pytest.raises(LedgerError, match="entry 1 was moved"):
        ledger.verify()


@pytest.mark.parametrize("body", ["not JSON", "[1]"])
def test_a_text_that_is_no_record_is_reported(body, shared, tamper):
    from dpselect.release.ledger.store import link

    ledger = Ledger(shared, epsilon=3)
    new = link("", body)
    tamper(shared, f"UPDATE entries SET body = '{body}', hash = '{new}'", f"UPDATE head SET hash = '{new}'")
    with pytest.raises(LedgerError, match="the opening entry was moved"):
        ledger.verify()


def test_a_ledger_of_another_version_is_refused_in_one_sentence(shared, tamper):
    here = 3 if isinstance(shared, os.PathLike) else 4
    ledger = Ledger(shared, epsilon=3)
    set_to = "PRAGMA user_version = {}" if isinstance(shared, os.PathLike) else "UPDATE version SET number = {}"
    for version, sentence in (
        (here + 1, "was written by a newer dpselect"),
        (here - 1, "was made by an earlier dpselect"),
    ):
        tamper(shared, set_to.format(version), triggers=True)
        for act in (lambda: Ledger(shared), lambda: Ledger(shared, epsilon=3), lambda: ledger.charge(choice())):
            with pytest.raises(LedgerError, match=rf"{sentence} \(schema {version}, here {here}\)"):
                act()
    tamper(shared, set_to.format(here), triggers=True)
    assert Ledger(shared).entries() == ()


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
    third = shared.with_name("third.db") if isinstance(shared, os.PathLike) else f"{shared}_third"
    ledger = Ledger(third, epsilon=1)
    with pytest.warns(
        TwoLedgersWarning, match=r"'births' is also charged to '.*' and '.*'. The ledgers do not know"
    ) as said:
        ledger.charge(choice("0.1", data="births"))
    assert len(said) == 1


def test_a_busy_ledger_is_waited_for_and_the_wait_is_announced_and_bounded(shared):
    said = []
    ledger = Ledger(shared, epsilon=1, wait=0.4, announce=said.append)
    object.__setattr__(ledger._store.patience, "quiet", 0.1)
    held, release = threading.Event(), threading.Event()

    def hold(contents, found):
        held.set()
        release.wait(10)
        raise KeyError("no charge after all")

    def holder():
        with contextlib.suppress(KeyError):
            Ledger(shared)._store.append(hold)

    thread = threading.Thread(target=holder)
    thread.start()
    held.wait(10)
    assert ledger.remaining().epsilon == 1  # reading does not wait
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
        with pytest.raises(StudyError, match=f"wait is {shown}; it must be a number of seconds"):
            Ledger(epsilon=1, wait=wait)


def test_another_process_is_told_by_its_number(monkeypatch):
    ledger = Ledger(epsilon=1)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(LedgerError, match="stays in the process that made it"):
        ledger.remaining()
