"""Released coefficients that were tampered with do not verify, in the file or on the page."""

import copy
import json
import re

import pytest
from msgspec.structs import replace

from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.errors import DataError
from dpselect.release.analysis import AnalysisRecord
from dpselect.report.public.estimate_facts import estimate_facts
from dpselect.report.public.numbers import number, span
from dpselect.report.public.page import report_page
from dpselect.report.public.text import coefficient_rows
from dpselect.report.verify.verify import check_report
from dpselect.use.analyze import analyze


def failed(text):
    return [check.what for check in check_report(text) if not check.holds]


def test_a_true_report_holds(estimated):
    assert failed(estimated.to_json()) == []
    assert failed(report_page(estimated)) == []
    assert AnalysisRecord.from_dict(json.loads(estimated.to_json())) == estimated


def test_the_price_is_the_sum_of_both(estimated):
    assert estimated.guarantee.epsilon == 8
    assert sum(release.guarantee.epsilon for release in estimated.releases) == 8
    assert len(estimated.releases) == 2


EDITS = {
    "a coefficient": (("terms", 1, "value"), lambda value: value * 1.01, "follow"),
    "an interval made narrower": (("terms", 1, "lower"), lambda value: value + 0.01, "follow"),
    "an adjusted interval made narrower": (("terms", 1, "adjusted_upper"), lambda value: value - 0.01, "follow"),
    "a noisy sum": (("released", "asks", -1, 0, "draw", "values", 1), lambda value: value + 2**26, "follow"),
    "less noise than the price buys": (
        ("released", "asks", 1, 0, "draw", "spread"),
        lambda value: value / 2,
        "noise",
    ),
    "a lower sensitivity": (
        ("released", "asks", 0, 0, "draw", "sensitivity"),
        lambda value: value // 2,
        "noise",
    ),
    "a lower price": (("guarantee", "epsilon"), lambda value: "2", "noise"),
    "a term less": (("terms",), lambda value: value[:-1], "follow"),
    "another model": (("columns",), lambda value: [0, 3, 4], "belong"),
}


@pytest.mark.parametrize(("path", "edit", "what"), EDITS.values(), ids=EDITS)
def test_an_edited_one_does_not(estimated, path, edit, what):
    values = copy.deepcopy(estimated.to_dict())
    inner = values["coefficients"]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = edit(inner[path[-1]])
    try:
        found = failed(json.dumps(values))
    except DataError as refused:
        found = [str(refused)]
    assert any(what in each or "not a dpselect report" in each for each in found), found


def test_an_edited_page_does_not(estimated):
    page = report_page(estimated)
    shown = number(estimated.coefficients.terms[1].value)
    lie = page.replace(f">{shown} ", ">0.001 ", 1)
    assert lie != page
    assert failed(lie) == ["the page shows the release it carries"]


def test_a_page_of_another_version_is_checked_by_its_numbers(estimated):
    other = replace(estimated, selection=replace(estimated.selection, version="9.9"))
    page = report_page(other).replace("Likelier are those", "More likely are those")
    assert failed(page) == []
    shown = number(estimated.coefficients.terms[1].value)
    assert failed(page.replace(f">{shown} ", ">0.001 ")) == ["the page shows the release it carries"]


def test_the_facts_of_an_estimate(estimated):
    facts = estimate_facts(estimated.coefficients)
    by_name = {each.name: each for each in facts.coefficients}
    assert by_name["intercept"].effect is None
    age = by_name["age"]
    assert age.effect.value == pytest.approx(72 * age.coefficient.value)
    assert (
        age.coefficient.adjusted_lower
        <= age.coefficient.lower
        < age.coefficient.upper
        <= age.coefficient.adjusted_upper
    )
    term = estimated.coefficients["age"]
    assert (age.coefficient.adjusted_lower, age.coefficient.adjusted_upper) == (
        term.adjusted_lower,
        term.adjusted_upper,
    )
    assert age.effect.adjusted_upper == pytest.approx(72 * term.adjusted_upper)
    assert facts.selected
    settled = estimate_facts(replace(estimated.coefficients, selected=False))
    assert not settled.selected
    assert settled.coefficients[1].coefficient.adjusted_lower is None


def test_the_adjusted_column_of_the_page_and_the_terminal_shows_the_adjusted_interval(estimated):
    """A page whose second column repeated the plain interval once passed every test."""
    term = estimated.coefficients["age"]
    adjusted, plain = span(term.adjusted_lower, term.adjusted_upper), span(term.lower, term.upper)
    assert adjusted != plain
    row = next(row for row in coefficient_rows(estimate_facts(estimated.coefficients)) if row[0] == "age")
    assert row[2:] == [plain, adjusted]
    (shown,) = re.findall(
        r'<tr><th scope="row">age</th>.*?<td class="n interval-text">(.*?)</td>', report_page(estimated)
    )[1:]
    assert shown == adjusted


def test_what_was_not_seen_is_said_on_the_page_and_in_the_terminal(estimated):
    drowned = estimated.coefficients.terms[1]
    unseen = replace(drowned, value=None, error=None, privacy_share=None)
    terms = (estimated.coefficients.terms[0], unseen, *estimated.coefficients.terms[2:])
    document = replace(estimated, coefficients=replace(estimated.coefficients, terms=terms))
    page = report_page(document)
    assert "not seen <span" in page and "could not be estimated at this price" in page
    rows = coefficient_rows(estimate_facts(document.coefficients))
    assert rows[1][1].startswith("not seen (visible from") and " to " in rows[1][2]
    never = replace(unseen, lower=None, upper=None, visible=None)
    document = replace(document, coefficients=replace(document.coefficients, terms=(*terms[:1], never, *terms[2:])))
    rows = coefficient_rows(estimate_facts(document.coefficients))
    assert rows[1][1:3] == ["not seen", "open on both sides"]
    assert "within the stated range of" in report_page(document)
    assert "not seen at this price, and visible at no size: " + never.name in str(document.coefficients)


@pytest.mark.parametrize("stated", [{"rows": 100}, {"rows": 100, "person": "who", "max_rows_per_person": 2}])
def test_votes_go_by_the_rows_that_are_stated_and_the_estimate_by_those_that_there_are(stated):
    """Such a report once did not verify, unless the table had exactly as many rows as were stated."""
    study = Study(Numeric("y", 0, 1), [Numeric("x", 0, 1)], **stated)
    rows = {"x": [k / 90 for k in range(90)], "y": [k / 90 for k in range(90)], "who": [k // 3 for k in range(90)]}
    got = analyze(rows, study, epsilon=4)
    assert (got.selection.recipe.rows, got.coefficients.released.known_rows) == (100, 60 if "person" in stated else 90)
    values = got.to_dict()
    assert failed(json.dumps(values)) == [] and failed(report_page(got)) == []
    values["selection"]["recipe"]["rows"] = 90
    assert "the coefficients are of as many rows as the selection" in failed(json.dumps(values))
