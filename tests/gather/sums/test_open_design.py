"""Rows of studies without bounds: what an entry is, and which rows count in no block."""

import numpy as np
import pytest

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Binary, Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.sums.grid import Design
from dpselect.gather.sums.open_design import OpenDesign

GRID = 2**20


def design(missing="zero-row", **more):
    predictors = [Numeric("open"), Numeric("bounded", 0, 10), Categorical("level", ["u", "v", "w"])]
    return OpenDesign(Assumptions(Numeric("y"), predictors, missing=missing, **more), 100)


def cells(opened, bounded=5.0, level=1, y=1.0):
    rows = np.size(opened)
    given = {"open": opened, "bounded": bounded, "y": y}
    found = {name: np.broadcast_to(np.asarray(value, dtype=float), rows) for name, value in given.items()}
    return found | {"level": np.broadcast_to(level, rows)}


def test_numbers_without_bounds_are_themselves_and_the_rest_is_on_the_grid():
    work = design().chunk(cells([3.25, -1e70, 1e-70], bounded=[0.0, 10.0, 7.5], level=[0, 1, 2]), 0, 3)
    np.testing.assert_array_equal(
        work,
        [[3.25, -1e70, 1e-70], [-GRID, GRID, GRID // 2], [0, GRID, 0], [0, 0, GRID], [1.0, 1.0, 1.0]],
    )


@pytest.mark.parametrize("value", [1.0000001e75, -1e76, 1e308, -1e308])
def test_a_row_with_a_number_beyond_the_largest_counts_nowhere(value):
    for missing in ("error", "midpoint", "zero-row"):
        own = design(missing)
        own.chunk(cells([1.0, value, 1e75, -1e75]), 0, 4)
        assert own.left_out.tolist() == [False, True, False, False]
        own.chunk(cells(np.ones(3), y=[1.0, value, 2.0]), 0, 3)
        assert own.left_out.tolist() == [False, True, False]
        own.chunk(cells([1.0, 2.0]), 0, 2)
        assert own.left_out is None


def test_a_number_below_the_smallest_is_zero():
    own = design()
    work = own.chunk(cells([1e-76, -5e-324, 1e-75, 0.0]), 0, 4)
    assert own.left_out is None and work[0].tolist() == [0, 0, 1e-75, 0]


@pytest.mark.parametrize("gone", [np.nan, np.inf, -np.inf])
def test_missing_cells(gone):
    for given in (cells([1.0, gone]), cells([1.0, 1.0], bounded=[5.0, gone]), cells([1.0, 1.0], y=[0.0, gone])):
        with pytest.raises(DataError, match="has cells that are missing, infinite or of an unknown level"):
            design("error").chunk(given, 0, 2)
        own = design("zero-row")
        own.chunk(given, 0, 2)
        assert own.left_out.tolist() == [False, True]
    own = design("midpoint")
    for given in (cells([1.0, gone]), cells([1.0, 1.0], y=[0.0, gone])):
        own.chunk(given, 0, 2)
        assert own.left_out.tolist() == [False, True]  # there is no middle to put
    work = own.chunk(cells([1.0, 2.0], bounded=[3.0, gone], level=[2, -1]), 0, 2)
    assert own.left_out is None and work[1:4, 1].tolist() == [0, 0, 0]


def test_products():
    own = design(terms=["open", "bounded", "level", ["open", "open"], ["bounded", "level"], ["open", "bounded"]])
    work = own.chunk(cells([3.0, 1e40], bounded=[7.5, 2.5], level=[1, 2]), 0, 2)
    assert own.left_out.tolist() == [False, True]  # the square is beyond the largest
    half = GRID // 2
    assert work[:, 0].tolist() == [3.0, half, GRID, 0, 9.0, half, 0, 3.0 * half, 1.0]


def test_what_has_bounds_is_as_in_a_study_with_bounds():
    rng = np.random.default_rng(0)
    predictors = [Numeric("bounded", 0, 10), Categorical("level", ["u", "v", "w"]), Binary("yes", [0, 1])]
    terms = ["bounded", "level", "yes", ["bounded", "level"], ["bounded", "bounded", "yes"]]
    given = {
        "bounded": rng.uniform(-1, 11, 100),
        "level": rng.integers(-1, 3, 100),
        "yes": rng.integers(0, 2, 100).astype(float),
        "y": rng.normal(size=100),
    }
    closed = Design(Assumptions(Numeric("y", -1, 1), predictors, "none", missing="midpoint", terms=terms), 100)
    opened = OpenDesign(Assumptions(Numeric("y"), predictors, "none", missing="midpoint", terms=terms), 100)
    expected = closed.chunk(given, 0, 100)[closed.order]
    np.testing.assert_array_equal(opened.chunk(given, 0, 100)[:-1], expected[:-1])
