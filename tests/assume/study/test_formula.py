import builtins

import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import StudyError

VARIABLES = [
    Numeric("price", 0, 1000),
    Numeric("size", 0, 10),
    Numeric("year", 1900, 2000),
    Numeric("my col", 0, 1),
    Categorical("county", ["Marin", "Napa"]),
]


def columns(formula: str, **settings) -> list[str]:
    return [column.name for column in Study.from_formula(formula, VARIABLES, **settings).columns]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("price ~ size + C(county) + size:year", ["intercept", "size", "county[Napa]", "size:year"]),
        ("price ~ size*year", ["intercept", "size", "year", "size:year"]),
        ("price ~ (size + year + county)**2 - county", None),
        ("price ~ size/year", ["intercept", "size", "size:year"]),
        ("price ~ 0 + size", ["size"]),
        ("price ~ size - 1", ["size"]),
        ("price ~ size + I(size**2)", ["intercept", "size", "size:size"]),
        ("price ~ `my col` + county:`my col`", ["intercept", "my col", "my col:county[Napa]"]),
        ("price ~ C( county )", ["intercept", "county[Napa]"]),
        ("price ~ 1", ["intercept"]),
    ],
)
def test_formulas_become_terms(formula, expected):
    found = columns(formula)
    if expected is None:
        expected = ["intercept", "size", "year", "size:year", "size:county[Napa]", "year:county[Napa]"]
    assert found == expected


def test_variables_that_a_formula_does_not_use_are_left_out():
    assert [variable.name for variable in Study.from_formula("price ~ year", VARIABLES).predictors] == ["year"]


def test_a_formula_of_plain_names_is_the_study_without_one():
    plain = Study(VARIABLES[0], [VARIABLES[1], VARIABLES[4]], missing="zero-row")
    assert Study.from_formula("price ~ size + county", VARIABLES, missing="zero-row").hash == plain.hash


def test_the_intercept_may_be_a_candidate():
    assert Study.from_formula("price ~ size", VARIABLES, intercept="candidate").intercept == "candidate"
    with pytest.raises(StudyError, match="disagree"):
        Study.from_formula("price ~ 0 + size", VARIABLES, intercept="always")
    with pytest.raises(StudyError, match="disagree"):
        Study.from_formula("price ~ size", VARIABLES, intercept="none")


@pytest.mark.parametrize("function", ["scale", "center", "poly", "bs", "cs", "standardize"])
def test_transforms_that_learn_from_rows_are_refused_with_the_reason(function):
    with pytest.raises(StudyError, match=rf"{function}\(\.\.\.\), which learns from the rows"):
        columns(f"price ~ {function}(size, 3)")


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("price ~ np.log(size)", "range does not follow"),
        ("price ~ {size + year}", "range does not follow"),
        ("price ~ I(size**9)", "range does not follow"),
        ("price ~ C(county, contr.sum)", "range does not follow"),
        ("price ~ C(size)", "'size' has no categories"),
        ("price ~ height", "'height', which is not among the variables"),
        ("price ~ price + size", "also on the right side"),
        ("log(price) ~ size", "must be the name of one numeric variable"),
        ("county ~ size", "must be the name of one numeric variable"),
        ("price + year ~ size", "must be the name of one numeric variable"),
        ("size + year", "cannot be read"),
        ("price ~ .", "cannot be read"),
        ("price ~ size +", "cannot be read"),
        ("price ~ size | year", "cannot be read"),
        ("price ~ 2*size", "cannot be read"),
        ("", "cannot be read"),
        (7, "must be a string"),
    ],
)
def test_formulas_that_cannot_be_are_refused_in_one_sentence(formula, sentence):
    with pytest.raises(StudyError, match=sentence) as caught:
        Study.from_formula(formula, VARIABLES)
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value) and str(caught.value).endswith(".")


STUDY = """
formula = "price ~ size + size:year"
missing = "midpoint"
[response]
name = "price"
lower = 0
upper = 1000
[[predictors]]
name = "size"
lower = 0
upper = 10
[[predictors]]
name = "year"
lower = 1900
upper = 2000
"""


def test_a_study_file_may_have_a_formula():
    study = Study.parse(STUDY)
    assert study == Study.from_formula("price ~ size + size:year", VARIABLES, missing="midpoint")
    assert Study.parse(STUDY.replace("price ~", "price ~ 0 +")).intercept == "none"
    with pytest.raises(StudyError, match="both a formula and terms"):
        Study.parse('terms = ["size"]\n' + STUDY)


def test_without_formulaic_the_sentence_says_how_to_get_it(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "formulaic":
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(StudyError, match=r"pip install 'dpselect\[formulas\]'"):
        Study.from_formula("price ~ size", VARIABLES)
