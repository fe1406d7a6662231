from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import GRID, Numeric
from dpselect.errors import AssumptionError
from dpselect.gather.sums import grid
from dpselect.gather.sums.grid import Design
from dpselect.gather.table import gather_table

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
    design = Design(Assumptions(variable, []), 1)
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
    with pytest.raises(AssumptionError, match="too close together for numbers of their size"):
        Numeric("x", 1e16, 1e16 + 2)


def test_no_cell_raises_whatever_the_program_told_numpy_to_raise_on():
    study = Assumptions(Numeric("y", -1, 1), [Numeric("x", -1e149, 1e149)], intercept="none")
    x = np.array([[1e-200], [1.7e308], [-5e-324], [1e149]])
    with np.errstate(all="raise"):
        n, xtx, _, _ = gather_table((x, np.zeros(4)), study).integers()
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
    assumptions = Assumptions(Numeric("y", *pair), [Numeric("a", *pair), Numeric("b", -1, 1)], missing=missing)
    many = np.array(values * step, dtype=np.float64)[::step]
    cells = {"a": many, "b": many[::-1], "y": np.array(values, dtype=np.float64)}
    found = []
    for put_rows in (COMPILED, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(grid, "put_rows", put_rows)
            start = len(values) // 3
            found.append(Design(assumptions, 64).chunk(cells, start, len(values)).tobytes())
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
