"""The path solver for lists: right within its own bounds, tight bounds, on easy and hard designs, up to 64 columns."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.candidates import all_subsets
from dpselect.minimize.losses import l1_ball
from dpselect.minimize.losses.exact import exact_loss
from dpselect.minimize.losses.l1_ball import list_losses, solve_list
from tests.examples import examples

GRID = 2**20
KINDS = ("plain", "correlated", "near-collinear", "duplicates", "dummy trap", "few rows", "zero columns", "no response")


def table(kind, d, rng):
    n = max(1, d // 2) if kind == "few rows" else 3 * d + 5
    x = rng.uniform(-1, 1, (n, d))
    if kind == "correlated":
        x = (x + 3 * rng.uniform(-1, 1, (n, 1))) / 4
    elif kind == "near-collinear":
        x = 0.9999 * x[:, :1] + 0.0001 * x
    elif kind == "duplicates":
        x[:, d // 2 :] = -x[:, : d - d // 2]
    elif kind == "dummy trap":
        x = np.eye(d)[rng.integers(0, max(d - 1, 1), n)]
        x[:, -1] = 1.0
    elif kind == "zero columns":
        x[:, ::3] = 0.0
    y = x @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    y *= 0.0 if kind == "no response" else 1 / np.abs(y).max()
    return np.rint(np.column_stack([x, y]) * GRID).astype(np.int64)


def products_of(whole):
    rows = (whole.astype(object).T @ whole.astype(object)).tolist()
    integers = (len(whole), [row[:-1] for row in rows[:-1]], [row[-1] for row in rows[:-1]], rows[-1][-1])
    return integers, np.array(rows, object).astype(np.float64) * 2.0**-40


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_within_their_bounds_of_the_exact_losses(kind):
    rng = np.random.default_rng([7, len(kind)])
    for d in (1, 2, 3, 5, 9):
        integers, products = products_of(table(kind, d, rng))
        masks = np.unique(rng.integers(0, 2**d, 25)).astype(np.uint64)
        for radius in (0.0, 1e-6, 0.1, 0.7, 2.0, 30.0, 1e8):
            values, bounds = list_losses(products, masks, radius)
            for mask, value, bound in zip(masks, values, bounds, strict=True):
                true = exact_loss(integers, int(mask), radius)[0]
                assert abs(Fraction(value) - true) <= Fraction(bound)
                if radius < 100:  # with coefficients of size s, P itself is only good to s^2 2^-53
                    assert abs(Fraction(value) - true) <= 1e-11 * Fraction(integers[3], 2**40)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [12, 30, 64])
def test_no_candidate_of_ordinary_size_needs_the_exact_solver(kind, d):
    """Bounds far below the tolerance, 2^-20 (1 + radius)^2: the fallback is a guard, not a habit."""
    rng = np.random.default_rng([d, len(kind)])
    _, products = products_of(table(kind, d, rng))
    masks = rng.integers(0, 2**64, 60, dtype=np.uint64) >> np.uint64(64 - d)
    for radius in (0.05, 0.5, 3.0, 30.0):
        _, bounds = list_losses(products, masks, radius)
        assert bounds.max() <= 2.0**-30 * (1 + radius) ** 2


@settings(deadline=None, derandomize=True, max_examples=examples(150))
@given(st.integers(1, 5), st.integers(0, 10**6), st.sampled_from(KINDS), st.floats(0, 5), st.floats(0, 5))
def test_losses_fall_with_the_radius_and_with_more_columns(d, seed, kind, radius, more):
    _, products = products_of(table(kind, d, np.random.default_rng(seed)))
    masks = all_subsets(d, empty=True).masks()
    values, bounds = list_losses(products, masks, radius)
    wider, wider_bounds = list_losses(products, masks, radius + more)
    assert (wider <= values + bounds + wider_bounds).all()
    for j in range(d):
        bigger = (masks | np.uint64(1 << j)).astype(np.int64)
        assert (values[bigger] <= values + bounds + bounds[bigger]).all()


def test_neither_order_nor_company_nor_batches_matter(monkeypatch):
    _, products = products_of(table("correlated", 8, np.random.default_rng(8)))
    masks = all_subsets(8).masks()
    values, bounds = list_losses(products, masks, 0.4)
    shuffled = np.random.default_rng(9).permutation(masks.size)
    monkeypatch.setattr(l1_ball, "BATCH", 700)
    again, _ = list_losses(products, masks[shuffled], 0.4)
    assert np.abs(again - values[shuffled]).max() <= 2 * bounds.max()
    assert list_losses(products, masks[:0], 0.4)[0].size == 0


def test_coefficients_are_allowed_and_belong_to_the_candidate():
    _, products = products_of(table("plain", 6, np.random.default_rng(3)))
    masks = all_subsets(6, empty=True).masks()
    _, _, coefficients = solve_list(products, masks, 0.5)
    inside = (masks[:, None] >> np.arange(6, dtype=np.uint64) & np.uint64(1)).astype(bool)
    assert (coefficients[~inside] == 0).all()
    assert (np.abs(coefficients).sum(axis=1) <= 0.5).all()


def test_a_coefficient_may_change_its_sign_along_the_path():
    """Dropped on one side, taken up on the other, with no event between: the last column to move must not be held still."""
    rng = np.random.default_rng(11)
    seen = 0
    for _ in range(200):
        integers, products = products_of(table("near-collinear", 3, rng))
        early = exact_loss(integers, 7, 0.2)[1]
        late = exact_loss(integers, 7, 8.0)[1]
        seen += any(a * b < 0 for a, b in zip(early, late, strict=True))
        _, bounds = list_losses(products, np.array([7], np.uint64), 8.0)
        assert bounds[0] <= 1e-8
    assert seen > 10
