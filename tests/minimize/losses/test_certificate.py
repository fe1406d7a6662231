"""Certified intervals hold against exact losses, for good and for bad coefficients."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.minimize.losses.certificate import certify, into_ball, rounding
from dpselect.minimize.losses.exact import exact_loss
from tests.examples import examples

GRID = 2**20


def problem(rng, d, n, kind):
    """Integer products and their doubles, as Moments gives them."""
    table = rng.integers(-GRID, GRID + 1, (n, d + 1))
    if kind == "large":  # every cell at its limit: products as large as they get
        table = np.where(table > 0, GRID, -GRID)
    elif kind == "near-collinear":
        table = table[:, :1] + rng.integers(-3, 4, table.shape)
    elif kind == "perfect fit":
        table[:, -1] = table[:, 0]
    whole = table.astype(object).T @ table.astype(object)
    rows = whole.tolist()
    integers = (n, [row[:-1] for row in rows[:-1]], [row[-1] for row in rows[:-1]], rows[-1][-1])
    return integers, whole.astype(np.float64) * 2.0**-40


def members(masks, d):
    return (np.asarray(masks)[:, None] >> np.arange(d) & 1).astype(bool)


@pytest.mark.parametrize("kind", ["plain", "large", "near-collinear", "perfect fit"])
@pytest.mark.parametrize("radius", [0.0, 0.2, 1.0, 7.0, 1e6])
def test_the_interval_holds_the_exact_loss(kind, radius):
    rng = np.random.default_rng([len(kind), int(10 * radius)])
    for d in range(1, 8):
        integers, products = problem(rng, d, 30, kind)
        masks = rng.integers(0, 2**d, 12)
        exact = [exact_loss(integers, int(mask), radius) for mask in masks]
        true = [loss for loss, _ in exact]
        best = np.array([[float(value) for value in b] for _, b in exact])
        for noise in (0.0, 1e-15, 1e-9, 1e-3, 10.0):
            b = np.where(members(masks, d), best + noise * rng.standard_normal(best.shape), 0.0)
            values, bounds = certify(products, into_ball(b, radius), members(masks, d), radius)
            for value, bound, loss in zip(values, bounds, true, strict=True):
                assert abs(Fraction(value) - loss) <= Fraction(bound)
                if noise == 0.0:  # and it is not bought with slack: the rounding term, three times over at most
                    assert bound <= 6 * rounding(products, radius, radius) + 1e-300


def test_the_solution_of_a_smaller_model_is_not_passed_off_as_that_of_a_larger_one():
    """Zeros where the candidate wants coefficients: feasible, wrong, and the gap over all of M says by how much."""
    rng = np.random.default_rng(21)
    wrong = 0
    for d in range(2, 7):
        integers, products = problem(rng, d, 30, "plain")
        for radius in (0.3, 2.0):
            for mask in range(2**d - 1):
                b = np.array([[float(value) for value in exact_loss(integers, mask, radius)[1]]])
                full, everything = exact_loss(integers, 2**d - 1, radius)[0], members([2**d - 1], d)
                values, bounds = certify(products, into_ball(b, radius), everything, radius)
                assert abs(Fraction(values[0]) - full) <= Fraction(bounds[0])
                wrong += values[0] > float(full) + 1e-6
    assert wrong > 100


def test_without_the_rounding_term_the_interval_would_fail():
    """The gap alone is not enough: with it only, some exact loss of the easiest kind lies outside."""
    rng = np.random.default_rng(53)
    outside = 0
    for _ in range(100):
        integers, products = problem(rng, 3, 200, "plain")
        loss, b = exact_loss(integers, 7, 0.5)
        b = into_ball(np.array([[float(value) for value in b]]), 0.5)
        values, bounds = certify(products, b, members([7], 3), 0.5)
        gap_alone = bounds[0] - rounding(products, np.abs(b).sum(axis=1), 0.5)[0]
        outside += abs(Fraction(values[0]) - loss) > max(gap_alone, 0)
    assert outside > 10


@settings(deadline=None, derandomize=True, max_examples=examples(300))
@given(
    st.lists(st.floats(-1e6, 1e6) | st.floats(-1e-200, 1e-200), min_size=1, max_size=12),
    st.floats(0, 1e6) | st.floats(0, 1e-200),
)
def test_the_ball_holds_in_exact_arithmetic(b, radius):
    shrunk = into_ball(np.array([b]), radius)[0]
    assert sum(abs(Fraction(value)) for value in shrunk.tolist()) <= Fraction(radius)
    if sum(map(abs, b)) <= radius * (1 - 1e-12) and radius > 1e-250:
        assert shrunk.tolist() == b


@pytest.mark.parametrize("d", [2, 12, 60])
def test_the_ball_holds_to_the_last_bit_where_coefficients_are_shrunk(d):
    """Without the room for roundings about half of these would lie outside, by a bit."""
    rng = np.random.default_rng(d)
    for radius in (1.0, 0.7, 3e5):
        shrunk = into_ball(rng.uniform(1, 2, (200, d)) * rng.choice([-radius, radius], (200, d)), radius)
        norms = [sum(abs(Fraction(value)) for value in row) for row in shrunk.tolist()]
        assert all(Fraction(radius) * (1 - Fraction(4 * d + 16, 2**53)) <= norm <= Fraction(radius) for norm in norms)
