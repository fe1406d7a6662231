"""Labels, units and reasons: kept with the statement, never in the way of a study that has none."""

import pytest

from dpselect.assume.models.tuning import tuned_assumptions
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.study_file import format_assumptions, parse_assumptions
from dpselect.assume.study.variables import Binary, Categorical, Numeric, variable_from_dict
from dpselect.errors import AssumptionError

LABELLED = Assumptions(
    Numeric("rent", 0, 2000, label="Monthly rent", unit="euro", reason="the housing register's form"),
    [
        Numeric("size", label="Size", unit="m²"),
        Binary("lift", [0, 1], level_labels=["none", "with a lift"]),
        Categorical(
            "district", ["c", "n"], level_labels=["Centre", "North"], label="District", reason="the town's map"
        ),
    ],
)


@pytest.mark.parametrize("variable", [LABELLED.response, *LABELLED.predictors], ids=lambda variable: variable.name)
def test_words_survive_a_dictionary(variable):
    again = variable_from_dict(variable.to_dict())
    assert again == variable
    assert again.to_dict() == variable.to_dict()
    assert (again.label, again.unit, again.reason) == (variable.label, variable.unit, variable.reason)


def test_words_survive_a_study_file():
    assert parse_assumptions(format_assumptions(LABELLED)) == LABELLED


def test_a_study_without_words_has_the_hash_it_always_had():
    plain = Assumptions(Numeric("y", 0, 1), [Categorical("c", ["u", "v"])])
    assert plain.to_dict()["predictors"] == [{"name": "c", "levels": ["u", "v"], "reference": "u"}]
    assert plain.hash == "2329629b91727f40c74a91e8cf85524b95866220e8af791bee72628851f04723"
    assert Assumptions(Numeric("y", 0, 1, label="Y"), plain.predictors).hash != plain.hash


def test_a_response_whose_bounds_were_bought_keeps_its_name_and_loses_its_reason():
    bounded = Assumptions(LABELLED.response, LABELLED.predictors[1:])
    tuned = tuned_assumptions(bounded, 100, 900).response
    assert (tuned.label, tuned.unit, tuned.reason) == ("Monthly rent", "euro", "")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Numeric("a", 0, 1, label=3), "label of 'a' is 3"),
        (lambda: Numeric("a", 0, 1, unit="x" * 301), "at most 300"),
        (lambda: Numeric("a", 0, 1, reason="two\nlines"), "one line"),
        (lambda: Categorical("a", ["u", "v"], level_labels="uv"), "a list of texts"),
        (lambda: Categorical("a", ["u", "v"], level_labels=["one"]), "1 level_labels for 2 levels"),
        (lambda: Binary("a", [0, 1], level_labels=["same", "same"]), "label each differently"),
        (lambda: Binary("a", [0, 1], level_labels=["no", None]), "must be text"),
        (
            lambda: variable_from_dict({"name": "a", "lower": 0, "upper": 1, "level_labels": ["u"]}),
            "both levels and bounds",
        ),
    ],
)
def test_words_that_no_page_could_show_are_refused(make, words):
    with pytest.raises(AssumptionError, match=words):
        make()


def test_words_are_not_in_the_way_when_a_variable_is_printed():
    assert repr(LABELLED.response) == "Numeric(name='rent', lower=0.0, upper=2000.0)"
