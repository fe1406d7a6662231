import math

import numpy as np
import pytest

from dpselect.assume.candidates import all_subsets
from dpselect.assume.penalty import candidate_penalties, column_penalties
from dpselect.errors import AssumptionError


def test_criteria_are_what_they_are_known_for():
    assert column_penalties("aic", 2, None).tolist() == [2, 2]
    assert column_penalties("bic", 2, 100).tolist() == [math.log(100)] * 2
    assert column_penalties(3.5, 2, None).tolist() == [3.5, 3.5]
    assert column_penalties([1, 2], 2, None).tolist() == [1, 2]


def test_a_candidate_pays_for_each_of_its_columns():
    candidates = all_subsets(3)
    each = np.array([1.0, 10.0, 100.0])
    assert candidate_penalties(each, candidates).tolist() == [1, 10, 11, 100, 101, 110, 111]
    assert candidate_penalties(np.full(3, 2.0), candidates).tolist() == [2, 2, 4, 2, 4, 4, 6]


@pytest.mark.parametrize(
    ("penalty", "message"),
    [
        ("cp", "'aic' or 'bic'"),
        (-1, "at least 0"),
        (math.nan, "finite"),
        (math.inf, "finite"),
        ([1, 2, 3], "3 penalties for 2 columns"),
        ([1, -2], "at least 0"),
        (["a", "b"], "must be a number"),
        (None, "must be a number"),
    ],
)
def test_impossible_penalties_are_refused_in_one_sentence(penalty, message):
    with pytest.raises(AssumptionError, match=message):
        column_penalties(penalty, 2, 10)


def test_bic_is_refused_where_the_number_of_rows_is_private():
    with pytest.raises(AssumptionError, match="private"):
        column_penalties("bic", 2, None)
