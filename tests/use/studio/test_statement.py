"""What is typed into the form becomes the study file that the commands read; what is wrong is said beside its field."""

import pytest

from dpselect.assume.study import Study
from dpselect.gather.sources.schema import ColumnType
from dpselect.use.init import code_and_label
from dpselect.use.studio.forms import (
    EMPTY,
    STRUCTURE,
    Entry,
    entries_of_form,
    entries_of_study,
    holds_already,
    save_study,
    structure_texts,
    study_values,
    values_of_entries,
    values_of_settings,
    with_code_book,
)

COLUMNS = [
    ColumnType("age", "number", "int64"),
    ColumnType("region", "text", "string"),
    ColumnType("smoker", "boolean", "bool"),
    ColumnType("seen", "date", "date32[day]"),
    ColumnType("income", "number", "double"),
]
AGE = Entry(name="age", kind="number", use="predictor", lower="18", upper="90")
INCOME = Entry(name="income", kind="number", use="response", lower="0", upper="1e5")


def problems_of(*entries, before=None):
    return values_of_entries(list(entries), before or {})[1]


def test_a_new_table_offers_what_can_be_used():
    entries = entries_of_study({}, COLUMNS)
    assert [(each.name, each.kind, each.use) for each in entries] == [
        ("age", "number", "predictor"),
        ("region", "text", "none"),
        ("smoker", "number", "predictor"),
        ("seen", "date32[day]", "none"),
        ("income", "number", "predictor"),
    ]


def test_a_study_comes_back_as_it_was_saved(tmp_path):
    study = tmp_path / "study.toml"
    region = Entry(
        name="region",
        kind="text",
        use="predictor",
        categories="north\nsouth, east\nwest",
        label="Where",
        reason="The map.",
    )
    age = Entry(name="age", kind="number", use="predictor", lower="18", upper="90", unit="years")
    values, problems = values_of_entries([age, region, INCOME], {})
    assert problems == {}
    save_study(values, study)
    assert holds_already(values, study)
    stated = Study.read(study)
    assert stated.predictors[1].categories == ("north", "south, east", "west")
    assert (stated.predictors[1].label, stated.predictors[0].unit) == ("Where", "years")
    again = entries_of_study(study_values(study), COLUMNS)
    assert {each.name: each.use for each in again} == {
        "age": "predictor",
        "region": "predictor",
        "smoker": "none",
        "seen": "none",
        "income": "response",
    }
    values, problems = values_of_entries(again, study_values(study))
    assert (Study.from_dict(values), problems) == (stated, {})


def test_what_the_form_does_not_show_is_kept(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(
        'intercept = "candidate"\nneighbors = "add-remove-one"\n[response]\nname = "income"\nlower = 0\nupper = 10\n'
        '[[predictors]]\nname = "region"\ncategories = ["a", "b", "c"]\nreference = "b"\ncategory_labels = ["A", "B", "C"]\n'
    )
    before = study_values(study)
    values, problems = values_of_entries(entries_of_study(before, COLUMNS), before)
    assert problems == {}
    assert Study.from_dict(values) == Study.read(study)


@pytest.mark.parametrize("limits", ["", "lower = 0\nupper = 50\n"])
def test_a_count_stays_a_count(tmp_path, limits):
    study = tmp_path / "study.toml"
    study.write_text(f'[response]\nname = "income"\nkind = "count"\n{limits}[[predictors]]\nname = "age"\n')
    before = study_values(study)
    values, problems = values_of_entries(entries_of_study(before, COLUMNS), before)
    assert problems == {}
    assert Study.from_dict(values) == Study.read(study)


def test_the_default_radius_follows_the_bounds(tmp_path):
    study = tmp_path / "study.toml"
    save_study(values_of_entries([AGE, INCOME], {})[0], study)
    assert "radius = 50000.0" in study.read_text()
    wider = Entry(name="income", kind="number", use="response", lower="0", upper="2e5")
    save_study(values_of_entries([AGE, wider], study_values(study))[0], study)
    assert Study.read(study).radius == 1e5
    study.write_text(study.read_text().replace("radius = 100000.0", "radius = 7.0"))
    assert study_values(study)["radius"] == 7


def test_bounds_may_stay_open():
    age = Entry(name="age", kind="number", use="predictor")
    values, problems = values_of_entries([age, INCOME], {})
    assert problems == {}
    assert Study.from_dict(values).unbounded == ("age",)


def test_a_response_with_two_levels_is_no_or_yes():
    died = Entry(name="died", kind="text", use="response", categories="no, yes")
    values, problems = values_of_entries([AGE, died], {})
    assert problems == {}
    assert type(Study.from_dict(values).response).__name__ == "Binary"


def test_zeros_and_ones_are_suggested_as_no_or_yes_and_a_study_that_says_otherwise_stays():
    column = ColumnType("member", "number", "int64", zero_one=True)
    (entry,) = entries_of_study({}, [column])
    assert entry.categories == "0\n1"
    values, problems = values_of_entries([entry, INCOME], {}, [column])
    assert problems == {} and values["predictors"][0]["kind"] == "binary"
    values["predictors"] = [{"name": "member", "kind": "category", "categories": [0, 1], "reference": 1}]
    kept, problems = values_of_entries([entry, INCOME], values, [column])
    assert problems == {} and kept["predictors"][0].get("kind") != "binary" and kept["predictors"][0]["reference"] == 1


def test_codes_are_whole_numbers_and_their_labels_come_from_the_code_book():
    column = ColumnType("sex", "number", "int8", label="Sex", categories=((1, "man"), (2, "woman")))
    (entry,) = entries_of_study({}, [column])
    assert (entry.label, entry.categories) == ("Sex", "1\n2")
    values, problems = values_of_entries([entry, INCOME], {}, [column])
    assert problems == {}
    assert values["predictors"][0] == {
        "name": "sex",
        "label": "Sex",
        "categories": [1, 2],
        "category_labels": ["man", "woman"],
    }


@pytest.mark.parametrize(
    ("entry", "where", "said"),
    [
        ({"lower": "90", "upper": "18"}, "upper.0", "Put the smaller number first"),
        ({"lower": "x", "upper": "18"}, "lower.0", "'x' is not a number"),
        ({"lower": "0", "upper": "1,5"}, "upper.0", "without separators"),
        ({"lower": "0", "upper": "nan"}, "upper.0", "must be finite"),
        ({"lower": "0"}, "upper.0", "one limit"),
        ({"lower": "0", "upper": "1", "categories": "1\n2"}, "categories.0", "both categories and a range"),
        ({"categories": "1"}, "categories.0", "at least two"),
        ({"lower": "0", "upper": "1", "label": "x" * 999}, "label.0", "one line"),
        ({"kind": "text"}, "categories.0", EMPTY),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(entry, where, said):
    found = problems_of(Entry(**{"name": "age", "kind": "number", "use": "predictor", **entry}), INCOME)
    assert list(found) == [where]
    assert said in found[where]


def test_one_variable_is_to_be_explained():
    assert list(problems_of(AGE)) == ["use.0"]
    assert list(problems_of(INCOME, AGE, Entry(name="b", kind="number", use="response", lower="0", upper="1"))) == [
        "use.2"
    ]


def test_what_is_wrong_with_the_whole_is_said_above():
    found = problems_of(AGE, Entry(name="intercept", kind="number", use="predictor", lower="0", upper="1"), INCOME)
    assert list(found) == ["form"]
    assert "rename it" in found["form"]


def test_fields_are_read_by_their_numbers():
    form = {"name.2": "b", "use.2": "response", "name.0": "a", "use.0": "hack", "name.x": "c", "lower.9": "3"}
    assert [(each.name, each.use) for each in entries_of_form(form)] == [("a", "none"), ("b", "response")]


def test_settings():
    before = values_of_entries([AGE, INCOME], {})[0]
    form = {
        "neighbors": "add-remove-one",
        "missing": "midpoint",
        "person": "id",
        "max_rows_per_person": "3",
        "rows": "9,000",
    }
    values, problems = values_of_settings(form, before)
    assert problems == {}
    stated = Study.from_dict(values)
    assert (stated.neighbors, stated.missing, stated.person, stated.max_rows_per_person, stated.rows) == (
        "add-remove-one",
        "midpoint",
        "id",
        3,
        9000,
    )
    assert "person" not in values_of_settings({**form, "person": "", "max_rows_per_person": ""}, values)[0]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"max_rows_per_person": "many"}, "max_rows_per_person"),
        ({"max_rows_per_person": "0", "person": "id"}, "max_rows_per_person"),
        ({"rows": "-3"}, "rows"),
        ({"neighbors": "none"}, "form"),
        ({"max_rows_per_person": "3"}, "form"),
    ],
)
def test_settings_that_cannot_be(change, where):
    before = values_of_entries([AGE, INCOME], {})[0]
    form = {"neighbors": "replace-one", "missing": "error", "person": "", "max_rows_per_person": "", **change}
    assert list(values_of_settings(form, before)[1]) == [where]


def test_clusters_subgroups_and_stated_terms_are_settings_too():
    before = values_of_entries([AGE, INCOME], {})[0]
    form = {
        "neighbors": "add-remove-one",
        "missing": "error",
        "rows": "900",
        "cluster": "village",
        "only": "sex=f\nyear=2019|2020\nage=18..65",
        "always": "age",
        "one_of": "",
        "hierarchy": "yes",
    }
    values, problems = values_of_settings(form, before)
    assert problems == {}
    stated = Study.from_dict(values)
    assert (stated.cluster, stated.always, stated.hierarchy) == ("village", ("age",), True)
    assert structure_texts(values) == {name: form[name] for name in STRUCTURE}
    assert values_of_settings({**form, "only": "sex"}, before)[1].keys() == {"only"}
    del form["cluster"], form["only"], form["always"], form["one_of"], form["hierarchy"]
    assert Study.from_dict(values_of_settings(form, values)[0]) == stated  # a form without them changes nothing


def test_weights_are_settings_of_the_study_and_no_variable():
    before = values_of_entries([AGE, INCOME], {})[0]
    form = {
        "neighbors": "replace-one",
        "missing": "error",
        "weights": "wt",
        "weight_limit": "1,250.5",
        "population": "9e6",
    }
    values, problems = values_of_settings(form, before)
    assert problems == {}
    stated = Study.from_dict(values)
    assert (stated.weights, stated.weight_limit, stated.population) == ("wt", 1250.5, 9e6)
    listed = [*COLUMNS, ColumnType("wt", "number", "double")]
    assert "wt" not in [each.name for each in entries_of_study(values, listed)]
    assert list(values_of_settings({**form, "population": "many"}, before)[1]) == ["population"]
    assert list(values_of_settings({**form, "weight_limit": ""}, before)[1]) == ["weights"]
    assert "weights" not in values_of_settings({**form, "weights": "", "weight_limit": "", "population": ""}, values)[0]


def test_a_code_book_fills_the_form_and_leaves_what_it_does_not_say():
    form = {
        **{"name.0": "age", "kind.0": "number", "use.0": "predictor", "lower.0": "1", "unit.0": "years"},
        **{"name.1": "region", "kind.1": "text", "use.1": "none", "categories.1": ""},
        **{"name.2": "sex", "kind.2": "number", "use.2": "none", "categories.2": ""},
    }
    book = {
        "age": {"lower": 18, "upper": 90, "label": "Age"},
        "region": {"categories": ["north", "south"]},
        "sex": {"categories": [1, 2], "category_labels": ["men", "women"]},
        "other": {"lower": 0},
    }
    age, region, sex = entries_of_form(with_code_book(form, book))
    assert (age.lower, age.upper, age.label, age.unit) == ("18", "90", "Age", "years")
    assert (region.use, region.categories) == ("predictor", "north\nsouth")
    assert (sex.use, sex.categories) == ("none", "1 = men\n2 = women")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1=men", ("1", "men")),
        ("a = b = c", ("a", "b = c")),
        ("1. <=Good", ("1. <=Good", "")),
        (">=2 = two", (">=2", "two")),
    ],
)
def test_a_code_and_its_label(text, found):
    assert code_and_label(text) == found
