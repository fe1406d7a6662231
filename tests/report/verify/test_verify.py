"""A report that was tampered with does not verify: each field that matters, one at a time."""

import copy
import json
import sqlite3
from contextlib import closing

import pytest
from msgspec.structs import replace

from dpselect.assume.candidates import Subsets
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError, StudyError
from dpselect.release.account import software_version
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.selection import Selection
from dpselect.report.form import read_report
from dpselect.report.page import report_page
from dpselect.report.selection_checks import directions_check, required_range, rule_check
from dpselect.report.verify import check_report
from dpselect.use.analyze import analyze, analyze_several
from tests.held import whole_models


def failed(text, ledger=None):
    return [check.what for check in check_report(text, ledger) if not check.holds]


def edited(document, *path, value):
    values = copy.deepcopy(document.to_dict())
    inner = values
    for key in path[:-1]:
        inner = inner[key]
    assert inner.get(path[-1], "nothing") != value
    inner[path[-1]] = value
    return json.dumps(values)


def test_a_true_report_holds(document):
    assert failed(document.to_json()) == []
    assert failed(document.selection.to_json()) == []
    assert failed(report_page(document)) == []


EDITS = {
    "a wider bound": (("selection", "recipe", "study", "response", "upper"), 200.0, "hash"),
    "another radius": (("selection", "recipe", "study", "radius"), 1.0, "hash"),
    "a smaller range": (("selection", "range"), 1.0, "sensitivity"),
    "another model": (("selection", "columns"), [0, 3], "one of those considered"),
    "a column that is none": (("selection", "columns"), [0, 9], "each once and in order"),
    "other names": (("selection", "variables"), ["intercept"], "one of those considered"),
    "a formula that is added": (("selection", "formula"), "income ~ 1", "unknown field `formula`"),
    "a price that does not add up": (("selection", "recipe", "bound_epsilon"), "6", "privacy cost"),
    "a receipt that is too small": (("selection", "receipt", "epsilon"), "1", "receipt"),
    "a direction that is not told": (("selection", "directions", "age"), None, "directions"),
    "a direction of nothing": (("selection", "directions", "shoe size"), "up", "directions"),
    "a direction that is none": (("selection", "directions", "age"), "sideways", "not a dpselect report"),
    "no directions": (("selection", "directions"), {}, "directions"),
    "a rule without directions": (("selection", "recipe", "directions"), False, "directions"),
}


@pytest.mark.parametrize(("path", "value", "what"), EDITS.values(), ids=EDITS)
def test_an_edited_report_does_not(document, path, value, what):
    try:
        found = failed(edited(document, *path, value=value))
    except DataError as refused:
        found = [str(refused)]
    assert any(what in each for each in found) or "not a dpselect report" in found[0], found


def test_a_smaller_epsilon_shows(document):
    """A lower price with the same range is a lie that the receipt and the ledger's record tell."""
    text = edited(document, "selection", "recipe", "guarantee", "epsilon", value="0.5")
    ledger = Ledger(epsilon=10, delta="1e-5")
    assert {"receipt matches the privacy cost", "ledger entry is unchanged"} <= set(failed(text, ledger))


@pytest.fixture(scope="module")
def whole(table, document):
    """A report with coefficients, and the ledger that both were charged to."""
    ledger = Ledger(epsilon=10, delta="1e-5")
    result = analyze(table, document.selection.study, epsilon=6, delta="1e-6", ledger=ledger)
    return AnalysisRecord(title="", made="", selection=result.selection, coefficients=result.coefficients), ledger


RECIPE, DRAW = ("selection", "recipe"), ("coefficients", "released", "asks", 1, 0, "draw")
LIES = {
    "a lower price and receipt for the choice": [
        ((*RECIPE, "guarantee", "epsilon"), "0.1"),
        (("selection", "receipt", "epsilon"), "0.1"),
    ],
    "other neighbours for the choice": [((*RECIPE, "guarantee", "neighbors"), "add-remove-one")],
    "other neighbours for the coefficients": [(("coefficients", "guarantee", "neighbors"), "add-remove-one")],
    "a mechanism that composes better": [((*RECIPE, "mechanism"), "exponential")],
    "fewer rows": [((*RECIPE, "rows"), 30)],
    "no rows": [((*RECIPE, "rows"), None)],
    "candidates over other columns": [((*RECIPE, "candidates", "width"), 9)],
    "fewer blocks": [((*RECIPE, "votes", "blocks"), 7)],
    "a lower threshold": [((*RECIPE, "votes", "threshold"), 1)],
    "the empty model among the candidates": [((*RECIPE, "candidates", "empty"), True)],
    "the printed form of the bound": [((*RECIPE, "as_printed"), True)],
    "a lower price of the noise": [(("coefficients", "released", "mu"), 0.01)],
    "a lower concentrated price": [((*DRAW, "rho"), 1e-9)],
    "a model that was not chosen": [(("coefficients", "selected"), False)],
    "a shorter adjusted interval": [(("coefficients", "terms", 0, "adjusted_lower"), 0.0)],
    "a query with a shorter radius": [(("coefficients", "released", "asks", 1, 0, "query", "radius"), 0.5)],
    "a smaller standard error": [(("coefficients", "terms", 0, "error"), 1e-3)],
    "less noise": [(("coefficients", "terms", 0, "privacy_share"), 0.5)],
    "a better fit": [(("coefficients", "residual_deviation", "value"), 0.1)],
    "a better share": [(("coefficients", "r_squared", "upper"), 0.99)],
    "a smaller visible effect": [(("coefficients", "terms", 1, "visible"), 1e-6)],
    "more rows": [(("coefficients", "rows"), 1e6)],
    "a coefficient that could not be estimated": [(("coefficients", "terms", 1, "value"), None)],
    "half a column": [(("selection", "columns", 0), 0.5)],
    "half a record": [(("selection", "receipt", "index"), 1.5)],
    "a concentrated price in words": [((*DRAW, "rho"), "low")],
}


def test_a_true_report_with_coefficients_holds(whole):
    document, ledger = whole
    assert failed(document.to_json(), ledger) == []
    assert failed(report_page(document), ledger) == []


def test_a_reader_sees_that_coefficients_were_cut_out(whole):
    document, ledger = whole
    cut = json.dumps(document.to_dict() | {"coefficients": None})
    said = [check_report(text, ledger)[0].what for text in (document.to_json(), cut)]
    assert ["a selection and its coefficients" in each for each in said] == [True, False]
    assert "holds a selection, and" in said[1]


@pytest.mark.parametrize("lies", LIES.values(), ids=LIES)
def test_a_lie_does_not_verify_even_with_the_true_ledger(whole, lies):
    document, ledger = whole
    values = copy.deepcopy(document.to_dict())
    for path, value in lies:
        inner = values
        for key in path[:-1]:
            inner = inner[key]
        assert (inner.get(path[-1]) if isinstance(inner, dict) else inner[path[-1]]) != value
        inner[path[-1]] = value
    try:
        assert failed(json.dumps(values), ledger) != []
    except DataError as refused:
        assert "not a dpselect report" in str(refused)


KEPT = "report is the release in the ledger"


def test_another_model_at_the_same_price_is_not_the_release_in_the_ledger(whole):
    """Each alone is a report that could have been: only the ledger knows which one was drawn."""
    document, ledger = whole
    values = document.selection.to_dict()
    names = [column.name for column in document.selection.study.columns]
    less = document.selection.columns[:-1]
    gone = names[document.selection.columns[-1]]
    other = values | {"columns": list(less), "variables": [names[place] for place in less]}
    other["directions"] = {name: way for name, way in values["directions"].items() if name != gone}
    turned = {name: {"up": "down", "down": "up"}.get(way) for name, way in values["directions"].items()}
    for text in (json.dumps(other), json.dumps(values | {"directions": turned})):
        assert failed(text) == []
        assert failed(text, ledger) == [KEPT]


def test_draws_of_another_release_at_the_same_price_are_not_those_in_the_ledger(whole, table):
    """A run without a ledger, drawn until it pleases, with the receipts of one that was charged."""
    document, ledger = whole
    study, columns, found = document.selection.study, document.selection.columns, None
    for _ in range(40):
        again = analyze(table, study, epsilon=6, delta="1e-6")
        if again.selection.columns == columns and again.selection.directions == document.selection.directions:
            found = replace(again.coefficients, receipt=document.coefficients.receipt)
            break
    assert found is not None
    text = replace(document, coefficients=found).to_json()
    assert failed(text) == []
    assert failed(text, ledger) == [KEPT]


def test_another_day_is_not_the_release_in_the_ledger(whole):
    document, ledger = whole
    forged = replace(document, made="1999-01-01").to_json()
    assert failed(forged) == []
    assert failed(forged, ledger) == [KEPT]


def test_of_another_title_it_says_that_the_ledger_does_not_vouch_for_it(whole):
    """`to_html` takes one, so it is no forgery."""
    document, ledger = whole
    for title, said in (("", False), ("Coffee kills", True)):
        text = replace(document, title=title).to_json()
        (found,) = [check for check in check_report(text, ledger) if check.what == KEPT]
        assert found.holds and found.found.endswith("; its title was written after the release") is said


@pytest.fixture(scope="module")
def twice(table, document):
    """Two releases with one model and one price, by themselves and beside another response, and the ledger of both."""
    study, ledger = document.selection.study, Ledger(epsilon=1000, delta="1e-3")
    beside = replace(study, response=Numeric("age", 0, 99), predictors=study.predictors[1:])
    first = analyze(table, study, epsilon=6, delta="1e-6", ledger=ledger)

    def alike(make):
        found = (make() for _ in range(40))
        facts = (first.selection.columns, first.selection.directions)
        return next(each for each in found if (each.selection.columns, each.selection.directions) == facts)

    second = alike(lambda: analyze(table, study, epsilon=6, delta="1e-6", ledger=ledger))
    both = [study, beside]
    part = alike(lambda: analyze_several(table, both, epsilon=12, delta="2e-6", ledger=ledger)[0])
    return first, {"alone": second, "beside another response": part}, ledger


@pytest.mark.parametrize("which", ["alone", "beside another response"])
def test_parts_of_two_releases_are_no_release(twice, which):
    """Each is true, and paid for; the pair was put together by whoever saw both."""
    first, others, ledger = twice
    second = others[which]
    assert failed(first.to_json(), ledger) == failed(second.to_json(), ledger) == []
    for one, other in ((first, second), (second, first)):
        mixed = replace(one, coefficients=other.coefficients).to_json()
        assert failed(mixed) == []
        assert failed(mixed, ledger) == [KEPT]


def test_other_intervals_of_the_same_draws_are_the_release(whole):
    document, ledger = whole
    assert failed(replace(document, coefficients=document.coefficients.with_intervals(0.9)).to_json(), ledger) == []


def test_where_the_text_was_cleared_away_it_is_not_checked(tmp_path, table, document):
    ledger = Ledger(tmp_path / "l.db", epsilon=10, delta="1e-5")
    text = analyze(table, document.selection.study, epsilon=6, delta="1e-6", ledger=ledger).to_json()
    assert failed(text, ledger) == []
    with closing(sqlite3.connect(tmp_path / "l.db")) as connection:
        connection.execute("DELETE FROM outbox WHERE delivered IS NOT NULL")
        connection.commit()
    assert [(check.what, check.answer) for check in check_report(text, ledger) if not check.holds] == [
        (KEPT, "not checked")
    ]


@pytest.mark.parametrize("made", ["2026-11-15x", "20261115", "2026-13-01", "approved by the bureau"])
def test_the_day_of_a_release_is_a_date(document, made):
    assert failed(edited(document, "made", value=made)) == ["date of the release"]


def test_a_page_that_shows_another_price_does_not_verify(document):
    page = report_page(document)
    lie = page.replace("ε = 5", "ε = 0.1")
    assert lie != page
    assert failed(lie) == ["page shows the release inside it"]


def test_a_page_whose_visible_formula_was_edited_does_not_verify(document):
    page = report_page(document)
    formula = document.selection.formula
    head, _, tail = page.partition('<p class="formula">')
    lie = head + '<p class="formula">' + tail.replace(formula, "income ~ 1", 1)
    assert failed(lie) == ["page shows the release inside it"]


def test_the_fingerprint_does_not_depend_on_white_space_or_order(document):
    values = document.to_dict()
    turned = json.dumps(dict(reversed(list(values.items()))))
    assert read_report(turned)[0].hash == document.hash
    assert failed(turned) == []


def test_a_ledger_that_is_another_one_is_noticed(document):
    other = Ledger(epsilon=10, delta="1e-5")
    assert failed(document.to_json(), other) == ["ledger entry is unchanged"]


def test_the_range_is_computed_anew(document):
    recipe = document.selection.recipe
    assert required_range(recipe) == pytest.approx(document.selection.range, rel=1e-12)
    with pytest.raises(StudyError, match="no range for the method 'pcpl'"):  # not PCLS's in its place
        required_range(replace(recipe, method="pcpl", votes=None))


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"format": "dpselect analysis 1"}', "<html></html>", "a,b\n1,2\n"]
)
def test_what_is_no_report_is_one_sentence(text):
    with pytest.raises(DataError, match=r"not a dpselect|neither the JSON"):
        check_report(text)


def test_a_document_survives_its_file(document):
    assert AnalysisRecord.from_dict(json.loads(document.to_json())) == document


def test_another_statistic_is_not_vouched_for(document):
    """Naming one must not turn a rule that was fitted to the rows into one that holds."""
    recipe = document.selection.recipe
    whole = whole_models(recipe)
    rule = replace(whole.votes, threshold=1, statistic="the sign of an estimator's coefficient")
    assert rule_check(replace(whole, votes=rule), software_version()).answer == "not checked"
    assert rule_check(whole, software_version()).answer == "failed"  # of another kind than the public rule's
    fitted = replace(recipe.votes, thresholds=(1,) * len(recipe.votes.thresholds))
    assert rule_check(replace(recipe, votes=fitted), software_version()).answer == "failed"
    assert rule_check(recipe, software_version()).answer == "ok"


NEVER = Study(Numeric("y"), [Numeric("a"), Categorical("c", ["u", "v", "w"]), Numeric("b")])


def chosen(columns, directions, *, told=True, subsets=None):
    recipe = make_recipe(NEVER, Choice("votes", candidates=subsets), rows=5000, epsilon=5)
    assert recipe.directions
    names = tuple(NEVER.columns[j].name for j in columns)
    return Selection(
        columns=columns,
        variables=names,
        directions=directions,
        range=1.0,
        recipe=replace(recipe, directions=told),
        receipt=None,
        version=software_version(),
    )


def test_each_chosen_term_has_one_direction_and_no_other():
    """Columns: the intercept, a, c[v], c[w], b."""
    right = {"a": "up", "c": None, "c[w]": "down"}
    assert directions_check(chosen((0, 1, 2, 3), right)).answer == "ok"
    assert directions_check(chosen((0,), {})).answer == "ok"
    for wrong in (
        {"a": "up", "c": None},
        {"a": None, "c": None, "c[w]": "down"},
        {"a": "up", "c": "up", "c[w]": "down"},
        {"a": "up", "c": None, "c[v]": "up", "c[w]": "down"},
        {"a": "up", "c": None, "c[w]": "down", "b": "up"},
        {"a": "up", "c": None, "c[w]": "down", "b": None},
        {"c": None, "c[w]": "down"},
    ):
        assert directions_check(chosen((0, 1, 2, 3), wrong)).answer == "failed", wrong
    assert directions_check(chosen((0, 1), {"a": None}, told=False)).answer == "failed"  # the rule tells them


def test_what_is_always_in_has_no_direction():
    subsets = Subsets(always=("b",))
    assert directions_check(chosen((0, 1, 4), {"a": "up", "b": None}, subsets=subsets)).answer == "ok"
    assert directions_check(chosen((0, 1, 4), {"a": "up", "b": "up"}, subsets=subsets)).answer == "failed"


def test_where_directions_are_not_told_all_are_unknown():
    recipe = make_recipe(NEVER, Choice("votes"), rows=200, epsilon="0.1")
    assert not recipe.directions
    short = replace(chosen((0, 1), {"a": None}), recipe=recipe)
    assert directions_check(short).answer == "ok"
    assert directions_check(replace(short, directions={"a": "up"})).answer == "failed"
