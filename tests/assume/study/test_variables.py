import math

import numpy as np
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import GRID, Binary, Categorical, Count, Numeric, variable_from_dict
from dpselect.errors import StudyError


def test_a_number_knows_its_middle_and_half_width():
    size = Numeric("size", 0, 3000)
    assert (size.middle, size.half_width) == (1500, 1500)
    assert size == Numeric("size", 0.0, np.float64(3000))


def test_the_reference_is_the_first_level_unless_named():
    assert Categorical("c", ["a", "b", "d"]).dummies == ("b", "d")
    assert Categorical("c", ["a", "b", "d"], "b").dummies == ("a", "d")
    assert Categorical("c", (3, 1)).reference == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Numeric("", 0, 1), "non-empty"),
        (lambda: Numeric(3, 0, 1), "non-empty"),
        (lambda: Numeric("a", 1, 0), "smaller number first"),
        (lambda: Numeric("a", 1, 1), "smaller number first"),
        (lambda: Numeric("a", math.nan, 1), "finite"),
        (lambda: Numeric("a", 0, math.inf), "finite"),
        (lambda: Numeric("a", "x", 1), "must be a number"),
        (lambda: Numeric("a", True, 2), "must be a number"),
        (lambda: Numeric("a", None, 2), "one limit"),
        (lambda: Numeric("a", -1e308, 1e308), "other units"),
        (lambda: Numeric("a", 0, 1e-200), "other units"),
        (lambda: Categorical("c", "abc"), "list"),
        (lambda: Categorical("c", 3), "list"),
        (lambda: Categorical("c", ["a"]), "at least two"),
        (lambda: Categorical("c", ["a", "a"]), "twice"),
        (lambda: Categorical("c", ["a", 1]), "all strings"),
        (lambda: Categorical("c", [True, False]), "all strings"),
        (lambda: Categorical("c", ["a", "b"], "z"), "'z' is not a category"),
        (lambda: variable_from_dict({"name": "a", "lower": 0}), "lower and upper"),
        (lambda: variable_from_dict({"name": "a", "lower": 0, "upper": 1, "categories": ["x", "y"]}), "both"),
        (lambda: variable_from_dict({"name": "a", "lower": 0, "upper": 1, "color": "red"}), "color"),
        (lambda: variable_from_dict({"lower": 0}), "non-empty"),
    ],
)
def test_impossible_statements_are_refused_in_one_sentence(make, message):
    with pytest.raises(StudyError, match=message):
        make()


@pytest.mark.parametrize(
    "variable", [Numeric("a", -1.5, 2), Categorical("c", ["x", "y"], "y"), Categorical("k", [2, 7])]
)
def test_a_variable_survives_plain_values(variable):
    assert variable_from_dict(variable.to_dict()) == variable


def test_a_number_may_leave_its_bounds_open_and_says_so_when_they_are_needed():
    size = Numeric("size")
    assert not size.bounded
    assert variable_from_dict(size.to_dict()) == size
    with pytest.raises(StudyError, match="'size' has no range"):
        size.scale  # noqa: B018
    with pytest.raises(StudyError, match="one limit"):
        Numeric("size", lower=0)


def test_a_binary_variable_is_zero_and_one():
    died = Binary("died", ["no", "yes"])
    assert (died.bounds, died.middle, died.half_width, died.scale) == ((0.0, 1.0), 0.5, 0.5, 2 * GRID)
    assert variable_from_dict(died.to_dict()) == died
    with pytest.raises(StudyError, match="has two, no and yes"):
        Binary("died", ["no", "yes", "unknown"])
    with pytest.raises(StudyError, match="first category counts as 0"):
        variable_from_dict({"name": "died", "kind": "binary", "categories": [0, 1], "reference": 1})


def test_a_count_is_a_whole_number_from_zero():
    visits = Count("visits")
    assert not visits.bounded and Study(visits, [Numeric("x", 0, 1)]).unbounded == ("visits",)
    limited = Count("visits", upper=50)
    assert limited.bounds == (0, 50) and limited == Count("visits", 0, 50)
    study = Study(limited, [Numeric("x", 0, 1)])
    assert Study.parse(study.text()) == study and isinstance(Study.parse(study.text()).response, Count)
    assert variable_from_dict({"name": "visits", "kind": "count"}) == visits
    for wrong in ({"lower": 1, "upper": 5}, {"upper": 2.5}, {"upper": 2**20 + 1}):
        with pytest.raises(StudyError, match="must be 0 and a whole number"):
            Count("visits", **wrong)
    with pytest.raises(StudyError, match="only a response can be"):
        Study(Numeric("y"), [visits])
