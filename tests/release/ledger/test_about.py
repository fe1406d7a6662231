"""A ledger is about one unit of protection and one relation: promises about different things do not add up."""

import numpy as np
import pytest

import dpselect
from dpselect.errors import LedgerError, StudyError
from dpselect.release.ledger.entries import Charge, Entry
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.store import link, row_of


def charge(**more):
    return Charge(what="select", mechanism="laplace", epsilon="0.1", **more)


ROWS = charge()
PERSONS = charge(unit="person:id", rows_per_person=20)
OTHERS = charge(unit="person:household", rows_per_person=20)
ADDED = charge(neighbors="add-remove-one")


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        (ROWS, "a row under replace-one"),
        (PERSONS, r"a person \(by 'id'\) under replace-one"),
        (ADDED, "a row under add-remove-one"),
    ],
    ids=["rows", "persons", "added"],
)
def test_the_first_charge_says_what_a_ledger_is_about(first, sentence, where):
    ledger = Ledger(where, epsilon=3)
    assert (ledger.unit, ledger.neighbors) == (None, None)
    ledger.charge(first)
    assert (ledger.unit, ledger.neighbors) == (first.unit, first.neighbors)
    for other in (ROWS, PERSONS, OTHERS, ADDED):
        if (other.unit, other.neighbors) == (first.unit, first.neighbors):
            ledger.charge(other)
            continue
        for act in (
            ledger.charge,
            ledger.check,
            lambda other=other: ledger.commit([first, other], ""),
        ):
            with pytest.raises(StudyError, match=rf"adds up promises about {sentence}, and select makes one about"):
                act(other) if act in (ledger.charge, ledger.check) else act()
    assert len(ledger.entries()) == 2


def test_how_many_rows_of_a_person_count_is_no_other_unit(where):
    ledger = Ledger(where, epsilon=3)
    for rows in (20, 5):
        ledger.charge(charge(unit="person:id", rows_per_person=rows))
    assert [entry.rows_per_person for entry in ledger.entries()] == [20, 5]


def test_a_ledger_may_be_opened_for_one_unit_and_relation(shared):
    stated = {"unit": "person:id", "neighbors": "add-remove-one"}
    ledger = Ledger(shared, epsilon=3, **stated)
    assert (ledger.unit, ledger.neighbors) == ("person:id", "add-remove-one")
    with pytest.raises(StudyError, match="adds up promises about a person"):
        ledger.charge(ROWS)
    ledger.charge(charge(**stated))
    assert Ledger(shared, epsilon=3).unit == Ledger(shared, **stated).unit == "person:id"
    with pytest.raises(LedgerError, match="has unit 'person:id', not 'row'; leave unit out"):
        Ledger(shared, unit="row")
    with pytest.raises(LedgerError, match="has neighbors 'add-remove-one', not 'replace-one'"):
        Ledger(shared, epsilon=3, neighbors="replace-one")


def test_what_was_not_stated_at_the_opening_cannot_be_stated_later(shared):
    Ledger(shared, epsilon=3)
    with pytest.raises(LedgerError, match="was opened without unit, not 'row'"):
        Ledger(shared, epsilon=3, unit="row")
    Ledger(shared).charge(ROWS)
    Ledger(shared, epsilon=3, unit="row", neighbors="replace-one")  # which the first charge has fixed


@pytest.mark.parametrize("wrong", [{"unit": "table"}, {"unit": "person:"}, {"unit": 3}, {"neighbors": "some"}], ids=str)
def test_units_and_relations_that_there_are_not(wrong):
    with pytest.raises(StudyError, match="must be"):
        Ledger(epsilon=3, **wrong)


@pytest.mark.parametrize("other", [PERSONS, ADDED], ids=["persons", "added"])
def test_an_entry_about_something_else_that_another_hand_wrote_is_reported(other, shared, tamper):
    ledger = Ledger(shared, epsilon=3)
    head = ledger.charge(ROWS).hash
    row = row_of(Entry.from_dict(other.to_dict() | {"index": 2, "time": ""}), 2, head)
    assert row.hash == link(head, row.body)
    tamper(
        shared,
        f"INSERT INTO entries VALUES (2, '{row.body}', '{row.hash}')",
        f"UPDATE head SET count = 3, hash = '{row.hash}'",
    )
    with pytest.raises(LedgerError, match="entry 2 is about another unit or relation than the others"):
        ledger.remaining()


def test_one_table_cannot_be_charged_by_the_row_and_by_the_person():
    """Three estimates at 1 said 3, and one person of 20 rows lost 38.6."""
    numbers = np.random.default_rng(0).uniform(-1, 1, (600, 2))
    frame = {"y": numbers[:, 0], "a": numbers[:, 1], "id": np.array([f"p{place // 20}" for place in range(600)])}
    stated = dpselect.Numeric("y", -1, 1), [dpselect.Numeric("a", -1, 1)]
    person = dpselect.Study(*stated, person="id", max_rows_per_person=20)
    ledger = Ledger(epsilon=3)
    dpselect.estimate(frame, ["intercept", "a"], study=person, epsilon=1, ledger=ledger)
    for other in (dpselect.Study(*stated), dpselect.Study(*stated, neighbors="add-remove-one")):
        with pytest.raises(StudyError, match="state person and neighbors in the study as the ledger has them"):
            dpselect.estimate(frame, ["intercept", "a"], study=other, epsilon=1, ledger=ledger)
    (entry,) = ledger.entries()
    assert (entry.unit, entry.rows_per_person, entry.neighbors) == ("person:id", 20, "replace-one")
    assert ledger.spent().epsilon == 1
