"""The user's units: coefficients and new rows in them say what the scaled ones say."""

import numpy as np
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric
from dpselect.errors import DataError
from dpselect.release.units import beyond_range, design_matrix, user_scale

STUDY = Study(
    Numeric("rent", 0, 2000),
    [Numeric("size", 10, 150), Binary("lift", ["no", "yes"]), Categorical("district", [1, 2, 3])],
    terms=["size", "lift", "district", ["lift", "size"]],
)
ROWS = {"size": [10.0, 75.0, 150.0], "lift": ["yes", "no", "yes"], "district": [1, 2, 3]}


def scaled_design() -> np.ndarray:
    """The columns in [-1, 1], written out by hand."""
    size = (np.array(ROWS["size"]) - 80) / 70
    lift = np.array([1.0, -1.0, 1.0])
    districts = [np.array([0.0, 1, 0]), np.array([0.0, 0, 1])]
    by_name = {"intercept": np.ones(3), "size": size, "lift": lift, "lift:size": lift * size, "size:lift": lift * size}
    by_name |= {"district[2]": districts[0], "district[3]": districts[1]}
    return np.column_stack([by_name[column.name] for column in STUDY.columns])


def test_what_is_predicted_does_not_depend_on_the_scale():
    columns = range(len(STUDY.columns))
    scaled = np.random.default_rng(4).normal(size=len(STUDY.columns))
    scale = user_scale(STUDY, columns)
    mine = scale.offsets + scale.matrix @ scaled
    assert scale.names[0] == "intercept"
    predicted = mine[0] + design_matrix(ROWS, STUDY, columns) @ mine[1:]
    np.testing.assert_allclose(predicted, 1000 + 1000 * scaled_design() @ scaled, rtol=1e-12)


def test_a_level_that_was_not_stated_is_refused():
    with pytest.raises(DataError, match="'lift' has missing"):
        design_matrix({**ROWS, "lift": ["yes", "no", "maybe"]}, STUDY, range(len(STUDY.columns)))


@pytest.mark.parametrize(
    ("name", "largest"),
    [("intercept", 2000), ("size", 2000 / 140), ("lift", 2000), ("district[2]", 2000), ("lift:size", 2000 / 70)],
)
def test_a_coefficient_is_beyond_what_can_be_where_it_moves_the_response_by_more_than_its_range(name, largest):
    name = next(each.name for each in STUDY.columns if set(each.name.split(":")) == set(name.split(":")))
    assert not beyond_range(STUDY, name, 0.999 * largest)
    assert beyond_range(STUDY, name, 1.001 * largest)


@pytest.mark.parametrize("name", ["intercept", "lift", "district[2]"])
def test_who_moves_the_response_by_its_whole_range_is_not_beyond_it(name):
    assert not beyond_range(STUDY, name, 2000.0)
    assert beyond_range(STUDY, name, np.nextafter(2000.0, np.inf))
