"""What a ledger is opened with: totals in exact decimals, rounded down, how they are added up, and what charges must be about."""

from decimal import Decimal

import pytest

from dpselect.errors import LedgerError, StudyError
from dpselect.release.ledger.entries import FORMAT, Opening
from dpselect.release.ledger.store import opening_of

GOOD = {"index": 0, "format": FORMAT, "id": "ab", "time": "", "epsilon": "1", "delta": "0"}


def test_an_opening_says_its_terms():
    made = opening_of(GOOD, "The ledger")
    assert (made.epsilon, made.delta, made.composition, made.unit, made.neighbors) == (1, 0, "basic", None, None)
    assert (made.epsilon_units, made.delta_units, made.conversion_delta_units) == (10**12, 0, 0)
    stated = {"composition": "zcdp", "unit": "person:id", "neighbors": "add-remove-one", "delta": "1e-6"}
    made = opening_of({**GOOD, **stated}, "The ledger")
    assert made.conversion_delta_units == 10**12
    assert str(made) == "epsilon=1, delta=1e-6, zCDP composition, the unit 'person:id', add-remove-one"
    assert opening_of(made.to_dict(), "The ledger") == made


def test_totals_are_rounded_down_to_a_unit():
    """Rounded up, a ledger would allow more than its owner wrote."""
    made = Opening.from_dict({**GOOD, "epsilon": "0.3333333333339", "delta": "1.9e-18"})
    assert (made.epsilon_units, made.delta_units) == (333_333_333_333, 1)
    assert (made.epsilon, made.delta) == (Decimal("0.333333333333"), Decimal("1e-18"))


@pytest.mark.parametrize("name", ["epsilon", "delta"])
@pytest.mark.parametrize("amount", [None, "-1", -1, 1e300, "1e300", "Infinity", "nan", True, "x", [1]])
def test_totals_that_are_no_amounts_are_refused(name, amount):
    """A total of 1e300 or of minus one would be a budget without an end, or no sentence at all."""
    with pytest.raises(LedgerError, match="does not open with 'dpselect ledger 2' and its totals"):
        opening_of({**GOOD, name: amount}, "The ledger")


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": "another"},
        {"format": None},
        {"composition": "smaller"},
        {"composition": None},
        {"unit": "table"},
        {"unit": "person:"},
        {"neighbors": "some"},
        {"song": 1},
    ],
    ids=str,
)
def test_another_form_is_refused(wrong):
    with pytest.raises(LedgerError, match="does not open with"):
        opening_of({**GOOD, **wrong}, "The ledger")
    with pytest.raises((StudyError, TypeError)):
        Opening(**{**GOOD, **wrong})
