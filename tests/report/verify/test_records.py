"""An entry is the charge for a release only if it states the same price, for the same unit, relation and study."""

import pytest

from dpselect.release.ledger.entries import Charge, Entry

PAID = Charge(
    what="select", mechanism="laplace", epsilon="0.5", delta="1e-6", study="ab", parameters={"method": "votes"}
)
OTHERS = {
    "what": "estimate",
    "mechanism": "exponential",
    "epsilon": "0.4",
    "delta": "1e-7",
    "study": "cd",
    "unit": "person:id",
    "rows_per_person": 2,
    "neighbors": "add-remove-one",
    "count": 2,
    "parameters": {"method": "pcls"},
}


def entry(**more):
    return Entry.from_dict(PAID.to_dict() | {"index": 1, "time": "", "data": "people", "analyst": "me"} | more)


def test_who_charged_and_when_is_no_part_of_the_price():
    assert entry().states(PAID)
    assert entry(parameters={"method": "votes", "version": "1"}).states(PAID)


@pytest.mark.parametrize(("fact", "other"), OTHERS.items(), ids=OTHERS)
def test_every_fact_of_the_price_counts(fact, other):
    assert not entry(**{fact: other}).states(PAID)
