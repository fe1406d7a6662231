"""Coefficients as lines of text, whatever is missing from them."""

from dataclasses import replace

from dpselect.release.coefficients.printed import cells, slopes_alone
from dpselect.release.coefficients.terms import Term

SEEN = Term("age", 0.25, 0.1, 0.05, 0.45, 0.5, 0.2)


def test_a_slope_alone_with_an_open_end():
    """Counting the choice opens an end that is closed otherwise; printing it once failed, after it was paid for."""
    assert slopes_alone([replace(SEEN, lower=None)]) == ["alone: age 0.25 (open to 0.45)"]
    assert slopes_alone([SEEN, replace(SEEN, value=None)]) == ["alone: age 0.25 (0.05 to 0.45)"]


def test_a_term_that_was_not_seen_has_no_number():
    assert cells(replace(SEEN, value=None, lower=None)) == ("age", "not seen", "", "open", "0.45")
