"""The certificate's proof, put to the test with fractions: for coefficients good and bad, and for copies of copies."""

from fractions import Fraction

import numpy as np
import pytest

from dpselect.gather.moments import Moments
from dpselect.minimize.losses import lattice_compiled, lattice_numpy
from dpselect.minimize.losses.exact import exact_loss
from dpselect.minimize.losses.lattice import lattice_losses
from dpselect.minimize.losses.lattice_certificate import certify, rounding_shares, scales_of

no_compiler = pytest.mark.skipif(not lattice_compiled.is_available(), reason="the C kernel was not built here")
backends = pytest.mark.parametrize("backend", [pytest.param("c", marks=no_compiler), "numpy"])
GRID = 2**20


def moments_of(x, y):
    rows = [[round(float(value) * GRID) for value in row] for row in np.clip(np.column_stack([x, y]), -1, 1)]
    side = x.shape[1] + 1
    products = np.array([[sum(r[i] * r[j] for r in rows) for j in range(side)] for i in range(side)], object)
    return Moments(len(rows), products, tuple(f"x{j}" for j in range(side - 1)), "test")


def hard(kind, seed, d=5):
    rng = np.random.default_rng(seed)
    n = 3 if kind == "fewer rows than columns" else 40
    x = rng.uniform(-1, 1, (n, d))
    if kind == "correlation .999":
        x = 0.999 * rng.uniform(-1, 1, (n, 1)) + 0.0447 * rng.uniform(-1, 1, (n, d))
    if kind == "collinear up to 1e-4":
        x[:, 2:] = (1 - 1e-4) * x[:, : d - 2] + 1e-4 * rng.uniform(-1, 1, (n, d - 2))
    if kind == "collinear up to the grid":
        x[:, 2:] = x[:, : d - 2] + rng.integers(-1, 2, (n, d - 2)) / GRID
    if kind == "duplicates":
        x[:, 3], x[:, 4] = x[:, 0], -x[:, 1]
    if kind == "dummy trap":
        x[:, :3], x[:, 3] = np.eye(3)[rng.integers(0, 3, n)], 1.0
    if kind == "sum of columns":
        x[:, 4] = np.round(x[:, :3] * 2**10) @ np.ones(3) / 2**12
        x[:, :3] = np.round(x[:, :3] * 2**10) / 2**10
    return moments_of(x, x @ rng.normal(0, 0.5, d) + rng.normal(0, 0.2, n))


HARD = [
    "plain", "correlation .999", "collinear up to 1e-4", "collinear up to the grid", "duplicates", "dummy trap",
    "sum of columns", "fewer rows than columns",
]  # fmt: skip


@backends
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("radius", [0.1, 1.0, 4.0, 200.0])
def test_bounds_hold_against_the_exact_solver_on_hard_designs(kind, radius, backend):
    moments = hard(kind, 11)
    values, bounds = lattice_losses(moments.scaled(), radius, backend=backend)
    for mask in range(32):
        truth = exact_loss(moments.integers(), mask, radius)[0]
        assert abs(Fraction(values[mask]) - truth) <= Fraction(bounds[mask])
    if kind != "collinear up to the grid":
        assert bounds.max() <= 2.0**-24 * (1 + radius) ** 2


@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_for_coefficients_that_are_not_optimal(seed):
    rng = np.random.default_rng(seed)
    moments, radius = hard("plain", seed, d=4), float(rng.choice([0.2, 1.0, 3.0]))
    products = moments.scaled()[None]
    mask = int(rng.integers(1, 16))
    inside = np.array([mask >> j & 1 == 1 for j in range(4)])
    b = np.where(inside, rng.normal(0, 1, 4), 0.0)
    b *= radius / np.abs(b).sum() * rng.choice([0.5, 1.0, 1 + 2**-50, 1.1])  # also outside the ball
    found = certify(products, scales_of(products, 2.0**-53), b[None, None, None], np.array([radius]), 2.0**-53)
    value, bound = found.bound(inside)
    truth = exact_loss(moments.integers(), mask, radius)[0]
    assert abs(Fraction(value.item()) - truth) <= Fraction(bound.item())


def test_a_bound_is_sound_for_every_subset_between_support_and_nonviolators():
    moments, radius = hard("plain", 5), 0.15
    products = moments.scaled()[None]
    for support in range(1, 32):
        _, exact = exact_loss(moments.integers(), support, radius)
        b = np.array([float(v) for v in exact])
        found = certify(products, scales_of(products, 2.0**-53), b[None, None, None], np.array([radius]), 2.0**-53)
        q = np.abs(found.correlations[0, 0, 0])
        inside = np.array([support >> j & 1 == 1 for j in range(5)])
        reached = q <= q[inside].max() * (1 + 1e-9)
        value, bound = found.bound(inside | reached)
        assert bound < 1e-10
        for larger in range(32):
            covered = all(inside[j] | reached[j] for j in range(5) if larger >> j & 1)
            if larger & support == support and covered:
                truth = exact_loss(moments.integers(), larger, radius)[0]
                assert abs(Fraction(value.item()) - truth) <= Fraction(bound.item())


@backends
def test_entries_that_are_wrong_by_their_stated_error_are_covered(backend):
    moments, error = hard("plain", 8), 1e-9
    rng = np.random.default_rng(3)
    noise = 1 + error * rng.uniform(-1, 1, (6, 6))
    products = moments.scaled() * np.tril(noise) + moments.scaled() * np.tril(noise, -1).T
    values, bounds = lattice_losses(products, 1.0, error=error, backend=backend)
    careless, small = lattice_losses(products, 1.0, backend=backend)
    truth = [exact_loss(moments.integers(), mask, 1.0)[0] for mask in range(32)]
    assert all(abs(Fraction(v) - t) <= Fraction(e) for v, t, e in zip(values, truth, bounds, strict=True))
    assert any(abs(Fraction(v) - t) > Fraction(e) for v, t, e in zip(careless, truth, small, strict=True))


@backends
def test_numbers_beyond_all_bounds_give_infinite_bounds_and_no_crash(backend):
    products = np.full((4, 4), 1e300)
    values, bounds = lattice_losses(products, 1e200, backend=backend)
    assert np.isfinite(values).all()
    assert not (bounds <= 1e300).all()


@backends
@pytest.mark.parametrize("slack", [1e9, 1e12, 3e12, 1e13, 1e14])
@pytest.mark.parametrize("radius", [0.3, 5.0])
def test_bounds_hold_when_violators_are_overlooked(slack, radius, backend, monkeypatch):
    # With too much slack subsets become copies of children that do not solve them: the bound has to say how bad they are.
    for module in (lattice_compiled, lattice_numpy):
        monkeypatch.setattr(module, "SLACK", slack)
    for kind in ("plain", "correlation .999"):
        moments = hard(kind, 4)
        values, bounds = lattice_losses(moments.scaled(), radius, backend=backend)
        truth = [exact_loss(moments.integers(), mask, radius)[0] for mask in range(32)]
        assert all(abs(Fraction(v) - t) <= Fraction(e) for v, t, e in zip(values, truth, bounds, strict=True))
        assert slack < 1e14 or any(abs(Fraction(v) - t) > 1e-3 for v, t in zip(values, truth, strict=True))


@backends
@pytest.mark.parametrize("pivot", [1e-3, 0.3, 0.9, 2.0])
@pytest.mark.parametrize("radius", [0.3, 5.0])
def test_bounds_hold_when_sound_designs_are_taken_for_singular(pivot, radius, backend, monkeypatch):
    # Then nothing is left but the best child, down to the empty model.
    for module in (lattice_compiled, lattice_numpy):
        monkeypatch.setattr(module, "PIVOT", pivot)
    for kind in ("plain", "correlation .999", "duplicates"):
        moments = hard(kind, 4)
        values, bounds = lattice_losses(moments.scaled(), radius, backend=backend)
        truth = [exact_loss(moments.integers(), mask, radius)[0] for mask in range(32)]
        assert all(abs(Fraction(v) - t) <= Fraction(e) for v, t, e in zip(values, truth, bounds, strict=True))
        if pivot > 1:
            np.testing.assert_allclose(values, float(truth[0]), rtol=1e-12)


@no_compiler
@pytest.mark.parametrize("d", [3, 8, 20])
def test_the_twins_know_of_the_same_rounding(d):
    rng = np.random.default_rng(d)
    table = rng.uniform(-1, 1, (50, d + 1))
    products = table.T @ table
    for radius in (0.0, 0.5, 100.0):
        for error in (2.0**-53, 1e-9):
            # The empty model has no gap, so that its bound is rounding alone.
            ours = lattice_losses(products, radius, error=error, max_size=0, backend="c")[1].item()
            twin = lattice_losses(products, radius, error=error, max_size=0, backend="numpy")[1].item()
            assert twin <= ours <= twin * (1 + 1e-6)


@backends
def test_what_is_no_number_is_certified_for_nobody(backend):
    products = hard("plain", 2).scaled()
    products[0, 1] = products[1, 0] = np.nan
    _, bounds = lattice_losses(products, 1.0, backend=backend)
    masks = np.arange(32)
    assert np.isinf(bounds[masks & 3 == 3]).all()


@pytest.mark.parametrize("error", [2.0**-53, 0.0])
def test_the_share_for_rounding_is_that_of_the_proof(error):
    """(k + 4) roundings of 2^-53 for k coefficients, and twice the error of an entry: no less, and nothing to speak of more."""
    shares = rounding_shares(20, error)
    assert len(shares) == 21
    for k, share in enumerate(shares.tolist()):
        u = Fraction(k + 4, 2**53)
        needed = u / (1 - u) + 2 * Fraction(error)
        assert needed < Fraction(share) < needed * (1 + Fraction(1, 2**39))


@pytest.mark.parametrize("b", [0.5, 0.5000001, 0.75, 1.0])
def test_coefficients_outside_the_ball_are_paid_for(b):
    """x = y in one row and |b| at most 1/2: the loss is 1/4, whatever coefficients are evaluated."""
    products = np.ones((1, 2, 2))
    certificate = certify(products, scales_of(products, 0.0), np.full((1, 1, 1, 1), b), np.array([0.5]), 0.0)
    value, bound = certificate.bound(np.ones((1, 1, 1, 1), bool))
    assert abs(Fraction(value.item()) - Fraction(1, 4)) <= Fraction(bound.item())
