"""Claim: one record moves a loss by at most (r+R)^2, and the losses of all candidates by a range of at most w."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.budget import NEIGHBORS
from dpselect.assume.lemmas.sensitivity import (
    TOLERANCE,
    certified_range,
    loss_range,
    loss_sensitivity,
    score_rounding,
    solver_tolerance,
)
from dpselect.minimize.losses.lattice import lattice_losses

RADII = [0.05, 0.5, 1.0, 1.7, 6.0]


def losses(rows: np.ndarray, radius: float) -> np.ndarray:
    """The losses of all subsets of a table whose last column is the response, |y| <= 1."""
    return lattice_losses(rows.T @ rows, radius)[0]


def moved(rows: np.ndarray, before: np.ndarray | None, after: np.ndarray | None, radius: float) -> np.ndarray:
    """How each loss changes when the record `before` (or none) of a table becomes `after` (or none)."""
    here, there = (np.vstack([rows, extra]) if extra is not None else rows for extra in (before, after))
    return losses(there, radius) - losses(here, radius)


def record(generator: np.random.Generator, width: int) -> np.ndarray:
    """A record of the cube, often at a corner, where the extremes are."""
    inside = generator.uniform(-1, 1, width)
    return np.where(generator.random(width) < 0.5, np.sign(inside), inside)


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_no_pair_of_neighbours_moves_the_losses_further(radius, neighbors):
    generator = np.random.default_rng(31)
    for _ in range(400):
        width, n = int(generator.integers(2, 5)), int(generator.integers(0, 12))
        rows = np.array([record(generator, width) for _ in range(n)]).reshape(n, width)
        before = record(generator, width) if neighbors == "replace-one" else None
        change = moved(rows, before, record(generator, width), radius)
        assert np.abs(change).max() <= loss_sensitivity(1, radius) + 1e-9
        assert np.ptp(change) <= loss_range(1, radius, neighbors) + 1e-9
        if neighbors == "add-remove-one":
            assert change.min() >= -1e-9


def pinned_table(radius: float, copies: int) -> np.ndarray:
    """A table that holds candidate {0} at b = R and candidate {1} at b = -R."""
    reach = min(1.0, 1 / radius)
    return np.array([[reach, 0, 1.0], [0, reach, -1.0]]).repeat(copies, axis=0)


def worst_change(radius: float, neighbors: str, copies: int = 20_000) -> float:
    rows = pinned_table(radius, copies)
    # A residual of zero needs x.b = y, which a full step overshoots once R > 1.
    reach = min(1.0, 1 / radius)
    against = np.array([1.0, reach, -1.0])
    along = np.array([reach, 1.0, 1.0]) if neighbors == "replace-one" else None
    change = moved(rows, along, against, radius)
    return change[1] - change[2]


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_some_pair_comes_close_to_the_range_and_none_exceeds_it(radius, neighbors):
    limit = loss_range(1, radius, neighbors)
    assert 0.95 * limit < worst_change(radius, neighbors) <= limit


def test_some_pair_comes_close_to_the_sensitivity():
    rows = np.array([[2 / 3, 1.0]]).repeat(2000, axis=0)  # fitted exactly by b = 3/2
    change = moved(rows, None, np.array([1.0, -1.0]), 1.5)
    assert 0.95 * loss_sensitivity(1, 1.5) < change[1] <= loss_sensitivity(1, 1.5)


@given(st.floats(1e-3, 1e3), st.floats(0, 1e3))
def test_the_range_is_never_above_the_papers(r, R):
    assert loss_range(r, R, "replace-one") <= 2 * loss_sensitivity(r, R) * (1 + 1e-12)
    if R <= r:
        assert loss_range(r, R, "replace-one") == pytest.approx(8 * r * R, rel=1e-9, abs=1e-9)


@settings(derandomize=True)
@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(-1, 1), st.floats(-1, 1)), min_size=2, max_size=6), st.floats(0, 1)
)
def test_errors_of_the_solver_widen_the_range_by_four(changes, tau):
    exact, here, there = np.array(changes).T
    computed = exact + tau * there - tau * here
    assert np.ptp(computed) <= certified_range(np.ptp(exact), tau) + 1e-12


def test_four_errors_can_be_needed():
    computed = np.array([1.0, 0.0]) + np.array([2.0, -2.0])
    assert np.ptp(computed) == pytest.approx(certified_range(1.0, 1.0))


@settings(derandomize=True)
@given(st.floats(0, 1e9), st.floats(0, 1e12))
def test_rounding_of_a_score_is_within_its_bound(loss, penalty):
    from fractions import Fraction

    exact = Fraction(loss) + Fraction(penalty)
    assert abs(Fraction(loss + penalty) - exact) <= Fraction(score_rounding(loss, penalty))


def test_the_tolerance_is_a_public_share_of_the_sensitivity_and_grows_with_a_public_n_only():
    assert solver_tolerance(2, 3) == TOLERANCE * 25
    assert solver_tolerance(2, 3, 2**24) == TOLERANCE * 25
    assert solver_tolerance(2, 3, 2**30) == TOLERANCE * 25 * 64


@pytest.mark.parametrize("radius", [2.0**-1000, 1e-20, 2.0**-54, 1e-9, 0.3, 1.0, 1 + 2.0**-52, 1e6])
@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_the_range_is_never_short_of_exact_arithmetic(radius, neighbors):
    r, R = Fraction(1), Fraction(radius)
    exact = ((r + R) ** 2 - max(r - R, Fraction(0)) ** 2) * (2 if neighbors == "replace-one" else 1)
    assert exact <= Fraction(loss_range(1.0, radius, neighbors)) <= exact * (1 + Fraction(1, 2**40))
