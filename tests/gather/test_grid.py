from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.assume.assumptions import Assumptions
from dpselect.assume.variables import GRID, Numeric
from dpselect.errors import AssumptionError
from dpselect.gather.grid import Design
from dpselect.gather.table import gather_table

finite = st.floats(allow_nan=False, allow_infinity=False)
bounds = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-2, 1e9)).map(lambda pair: (pair[0], pair[0] + pair[1]))


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
