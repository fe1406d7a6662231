"""Labels, units and reasons: kept with the statement, never in the way of a study that has none."""

import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric, variable_from_dict
from dpselect.errors import StudyError

LABELLED = Study(
    Numeric("rent", 0, 2000, label="Monthly rent", unit="euro", reason="the housing register's form"),
    [
        Numeric("size", label="Size", unit="m²"),
        Binary("lift", [0, 1], category_labels=["none", "with a lift"]),
        Categorical(
            "district", ["c", "n"], category_labels=["Centre", "North"], label="District", reason="the town's map"
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
    assert Study.parse(LABELLED.text()) == LABELLED


def test_words_change_the_hash_and_are_left_out_where_there_are_none():
    plain = Study(Numeric("y", 0, 1), [Categorical("c", ["u", "v"])])
    assert plain.to_dict()["predictors"] == [
        {"kind": "category", "name": "c", "categories": ["u", "v"], "reference": "u"}
    ]
    assert Study(Numeric("y", 0, 1, label="Y"), plain.predictors).hash != plain.hash


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Numeric("a", 0, 1, label=3), "label of 'a' is 3"),
        (lambda: Numeric("a", 0, 1, unit="x" * 301), "at most 300"),
        (lambda: Numeric("a", 0, 1, reason="two\nlines"), "one line"),
        (lambda: Categorical("a", ["u", "v"], category_labels="uv"), "a list of texts"),
        (lambda: Categorical("a", ["u", "v"], category_labels=["one"]), "1 category_labels for 2 categories"),
        (lambda: Binary("a", [0, 1], category_labels=["same", "same"]), "label each differently"),
        (lambda: Binary("a", [0, 1], category_labels=["no", None]), "must be text"),
        (
            lambda: variable_from_dict({"name": "a", "lower": 0, "upper": 1, "category_labels": ["u"]}),
            "both categories and a range",
        ),
    ],
)
def test_words_that_no_page_could_show_are_refused(make, words):
    with pytest.raises(StudyError, match=words):
        make()


def test_words_stand_in_what_is_printed_only_where_they_are_given():
    assert repr(Numeric("rent", 0, 2000)) == "Numeric(name='rent', lower=0.0, upper=2000.0)"
    assert "label='Monthly rent'" in repr(LABELLED.response)
