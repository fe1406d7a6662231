"""All sets of terms in one pass: the losses of the list solver and of the exact one, in the rule's order, certified."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpselect.assume.candidates import SubsetRule
from dpselect.errors import StudyError
from dpselect.gather.moments import Moments
from dpselect.minimize import minimize as everything
from dpselect.minimize.losses import terms
from dpselect.minimize.losses.exact import exact_loss
from dpselect.minimize.losses.l1_ball import list_losses
from dpselect.minimize.losses.terms import is_available, suits, term_losses
from dpselect.minimize.minimize import minimize_all

GRID = 2**20
BACKENDS = ["numpy", *(["c"] if is_available() else [])]
RADII = [0.0, 0.1, 0.5, 1.0, 2.0, 20.0]


def study(sizes, *, rows=300, always=True, scale=0.5, seed=0):
    """(rows of integers on the grid, the rule): numbers and categories in turn, as a design has them."""
    rng = np.random.default_rng([seed, *sizes])
    columns, masks, width = [np.ones(rows)] if always else [], [], int(always)
    shared = rng.uniform(-0.5, 0.5, rows)
    for size in sizes:
        masks.append((1 << size) - 1 << width)
        width += size
        if size == 1:
            columns.append(0.5 * rng.uniform(-1, 1, rows) + shared)
        else:
            level = rng.choice(size + 1, rows, p=rng.dirichlet(np.full(size + 1, 2.0)))
            columns.extend((level == k).astype(float) for k in range(size))
    x = np.column_stack(columns)
    y = np.clip(x @ rng.normal(0, scale, width) + rng.normal(0, 0.3, rows), -1, 1)
    integers = np.round(np.column_stack([x, y]) * GRID).astype(np.int64)
    return integers, SubsetRule(width, tuple(masks), int(always), None, not always)


def products_of(integers):
    numbers = integers / GRID
    return numbers.T @ numbers


def moments_of(integers):
    table = integers.astype(object)
    return Moments(len(table), table.T @ table, tuple(f"x{j}" for j in range(table.shape[1] - 1)), "test")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("sizes", [(3,), (1, 2, 3), (2, 1, 1, 4, 2), (5, 5, 1, 3), (1, 1, 1, 2, 1, 1, 3)])
@pytest.mark.parametrize("always", [True, False])
def test_each_loss_is_the_list_solvers(backend, sizes, always):
    for rows in (20, 300):  # with 20, levels are missing and columns depend on each other
        integers, rule = study(sizes, rows=rows, always=always)
        products = products_of(integers)
        for radius in RADII:
            values, bounds = term_losses(products, rule, radius, backend=backend)
            listed, list_bounds = list_losses(products, rule.masks(), radius)
            assert values.shape == (rule.count,)
            assert (np.abs(values - listed) <= bounds + list_bounds).all()
            assert bounds.max() <= 1e-9 * products[-1, -1]


@pytest.mark.skipif(len(BACKENDS) < 2, reason="the C kernel was not built here")
@pytest.mark.parametrize("radius", [0.0, 0.5, 50.0])
def test_twins_agree_on_how_sure_they_are(radius):
    """Without coefficients to the last bit that is kept; with them a bound has rounding in it, which differs."""
    integers, rule = study((2, 1, 3, 1), rows=300)
    bounds, twin = (term_losses(products_of(integers), rule, radius, backend=each)[1] for each in BACKENDS)
    assert (bounds > 0.6 * twin).all() and (bounds < 3 * twin).all()
    if not radius:
        np.testing.assert_allclose(bounds, twin, rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0])
def test_bounds_hold_for_the_exact_losses(backend, scale):
    integers, rule = study((2, 1, 3, 1), rows=25, scale=scale, seed=3)
    moments, products = moments_of(integers), products_of(integers)
    for radius in (0.25, 1.0, 4.0):
        values, bounds = term_losses(products, rule, radius, backend=backend)
        for value, bound, mask in zip(values, bounds, rule, strict=True):
            true = exact_loss(moments.integers(), mask, radius)[0]
            assert abs(Fraction(float(value)) - true) <= Fraction(float(bound))


@pytest.mark.skipif(not is_available(), reason="the C solver was not built here")
def test_twins_agree_on_many_small_studies():
    rng = np.random.default_rng(5)
    for seed in range(25):
        sizes = tuple(rng.choice([1, 1, 2, 3, 5], size=rng.integers(1, 7)).tolist())
        rows, scale = int(rng.choice([20, 60, 1000])), float(rng.choice([0.1, 0.5, 2.0]))
        integers, rule = study(sizes, rows=rows, always=bool(seed % 2), scale=scale, seed=seed)
        products = products_of(integers)
        for radius in RADII:
            compiled, twin = (term_losses(products, rule, radius, backend=b) for b in ("c", "numpy"))
            np.testing.assert_allclose(compiled[0], twin[0], atol=1e-11 * products[-1, -1])
            assert max(compiled[1].max(), twin[1].max()) <= 1e-9 * products[-1, -1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_limit_on_the_columns_and_terms_in_any_order(backend):
    integers, whole = study((3, 1, 2, 1, 4))
    products = products_of(integers)
    everywhere = dict(zip(whole.masks().tolist(), term_losses(products, whole, 0.7, backend=backend)[0], strict=True))
    for terms_, size in ((whole.terms, 4), (whole.terms[::-1], 7), (whole.terms[::-1], 2)):
        rule = SubsetRule(whole.width, terms_, whole.always, size)
        values, bounds = term_losses(products, rule, 0.7, backend=backend)
        np.testing.assert_allclose(values, [everywhere[mask] for mask in rule.masks().tolist()], rtol=1e-12)
        assert np.isfinite(bounds).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_copies_take_over_what_holds_for_them(backend):
    """With a tight radius most sets are copies of smaller ones; adding a term never raises a loss."""
    integers, rule = study((2, 1, 3, 1, 2, 1), scale=1.0, seed=9)
    values, _ = term_losses(products_of(integers), rule, 0.2, backend=backend)
    for bit in range(len(rule.terms)):
        sets = np.arange(rule.count)
        without = sets[sets >> bit & 1 == 0]
        assert (values[without | 1 << bit] <= values[without] * (1 + 1e-12)).all()
    assert len(np.unique(values)) < len(values)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("entry", [0.0, np.nan, np.inf, 1e300])
def test_strange_products_raise_nothing_and_promise_nothing(backend, entry):
    rule = SubsetRule(5, (0b110, 0b11000), 1)
    values, bounds = term_losses(np.full((6, 6), entry), rule, 1.0, backend=backend)
    assert np.isfinite(values).all()
    assert entry == 0 or not (bounds <= 1.0).any()


def test_the_solver_is_used_where_it_pays(monkeypatch):
    integers, rule = study((1, 4, 3, 5, 2))
    moments = moments_of(integers)
    calls = []
    real = terms.term_losses
    monkeypatch.setattr(everything, "term_losses", lambda *a, **k: calls.append(a) or real(*a, **k))
    losses = minimize_all(moments, rule, 0.6)
    assert calls
    true = [exact_loss(moments.integers(), mask, 0.6)[0] for mask in rule]
    assert all(abs(Fraction(v) - t) <= losses.tolerance for v, t in zip(losses.values.tolist(), true, strict=True))
    calls.clear()
    minimize_all(moments, SubsetRule(rule.width, tuple(1 << j for j in range(6))), 0.6)
    assert not calls


def test_which_rules_suit():
    wide = tuple(0b11 << 2 * t for t in range(20))
    assert suits(SubsetRule(40, wide))
    assert not suits(SubsetRule(40, wide, max_size=4))  # few of the 2^20 sets would be candidates
    assert not suits(SubsetRule(40, tuple(1 << t for t in range(20))))
    assert not suits(SubsetRule(64, (0b11,)))


def test_progress_and_refusals(monkeypatch):
    integers, rule = study((1, 2, 3))
    heard = []
    term_losses(products_of(integers), rule, 1.0, progress=heard.append)
    assert heard[-1] == 1
    monkeypatch.setattr(terms, "_terms", None)
    with pytest.raises(StudyError, match="not built here"):
        term_losses(products_of(integers), rule, 1.0, backend="c")
    assert term_losses(products_of(integers), rule, 1.0)[0].size == rule.count


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("radius", [1.0, 20.0])
def test_a_bound_says_so_where_the_solution_is_not_the_best(backend, radius, monkeypatch):
    """Columns that share anything are taken for dependent here, so that few may join: the bounds must still hold."""
    monkeypatch.setattr(terms, "PIVOT", 0.9)
    monkeypatch.setattr("dpselect.minimize.losses.lattice_numpy.PIVOT", 0.9)
    monkeypatch.setattr("dpselect.minimize.losses.terms_numpy.solve_list", _nothing)
    integers, rule = study((1, 2, 1, 3, 1), scale=1.0, seed=4)
    products = products_of(integers)
    values, bounds = term_losses(products, rule, radius, backend=backend)
    listed, list_bounds = list_losses(products, rule.masks(), radius)
    assert (np.abs(values - listed) <= bounds + list_bounds).all()
    assert bounds.max() > 1e-6 * products[-1, -1]


def _nothing(products, masks, radius):
    """A list solver that finds nothing: all coefficients zero."""
    return None, None, np.zeros((masks.size, len(products) - 1))
