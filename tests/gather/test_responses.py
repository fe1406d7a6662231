import numpy as np
import pyarrow as pa
import pytest

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.responses import count_responses
from dpselect.gather.table import gather_table

STUDY = Assumptions(Numeric("y", 0, 4), [Numeric("x", -1, 1)])
PLACES = np.linspace(0, 4, 5)
Y = np.array([-9.0, 1.0, 1.5, 4.0, 99.0])


@pytest.mark.parametrize(
    "source",
    [
        (np.zeros((5, 1)), Y),
        pa.table({"y": Y, "x": np.zeros(5), "other": ["a"] * 5}),
        pa.Table.from_batches(pa.table({"y": Y, "x": np.zeros(5)}).to_batches(max_chunksize=2)),
    ],
)
def test_counts_are_the_same_for_every_kind_of_table(source):
    counted = count_responses(source, STUDY, PLACES)
    assert counted.below.tolist() == [1, 1, 3, 3, 3]
    assert counted.above.tolist() == [4, 3, 2, 2, 1]
    assert counted.n == 5
    assert "private" in repr(counted)


def test_missing_responses_follow_the_policy():
    table = pa.table({"y": [1.0, None, float("inf")], "x": [0.0] * 3})
    with pytest.raises(DataError, match="'y' has cells that are missing"):
        count_responses(table, STUDY, PLACES)
    lenient = Assumptions(STUDY.response, STUDY.predictors, missing="midpoint")
    counted = count_responses(table, lenient, PLACES)
    assert (counted.below.tolist(), counted.n) == ([0, 0, 1, 3, 3], 3)


def test_what_is_wrong_with_a_predictor_comes_out_before_anything_is_spent():
    study = Assumptions(STUDY.response, [Categorical("c", ["a", "b"])])
    with pytest.raises(DataError, match="'c' has cells"):
        count_responses(pa.table({"y": [1.0, 2.0], "c": ["a", "z"]}), study, PLACES)


def test_what_cannot_be_read_twice_is_refused():
    table = pa.table({"y": Y, "x": np.zeros(5)})
    with pytest.raises(DataError, match="stream"):
        count_responses(table.to_reader(), STUDY, PLACES)
    with pytest.raises(DataError, match="moments"):
        count_responses(gather_table(table, STUDY), STUDY, PLACES)
    with pytest.raises(DataError, match="no rows"):
        count_responses(table.slice(0, 0), STUDY, PLACES)
