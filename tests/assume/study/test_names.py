"""Names come from files and may hold anything: what is said about them is one line, and no study takes what cannot be printed."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.assume.study import Study
from dpselect.assume.study_file import toml
from dpselect.assume.subgroup import Only
from dpselect.assume.variables import (
    MAX_NAME_LENGTH,
    Binary,
    Categorical,
    Numeric,
    check_name,
    is_printable,
    shown,
    variable_from_dict,
)
from dpselect.errors import StudyError

HOSTILE = [
    "a\nb",
    'x\n[response]\nname = "z"',
    "\x1b[2J\x1b[1;31mgone",
    "tab\tbetween",
    "\x00",
    "line\u2028separator",
    "abc\u202etxt.exe",
    "\ud800",
    "c1 \x9b31m",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_cannot_be_printed_are_refused_in_one_printable_sentence(name):
    for state in (check_name, Numeric, lambda each: Binary(each, [0, 1]), lambda each: Categorical(each, ["u", "v"])):
        with pytest.raises(StudyError, match="cannot be printed: rename the column") as caught:
            state(name)
        assert is_printable(str(caught.value))
    with pytest.raises(StudyError, match="cannot be printed"):
        Study(Numeric("y", 0, 1), [Numeric("a", 0, 1)], person=name, max_rows_per_person=1)


@pytest.mark.parametrize("category", [*HOSTILE, "north\n", "north\r"])
def test_categories_that_cannot_be_printed_are_refused_in_one_printable_sentence(category):
    """They reached the terminal and the exports as they are."""
    for state in (
        lambda: Binary("c", ["u", category]),
        lambda: Categorical("c", ["u", category]),
        lambda: Only("c", [category]),
    ):
        with pytest.raises(StudyError, match="of 'c' holds characters that cannot be printed: rename it") as caught:
            state()
        assert is_printable(str(caught.value))


@pytest.mark.parametrize(
    "name", ["größe", "سن", "年齢", "a b", "size (m²)", "non\u00a0breaking", "क्ष\u200dत", "x.y", "-", "😀"]
)
def test_names_that_people_use_are_taken(name):
    check_name(name)
    Categorical("c", ["u", name])


def test_long_names_and_levels_are_refused_shortly():
    for state in (lambda: Numeric("a" * (MAX_NAME_LENGTH + 1)), lambda: Categorical("c", ["u", "v" * 1001])):
        with pytest.raises(StudyError) as caught:
            state()
        assert len(str(caught.value)) < 300


@given(st.text())
def test_whatever_text_there_is_toml_reads_back_from_one_line(text):
    line = toml(text)
    assert is_printable(line) and "\n" not in line
    if not any("\ud800" <= each <= "\udfff" for each in text):
        assert tomllib.loads(f"x = {line}")["x"] == text


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text() | st.integers(), st.lists))
def test_values_are_shown_shortly_and_on_one_line(value):
    assert is_printable(shown(value)) and len(shown(value)) <= 10 * 124


def test_huge_values_are_shown_too():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for value in (10**5000, [10**5000], deep, "a" * 10**6):
        assert len(shown(value)) < 200


STUDY = """
{}
[response]
name = "y"
lower = 0
upper = 1

[[predictors]]
name = "a"
lower = 0
upper = 1
"""


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("terms = -inf", "terms is -inf; it must be a list"),
        ("terms = 1979-05-27", "terms is datetime"),
        ("terms = [[[]]]", "A term is"),
        ("radius = " + "9" * 400, "radius is 9.*it must be a number below 1e308"),
        ("radius = " + "9" * 5000, "not valid TOML"),
        ("radius = " + "[" * 100_000, "not valid TOML"),
        ("person = 7", "A variable is named 7"),
        ("rows = [1]", r"rows is \[1\]"),
        ("intercept = []", r"intercept is \[\]"),
        ("neighbors = nan", "neighbors is nan"),
        ('"a\\nb" = 1', r"'a\\nb' is not an assumption"),
        ("\x1b = 1", "not valid TOML"),
    ],
)
def test_study_files_with_values_of_a_wrong_type_end_in_one_sentence(line, sentence):
    with pytest.raises(StudyError, match=sentence) as caught:
        Study.parse(STUDY.format(line))
    assert is_printable(str(caught.value)) and len(str(caught.value)) < 400


@pytest.mark.parametrize("values", [None, [], 7, "text", {"name": "a", "lower": [], "upper": 1}, {"name": []}])
def test_variables_of_a_wrong_type_end_in_one_sentence(values):
    with pytest.raises(StudyError):
        variable_from_dict(values)
    with pytest.raises(StudyError):
        Study.from_dict({"response": {"name": "y"}, "predictors": [values]})
    for whole in (values, {"response": values, "predictors": []}, {"response": {"name": "y"}, "predictors": values}):
        if whole != {"response": {"name": "y"}, "predictors": []}:
            with pytest.raises(StudyError):
                Study.from_dict(whole)


def test_products_of_categories_are_counted_before_they_are_listed():
    levels = [f"level {i}" for i in range(1000)]
    predictors = [Categorical(name, levels) for name in "abcd"]
    with pytest.raises(StudyError, match="996,005,996,001 columns, and the most is 20,000"):
        Study(Numeric("y", 0, 1), predictors, terms=[["a", "b", "c", "d"]])
