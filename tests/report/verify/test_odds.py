"""Reports with odds ratios: they verify as they are, and not when any part of them was edited."""

import copy
import json
import re

import numpy as np
import pandas as pd
import pytest

from dpselect import Analysis, Binary, Categorical, Ledger, Numeric, Study, analyze
from dpselect.errors import DataError, StudyError
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.checks import overall
from dpselect.report.board import board_page
from dpselect.report.page import report_page
from dpselect.report.table import table_of
from dpselect.report.verify import check_report

STUDY = Study(
    Binary("died", ["no", "yes"], label="death within a year"),
    [Numeric("age", 0, 100), Categorical("town", ["a", "b"]), Numeric("luck", 0, 1)],
)


def table(n=20_000):
    generator = np.random.default_rng(8)
    frame = pd.DataFrame({"age": generator.uniform(0, 100, n), "town": generator.choice(["a", "b"], n)})
    eta = -1.5 + 0.03 * frame["age"] + 0.8 * (frame["town"] == "b")
    frame["died"] = np.where(generator.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    return frame.assign(luck=generator.random(n))


@pytest.fixture(scope="module")
def paid():
    ledger = Ledger(epsilon=10, delta="1e-5")
    asked = {"epsilon": 4, "delta": "1e-6", "family": "binomial", "split": (1, 1), "ledger": ledger}
    return analyze(table(), STUDY, **asked), ledger


@pytest.fixture(scope="module")
def document(paid):
    result = paid[0]
    return AnalysisRecord(title="", made=result.made, selection=result.selection, coefficients=result.coefficients)


def failed(text, ledger=None):
    return [check.what for check in check_report(text, ledger) if check.holds is not True]


def test_a_true_report_holds_in_the_file_on_the_page_and_in_the_ledger(document, paid):
    assert failed(document.to_json(), paid[1]) == []
    assert failed(report_page(document), paid[1]) == []
    assert overall(check_report(document.to_json())) == "ok"
    assert AnalysisRecord.from_dict(json.loads(document.to_json())) == document


FIRST, LAST = ("released", "asks", 0, 0), ("released", "asks", -1, 0)
EDITS = {
    "an odds ratio": (("terms", 1, "value"), lambda value: value * 1.01, "follow"),
    "an interval made narrower": (("terms", 1, "lower"), lambda value: value + 0.003, "follow"),
    "an adjusted interval made narrower": (("terms", 1, "adjusted_upper"), lambda value: value - 0.003, "follow"),
    "a term less": (("terms",), lambda value: value[:-1], "follow"),
    "a noisy sum of the last round": ((*LAST, "draw", "values", 1), lambda value: value + 2**26, "follow"),
    "a noisy sum of the first round": ((*FIRST, "draw", "values", 0), lambda value: value + 2**22, "asks what"),
    "a center": ((*LAST, "query", "center", 1), lambda value: value + 0.01, "asks what"),
    "another radius": ((*LAST, "query", "radius"), lambda value: value / 2, "asks what"),
    "another query": ((*FIRST, "query"), lambda value: {"kind": "rows"}, "as many noisy sums"),
    "fewer edges": ((*FIRST, "query", "edges"), lambda value: value[1:], "noise"),
    "a path that has not ended": (("released", "done"), lambda value: False, "asks what"),
    "less noise than the price buys": ((*LAST, "draw", "spread"), lambda value: value / 2, "noise"),
    "a lower sensitivity": ((*FIRST, "draw", "sensitivity"), lambda value: 1, "noise"),
    "a lower rho": ((*LAST, "draw", "rho"), lambda value: value / 2, "noise"),
    "a larger share of the price": (("released", "mu"), lambda value: 2 * value, "noise"),
    "fewer rows": (("released", "rows"), lambda value: value - 1, "as many rows"),
    "a lower price": (("guarantee", "epsilon"), lambda value: "1", "noise"),
    "no delta": (("guarantee", "delta"), lambda value: "0", "noise"),
    "another model": (("columns",), lambda value: [0, 1, 3], "belong"),
    "a round less": (("released", "asks"), lambda value: value[:-1], "asks what"),
    "an answer less": (("released", "asks", -1), lambda value: value[:-1], "asks what|noise"),
    "a sum less": ((*LAST, "draw", "values"), lambda value: value[1:], "as many noisy sums"),
    "a choice that is denied": (("selected",), lambda value: False, "selected"),
}


@pytest.mark.parametrize(("path", "edit", "what"), EDITS.values(), ids=EDITS)
def test_an_edited_one_does_not(document, path, edit, what):
    values = copy.deepcopy(document.to_dict())
    inner = values["coefficients"]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = edit(inner[path[-1]])
    found = failed(json.dumps(values))
    assert any(re.search(what, each) for each in found), found


def test_what_the_ledger_was_not_told_does_not_verify(document):
    other = Ledger(epsilon=10, delta="1e-5")
    assert "ledger entry is unchanged" in failed(document.to_json(), other)


def test_an_unknown_part_is_no_report(document):
    values = document.to_dict()
    values["coefficients"] = values["coefficients"] | {"secret": 1}
    with pytest.raises(DataError, match=r"unknown field `secret` - at `\$\.coefficients`"):
        check_report(json.dumps(values))


def test_the_page_speaks_of_odds(document):
    page = report_page(document)
    odds = "The odds of <strong>death within a year</strong>"
    assert f"{odds} rise with <code>age</code> and are higher for <strong>b</strong> (<code>town</code>)." in page
    assert "Estimated odds ratios" in page and "Odds ratios and intervals" in page and "Coefficients" not in page
    assert "An odds ratio of \N{MULTIPLICATION SIGN} 2 means that the odds are twice as high" in page
    assert "odds ratios with their intervals" in board_page(document)


def test_cells_are_ratios_and_bars_their_logarithms(document):
    odds = document.coefficients
    age = next(row for row in table_of(document).effects if row.term == "age")
    assert float(age.effect.split()[1]) == pytest.approx(np.exp(10**age.power * odds["age"].value), rel=0.02)
    assert age.bar.value == pytest.approx(2 * odds.scales["age"] * odds["age"].value)  # per two standard deviations
    assert age.bar.adjusted_lower <= age.bar.lower < age.bar.upper <= age.bar.adjusted_upper


def test_an_analysis_is_read_back_from_either_file_and_tells_its_terms(paid, tmp_path):
    result = paid[0]
    assert Analysis.from_json(result.to_json()) == result
    page = result.to_html(tmp_path / "report.html", board=tmp_path / "board.html")
    again = Analysis.from_json(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert again == result and "ethics board" in (tmp_path / "board.html").read_text(encoding="utf-8")
    with pytest.raises(StudyError, match=r"board\.html already exists"):
        result.to_html(tmp_path / "other.html", board=tmp_path / "board.html")
    assert {row["term"] for row in result.tidy()} >= {"intercept", "age", "town[b]"}
    (row,) = result.glance()
    assert row["epsilon"] == 4 and row["determined"] == row["terms"] and row["nobs"] == pytest.approx(20_000, abs=500)
    assert "adjusted for selection" in str(result) and "The odds of" in result._repr_html_()
    assert repr(result) == "<Analysis died: 2 of 3 selected, epsilon 4>"


def test_other_levels_cost_nothing_and_adjusted_intervals_contain_the_plain_ones(paid):
    odds = paid[0].coefficients
    for term in odds.terms:
        assert term.adjusted_lower <= term.lower < term.upper <= term.adjusted_upper
    narrow = odds.with_intervals(level=0.8)
    assert narrow.released == odds.released
    assert narrow["age"].upper < odds["age"].upper and narrow["age"].adjusted_upper < odds["age"].adjusted_upper


REFUSED = {
    "another response": ({"study": Study(Numeric("died", 0, 1), STUDY.predictors)}, "Binary"),
    "no delta": ({"delta": 0}, "need a delta above 0"),
    "another family": ({"family": "logit"}, "'gaussian', 'binomial'"),
}


@pytest.mark.parametrize(("more", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_had_is_refused_before_anything_is_charged(more, says):
    ledger = Ledger(epsilon=9, delta="1e-5")
    asked = {"epsilon": 1, "delta": "1e-6", "family": "binomial", "study": STUDY, "ledger": ledger} | more
    with pytest.raises(StudyError, match=says):
        analyze(table(50), **asked)
    assert ledger.entries() == ()


def test_moments_have_no_rows_to_read_again():
    import dpselect

    ledger = Ledger(epsilon=9, delta="1e-5")
    moments = dpselect.gather(table(50), STUDY)
    with pytest.raises(DataError, match="read the rows again"):
        analyze(moments, STUDY, epsilon=1, delta="1e-6", family="binomial", method="pcls", ledger=ledger)
    assert ledger.entries() == ()
