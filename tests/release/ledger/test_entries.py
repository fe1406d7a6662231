"""The opening record of a ledger: totals that are whole numbers, or one sentence."""

import pytest

from dpselect.errors import LedgerError
from dpselect.release.ledger.entries import FORMAT, Terms, terms_of

GOOD = {"format": FORMAT, "composition": "smaller", "epsilon_units": 10**12, "delta_units": 0}


def test_an_opening_says_its_terms():
    assert terms_of(GOOD, "The ledger") == Terms(10**12, 0, "smaller")
    assert terms_of({**GOOD, "composition": "basic"}, "The ledger") == Terms(10**12, 0, "basic")


@pytest.mark.parametrize("name", ["epsilon_units", "delta_units"])
@pytest.mark.parametrize("units", [None, -1, 1.5, 1e300, True, "1", [1]])
def test_totals_that_are_no_whole_numbers_are_refused(name, units):
    """A total of 1e300 or of minus one would be a budget without an end, or no sentence at all."""
    with pytest.raises(LedgerError, match="does not open with totals that are whole numbers"):
        terms_of({**GOOD, name: units}, "The ledger")


@pytest.mark.parametrize(
    "wrong", [{"format": "another"}, {"format": None}, {"composition": "none"}, {"composition": None}]
)
def test_another_format_or_composition_is_refused(wrong):
    with pytest.raises(LedgerError, match="does not open with its totals"):
        terms_of({**GOOD, **wrong}, "The ledger")
