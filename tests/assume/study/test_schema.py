"""The schema of study files says what the reader of study files says."""

import tomllib
from pathlib import Path

import jsonschema
import pytest

from dpselect.assume.study import Study, study_schema
from dpselect.assume.variables import Binary, Categorical, Numeric
from dpselect.errors import StudyError

VALIDATOR = jsonschema.Draft202012Validator(study_schema())
STUDY = Study(
    Binary("dead", ["no", "yes"], reason="the register"),
    [
        Numeric("age", 0, 110, unit="years"),
        Numeric("dose"),
        Categorical("arm", [1, 2], 2, category_labels=["old", "new"]),
    ],
    terms=["dose", "age", ["age", "arm"]],
    person="patient",
    max_rows_per_person=3,
    rows=900,
)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(study_schema())


def test_what_is_written_fits_the_schema():
    assert list(VALIDATOR.iter_errors(tomllib.loads(STUDY.text()))) == []


def test_the_schema_knows_every_setting_and_every_word():
    parts = study_schema()["$defs"]
    assert set(parts["Study"]["properties"]) == {*Study.__struct_fields__, "formula"}
    for variable in (STUDY.response, *STUDY.predictors):
        assert set(variable.to_dict()) <= set(parts[type(variable).__name__]["properties"])


def test_the_guides_study_fits():
    text = (Path(__file__).parents[3] / "docs/tutorial.md").read_text(encoding="utf-8")
    study = text.split('```toml title="study.toml"\n')[1].split("```")[0]
    assert list(VALIDATOR.iter_errors(tomllib.loads(study))) == []


GOOD = '[response]\nname = "y"\nlower = 0\nupper = 1\n[[predictors]]\nname = "x"\n'


@pytest.mark.parametrize(
    "text",
    [
        GOOD + "lower = 0\n",
        GOOD + 'lower = "?"\nupper = 1\n',
        GOOD + 'categories = ["one"]\n',
        GOOD + 'categories = ["u", "v"]\nlower = 0\nupper = 1\n',
        GOOD + 'colour = "red"\n',
        'missing = "guess"\n' + GOOD,
        "nonsense = 1\n" + GOOD,
        '[response]\nname = "y"\nlower = 0\nupper = 1\npredictors = 3\n',
    ],
)
def test_what_the_reader_refuses_the_schema_refuses(text):
    with pytest.raises(StudyError):
        Study.parse(text)
    assert list(VALIDATOR.iter_errors(tomllib.loads(text))) != []
