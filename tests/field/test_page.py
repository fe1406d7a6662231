"""The page that `make field` writes: every block has its markers, none is empty, and nothing else is touched."""

import re

import numpy as np
import pytest

from benchmarks.field import page, tables
from benchmarks.field.__main__ import PARTS
from benchmarks.field.estimates import OURS, Line, least_squares
from benchmarks.field.selection import Wide
from benchmarks.field.short import Duel, of_lines

NAMES = {"short", "how", "real", "tables", "ties", "wide", "walk", "readme", "wages", "models"}


def test_every_block_of_the_page_is_written_by_the_command():
    text = page.PAGE.read_text(encoding="utf-8")
    found = dict(re.findall(r"<!-- field: (\w+) -->\n(.*?)<!-- end of field -->", text, re.DOTALL))
    assert set(found) == NAMES
    assert all("|" in body or name == "how" for name, body in found.items())
    assert found["how"].strip()
    assert set(PARTS) <= NAMES | {"real", "wide"}


def test_a_block_is_replaced_between_its_markers_alone(tmp_path):
    text = "a\n<!-- field: one -->\nold\n<!-- end of field -->\nb\n<!-- field: two -->\nkept\n<!-- end of field -->\n"
    new = page.put(text, "one", r"\1 new")
    assert new.startswith("a\n") and "old" not in new and r"\1 new" in new and "kept" in new
    assert page.put(new, "one", r"\1 new") == new
    with pytest.raises(ValueError, match="no markers"):
        page.put(text, "three", "")


def test_numbers_are_shown_as_far_as_they_mean_something():
    shown = [page.ratio(each) for each in (1.26, 9.96, 312.4, 2e21, np.inf, np.nan)]
    assert shown == ["1.3", "10", "312", "over 1,000", "unbounded", "none"]


def test_a_table_says_why_ours_has_no_answer_and_counts_who_is_nearest():
    refused = Wide(900, 10_000, 1.0, np.nan, np.nan, np.nan, "Too wide.", (0.5, 0.25))
    assert "| Too wide |  |  | 0.50 | 0.25 |" in page.wide([refused])
    lines = [
        Line(each, 1.0, who, error, np.nan, np.nan) for each in "ab" for who, error in (("us", 2.0), ("them", 1.0))
    ]
    assert "| 1 | them | 1.0 | none | none | 2 (a, b) |" in page.models(lines)


def test_who_is_ahead_is_said_by_the_numbers_whichever_way_is_better():
    assert Duel("", "", 0.5, 0.6, "them", True).ahead == "them"
    assert Duel("", "", 0.5, 0.6, "them", False).ahead == "**dpselect**"
    assert Duel("", "", 1.0, 1.01, "them", False).ahead == "even"
    assert Duel("", "", np.nan, 0.6, "them", True).ahead == "them"
    assert Duel("", "", np.inf, 3.0, "them", False).ahead == "them"
    shown = page.short(
        [Duel("here", "contrast", 0.5, 0.6, "them", True), Duel("here", "distance", 0.0, 0.6, "us", False)]
    )
    assert "| here | contrast (more is better) | 0.50 | 0.60, them | 1.20 | them |" in shown
    lines = [Line(each, 1.0, who, error, np.nan, 2.0) for each in "ab" for who, error in ((OURS, 2.0), ("them", 1.0))]
    first, second = of_lines(lines, "somewhere")
    assert (first.ours, first.rival, first.ahead) == (2.0, 1.0, "them") and second.ahead == "even"


def test_real_tables_are_whole_and_within_their_stated_limits():
    found = tables.real_tables()
    assert len(found) == 12 and [each.n for each in found] == sorted(each.n for each in found)
    for table in found:
        assert np.isfinite(table.x).all() and np.isfinite(table.y).all()
        assert len(set(table.columns)) == table.x.shape[1] and (table.lower < table.upper).all()
        assert ((table.x < table.lower) | (table.x > table.upper)).mean() < 0.01


def test_least_squares_of_a_table_are_those_of_statsmodels_with_robust_errors():
    sm = pytest.importorskip("statsmodels.api")
    table = tables.real_tables()[1]
    fitted = sm.OLS(table.y, sm.add_constant(table.x)).fit(cov_type="HC1")
    slopes, errors = least_squares(table)
    assert slopes == pytest.approx(fitted.params[1:], rel=1e-6)
    assert errors == pytest.approx(fitted.bse[1:], rel=1e-6)
