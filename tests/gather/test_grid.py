"""Rows of studies without bounds: what an entry is, and which rows count in no block."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.assume.study import Study
from dpselect.assume.variables import GRID, Binary, Categorical, Numeric
from dpselect.errors import DataError, StudyError
from dpselect.gather import grid
from dpselect.gather.grid import Design, OpenDesign
from dpselect.gather.rows import gather

finite = st.floats(allow_nan=False, allow_infinity=False)
bounds = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-2, 1e9)).map(lambda pair: (pair[0], pair[0] + pair[1]))
COMPILED = grid.put_rows
NO_COMPILER = "no compiler was here, so the compiled grid was not tested"


@pytest.fixture(scope="module", params=["compiled", "NumPy"], autouse=True)
def twin(request):
    """Everything here holds for both."""
    if request.param == "compiled" and COMPILED is None:
        pytest.skip(NO_COMPILER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "put_rows", COMPILED if request.param == "compiled" else None)
        yield


def one(value: float, variable: Numeric) -> float:
    design = Design(Study(variable, []), 1)
    return float(design.chunk({variable.name: np.array([value])}, 0, 1)[design.order[-1], 0])


@given(st.floats(-3, 3))
def test_with_bounds_of_one_the_grid_is_exact_rounding_half_up(value):
    scaled = min(max(Fraction(value), -1), 1) * GRID
    assert abs(one(value, Numeric("x", -1, 1)) - scaled) <= Fraction(1, 2)


@pytest.mark.parametrize("k", [-3, -2, -1, 0, 1, 2, 3])
def test_half_way_ties_go_up(k):
    assert one((k + 0.5) / GRID, Numeric("x", -1, 1)) == k + 1


@given(finite, finite, bounds)
def test_rounding_never_turns_two_values_round(a, b, pair):
    variable = Numeric("x", *pair)
    low, high = sorted((a, b))
    assert one(low, variable) <= one(high, variable)


@given(finite, bounds)
def test_a_value_beyond_a_bound_counts_as_the_bound(value, pair):
    variable = Numeric("x", *pair)
    clipped = min(max(value, variable.lower), variable.upper)
    assert one(value, variable) == one(clipped, variable)
    assert (one(variable.lower, variable), one(variable.upper, variable)) == (-GRID, GRID)


@given(finite, bounds)
def test_the_grid_is_within_a_step_of_exact_arithmetic(value, pair):
    variable = Numeric("x", *pair)
    lower, upper = Fraction(variable.lower), Fraction(variable.upper)
    clipped = min(max(Fraction(value), lower), upper)
    exact = (clipped - (lower + upper) / 2) / ((upper - lower) / 2) * GRID
    # The middle is a rounded double, so a variable far from zero may be off by its own last bit as well.
    slack = 1 + GRID * max(abs(lower), abs(upper)) / (upper - lower) * Fraction(1, 2**50)
    assert abs(one(value, variable) - floor(exact + Fraction(1, 2))) <= slack


def test_bounds_that_doubles_cannot_tell_apart_are_refused():
    with pytest.raises(StudyError, match="too close together for numbers of their size"):
        Numeric("x", 1e16, 1e16 + 2)


def test_no_cell_raises_whatever_the_program_told_numpy_to_raise_on():
    a_study = Study(Numeric("y", -1, 1), [Numeric("x", -1e149, 1e149)], intercept="none")
    x = np.array([[1e-200], [1.7e308], [-5e-324], [1e149]])
    with np.errstate(all="raise"):
        n, xtx, _, _ = gather((x, np.zeros(4)), a_study).integers()
    assert (n, xtx) == (4, [[2 * GRID**2]])


def test_difference_product_and_sum_are_rounded_one_by_one():
    """Found are values for which a fused multiply-add, as some processors offer, would give another integer."""
    found = 0
    for half in range(3, 400):
        variable = Numeric("x", -half, half)
        value = 0.5 / variable.scale
        for _ in range(4):
            apart = floor((value - variable.middle) * variable.scale + 0.5)
            fused = floor(
                float((Fraction(value) - Fraction(variable.middle)) * Fraction(variable.scale) + Fraction(1, 2))
            )
            found += apart != fused
            assert one(value, variable) == apart
            value = np.nextafter(value, 0)
    assert found > 10


special = st.sampled_from(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308, -1e308, 0.5 / GRID, -0.5 / GRID, 1.0, -1.0]
)


@pytest.mark.skipif(COMPILED is None, reason=NO_COMPILER)
@given(
    st.lists(st.one_of(special, st.floats(-2, 2), finite), max_size=40),
    bounds,
    st.sampled_from(["midpoint", "zero-row"]),
    st.integers(1, 3),
)
def test_twins_agree_to_the_last_bit(values, pair, missing, step):
    study = Study(Numeric("y", *pair), [Numeric("a", *pair), Numeric("b", -1, 1)], missing=missing)
    many = np.array(values * step, dtype=np.float64)[::step]
    cells = {"a": many, "b": many[::-1], "y": np.array(values, dtype=np.float64)}
    found = []
    for put_rows in (COMPILED, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(grid, "put_rows", put_rows)
            start = len(values) // 3
            found.append(Design(study, 64).chunk(cells, start, len(values)).tobytes())
    assert found[0] == found[1]


@pytest.mark.skipif(COMPILED is None, reason=NO_COMPILER)
@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 3, 4, 7, 511, 512, 1030])
@pytest.mark.parametrize("step", [1, 2])
def test_one_strange_cell_is_seen_wherever_it_is(strange, place, step):
    values = np.full(1031 * step, 1e308)[::step]
    out = np.empty((1, 1031))
    ones = np.ones(1)
    assert COMPILED((values,), 0, 1031, 0 * ones, ones, GRID, out)
    values[place] = strange
    assert not COMPILED((values,), 0, 1031, 0 * ones, ones, GRID, out)
    assert COMPILED((values,), place + 1, 1031, 0 * ones, ones, GRID, out[:, place + 1 :])


@pytest.mark.skipif(COMPILED is None, reason=NO_COMPILER)
@pytest.mark.parametrize(
    "wrong",
    [
        {"columns": (np.ones(3), np.ones(3))},
        {"columns": (np.ones(3, np.float32),)},
        {"columns": (np.ones(3).astype(">f8"),)},
        {"columns": (np.ones((3, 1)),)},
        {"start": -1},
        {"start": 2, "stop": 1},
        {"stop": 4},
        {"middles": np.ones(2)},
        {"scales": np.ones(1, np.int64)},
        {"grid": 2.0**31},
        {"grid": np.nan},
        {"out": np.empty((1, 2))},
        {"out": np.empty((3, 1)).T[:, ::-1]},
        {"out": np.empty(3)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(wrong):
    right = {
        "columns": (np.ones(3),), "start": 0, "stop": 3, "middles": np.zeros(1), "scales": np.ones(1), "grid": GRID,
        "out": np.empty((1, 3)),
    }  # fmt: skip
    assert COMPILED(*right.values())
    with pytest.raises(ValueError, match="do not fit"):
        COMPILED(*(right | wrong).values())


def test_memory_that_may_not_be_written_is_refused():
    if COMPILED is None:
        pytest.skip(NO_COMPILER)
    out = np.empty((1, 3))
    out.flags.writeable = False
    with pytest.raises((ValueError, BufferError), match="read-only"):
        COMPILED((np.ones(3),), 0, 3, np.zeros(1), np.ones(1), GRID, out)


GRID = 2**20


def design(missing="zero-row", **more):
    predictors = [Numeric("open"), Numeric("bounded", 0, 10), Categorical("level", ["u", "v", "w"])]
    return OpenDesign(Study(Numeric("y"), predictors, missing=missing, **more), 100)


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
    for batch in (cells([1.0, gone]), cells([1.0, 1.0], bounded=[5.0, gone]), cells([1.0, 1.0], y=[0.0, gone])):
        with pytest.raises(DataError, match="has missing"):
            design("error").chunk(batch, 0, 2)
        own = design("zero-row")
        own.chunk(batch, 0, 2)
        assert own.left_out.tolist() == [False, True]
    own = design("midpoint")
    for batch in (cells([1.0, gone]), cells([1.0, 1.0], y=[0.0, gone])):
        own.chunk(batch, 0, 2)
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
    closed = Design(Study(Numeric("y", -1, 1), predictors, "none", missing="midpoint", terms=terms), 100)
    opened = OpenDesign(Study(Numeric("y"), predictors, "none", missing="midpoint", terms=terms), 100)
    expected = closed.chunk(given, 0, 100)[closed.order]
    np.testing.assert_array_equal(opened.chunk(given, 0, 100)[:-1], expected[:-1])
