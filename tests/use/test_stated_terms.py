"""What is stated of terms: always in, one of a group, products with their parts; in Python, a study file, a command, the report."""

import json

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv

import dpselect
from dpselect.assume.candidates import candidates_for, columns_of
from dpselect.errors import StudyError
from dpselect.report.page import report_page
from dpselect.report.selection_checks import selection_checks
from dpselect.use.command_line import dpselect as commands

NAMES = ("age", "school", "income", "wealth", "luck")
PREDICTORS = [dpselect.Numeric(name, -4, 4) for name in NAMES]
TERMS = [*NAMES, ["age", "school"], ["income", "luck"]]
STATED = {"terms": TERMS, "always": ["luck"], "one_of": [["income", "wealth"]], "hierarchy": True}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(26)
    x = rng.normal(size=(4000, len(NAMES)))
    y = x[:, 0] * x[:, 1] + 0.5 * x[:, 2] + rng.normal(size=4000)
    return pa.table({**dict(zip(NAMES, x.T, strict=True)), "y": y})


@pytest.fixture(scope="module")
def analysis(people):
    study = dpselect.Study(dpselect.Numeric("y", -9, 9), PREDICTORS, **STATED)
    return dpselect.analyze(people, study, epsilon=3)


def test_the_model_has_what_was_stated(analysis):
    assert set(analysis.selection.variables) == {"intercept", "luck", "income", "age", "school", "age:school"}
    assert analysis.selection.always == ("luck",)


def test_no_direction_is_told_of_parts_and_of_what_was_not_selected(analysis):
    ways = analysis.selection.directions
    assert (ways["age"], ways["school"], ways["luck"]) == (None, None, None)
    assert (ways["age:school"], ways["income"]) == ("up", "up")
    failed = [check.what for check in selection_checks(analysis.selection) if check.holds is False]
    assert not failed


def test_the_report_says_it(analysis):
    page = " ".join(report_page(analysis).split())
    assert "in every model, not selected: luck" in page
    assert "exactly one of income, wealth" in page
    assert "products only with their parts" in page
    assert "In every model by statement, not selected, is" in str(analysis).replace("\n", " ")
    assert "were selected, without" not in str(analysis).replace("\n", " ")


def test_a_study_file_keeps_it_and_a_study_without_it_hashes_as_before(tmp_path):
    study = dpselect.Study(dpselect.Numeric("y"), PREDICTORS, **STATED)
    study.write(tmp_path / "study.toml")
    assert dpselect.Study.read(tmp_path / "study.toml") == study
    assert "always" not in dpselect.Study(dpselect.Numeric("y"), PREDICTORS).to_dict()


def test_the_factors_of_a_product_in_any_order():
    study = dpselect.Study(dpselect.Numeric("y"), PREDICTORS, terms=TERMS, always=["school:age"])
    assert study.always == ("age:school",)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"always": ["lukc"]}, "no term of the study"),
        ({"always": "luck"}, "a list of terms"),
        ({"one_of": "income"}, "a list of groups"),
        ({"one_of": [["income"]]}, "two terms or more"),
        ({"always": ["income"], "one_of": [["income", "wealth"]]}, "stated twice"),
        ({"hierarchy": 2}, "true or false"),
        ({"hierarchy": True, "terms": [*NAMES[1:], ["age", "school"]]}, "'age' as a term of its own"),
    ],
)
def test_what_cannot_hold_is_refused(stated, said):
    with pytest.raises(StudyError, match=said):
        dpselect.Study(dpselect.Numeric("y"), PREDICTORS, **stated)


def test_models_named_one_by_one_are_refused_beside_it(people):
    study = dpselect.Study(dpselect.Numeric("y"), PREDICTORS, **STATED)
    with pytest.raises(StudyError, match="one or the other"):
        dpselect.select(people, study, epsilon=1, candidates=[["age"], ["school"]])


def test_parts_of_what_is_always_in_are_always_in():
    study = dpselect.Study(
        dpselect.Numeric("y"), PREDICTORS, terms=TERMS, always=["age:school"], hierarchy=True, rows=9
    )
    names = [study.columns[place].name for place in columns_of(candidates_for(study).always)]
    assert names == ["intercept", "age", "school", "age:school"]


def test_many_terms_are_listed_and_tell_no_direction(people):
    more = {f"more{j}": np.random.default_rng(j).normal(size=4000) for j in range(15)}
    table = pa.table({name: people[name] for name in people.column_names} | more)
    predictors = [*PREDICTORS[:2], *(dpselect.Numeric(name, -4, 4) for name in more)]
    terms = ["age", "school", *more, ["age", "school"]]
    study = dpselect.Study(dpselect.Numeric("y", -9, 9), predictors, terms=terms, hierarchy=True)
    selection = dpselect.select(table, study, epsilon=8)
    assert set(selection.variables) >= {"age", "school", "age:school"}
    assert not selection.recipe.directions


def test_the_command(people, tmp_path):
    csv.write_csv(people, tmp_path / "people.csv")
    dpselect.Study(dpselect.Numeric("y", -9, 9), PREDICTORS, terms=TERMS).write(tmp_path / "study.toml")
    options = ["--always", "luck", "--one-of", "income,wealth", "--hierarchy", "--epsilon", "3", "--yes", "--json"]
    places = [str(tmp_path / "study.toml"), str(tmp_path / "people.csv")]
    answer = CliRunner().invoke(commands, ["select", *places, *options, "-o", str(tmp_path / "selection.json")])
    assert answer.exit_code == 0, answer.output
    found = json.loads((tmp_path / "selection.json").read_text())
    assert {"luck", "age", "school", "age:school"} <= set(found["variables"])
