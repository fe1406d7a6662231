"""What is known of coefficients before the equations are read: scales, public bounds, and the walls around them."""

import numpy as np
import pytest
from msgspec.structs import replace

from dpselect.assume.lemmas.moments import moment_layout
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.randomize.noisy_moments import NoisyMoments, moment_noise
from dpselect.release.equations.problem import COEFFICIENT_BOUND, problem

ALL = (0, 1, 2, 3, 4, 5)


def steep_slopes(epsilon=1e5):
    """A number far from the middle of its bounds that varies little; without noise, though some was meant to be there."""
    generator, rows = np.random.default_rng(6), 5000
    study = Study(Numeric("r", -1, 1), [Numeric("a", -1, 1), Numeric("b", -1, 1)])
    a, b = generator.normal(0.8, 0.05, rows), generator.uniform(-1, 1, rows)
    table = np.column_stack([np.ones(rows), a, b, generator.uniform(-1, 1, rows)])
    layout = moment_layout(study, (0, 1, 2))
    noise = moment_noise(layout, epsilon, 1e-6)
    empty = NoisyMoments(layout=layout, noise=noise, values=(0,) * len(layout.entries), known_rows=rows)
    exact = np.array([(table.T @ table)[cells[0]] for cells in layout.entries])
    values = tuple(map(int, np.round(exact / (empty.deviations / noise.deviation))))
    return problem(replace(empty, values=values), (0, 1, 2))


def test_a_level_may_move_the_response_twice_as_far_as_half_a_column_of_a_number(tables):
    """In the coefficients of the design, which are coded 0 and 1 for levels and from -1 to 1 for numbers."""
    made, _ = tables.noisy(epsilon=1.0)
    found = problem(made, ALL)
    bounds = found.reach * np.diag(found.change)
    assert {kind: made.layout.kinds.count(kind) for kind in ("number", "level")} == {"number": 3, "level": 2}
    assert bounds[1:3] == pytest.approx(COEFFICIENT_BOUND * np.array([1.0, 1.0]))
    assert bounds[4:] == pytest.approx(COEFFICIENT_BOUND * np.array([2.0, 2.0]))


def test_an_intercept_lies_as_far_out_as_steep_slopes_carry_it():
    found = steep_slopes()
    scales = np.diag(found.change)
    steep = found.reach[1:] * scales[1:] / COEFFICIENT_BOUND
    assert steep[0] > 5 and steep[1] == pytest.approx(1.0)
    assert scales[0] ** 2 == pytest.approx(1 + (steep[0] ** 2 - 1) * 0.8**2, rel=0.01)


def test_what_is_expected_less_of_is_a_usual_slope_and_not_the_steepest():
    found = steep_slopes(epsilon=10.0)
    assert found.usual[1] < 0.9 and found.usual[0] * np.diag(found.change)[0] == pytest.approx(1.0)
    less = found.expecting_less(3.0).precision
    assert less == pytest.approx(found.precision / found.usual**2 * [1, 9, 9])


def test_walls_have_the_gradient_of_their_values(tables):
    made, _ = tables.noisy(epsilon=1.0)
    found, generator = problem(made, ALL), np.random.default_rng(7)
    counted, pivot = np.ones((1, len(ALL))), found.pivot
    for size in (0.1, 1.5, 6.0):  # inside, at some of the walls, and beyond all of them
        point = found.reach * generator.choice([-1.0, 1.0], len(ALL)) * size
        shape = found.within_bounds(pivot, point[None], counted)
        step = 1e-5
        for place in range(len(ALL)):
            ends = np.stack([point, point])
            ends[:, place] += [-step, step]
            low, high = found.within_bounds(pivot, ends, np.repeat(counted, 2, axis=0)).values
            scale = np.abs(shape.gradient).max()
            assert shape.gradient[0, place] == pytest.approx((high - low) / (2 * step), rel=1e-3, abs=1e-5 * scale)
