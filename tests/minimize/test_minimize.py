"""Every candidate list reaches the right solver and gets losses within the stated tolerance, in its own order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpselect.assume.candidates import CandidateList, SubsetRule, all_subsets
from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS, solver_tolerance
from dpselect.errors import StudyError
from dpselect.gather.moments import Moments
from dpselect.minimize import minimize as everything
from dpselect.minimize.losses.exact import exact_loss
from dpselect.minimize.minimize import minimize_all

GRID = 2**20


def moments_of(x, y, copies=1):
    table = np.column_stack([x, y]).astype(object)
    names = tuple(f"x{j}" for j in range(x.shape[1]))
    return Moments(len(y) * copies, table.T @ table * copies, names, "test")


def some_moments(d, n=40, seed=0, copies=1):
    rng = np.random.default_rng([seed, d])
    x = rng.integers(-GRID, GRID + 1, (n, d))
    y = np.clip(x[:, 0] // 2 - x[:, -1] // 3 + rng.integers(-GRID // 4, GRID // 4, n), -GRID, GRID)
    return moments_of(x, y, copies)


def true_losses(moments, candidates, radius):
    return [exact_loss(moments.integers(), mask, radius)[0] for mask in candidates]


LISTS = {
    "all": all_subsets(6),
    "all and the empty one": all_subsets(6, empty=True),
    "intercept always in": SubsetRule(6, tuple(1 << j for j in range(1, 6)), always=1),
    "terms": SubsetRule(6, (0b000011, 0b011100, 0b100000), empty=True),
    "small ones": SubsetRule(6, tuple(1 << j for j in range(6)), max_size=2),
    "a list in no order": CandidateList(6, (0b101000, 0b001000, 0b111000, 0)),
    "all of them, backwards": CandidateList(6, tuple(reversed(range(64)))),
    "some columns out of use": CandidateList(6, (0b100000, 0b000100, 0b100100)),
    "small ones with an intercept": SubsetRule(6, tuple(1 << j for j in (0, 1, 3, 5)), always=4, max_size=2),
    "one": CandidateList(6, (0b110101,)),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("lattice_pays", [0, 10**6])
def test_each_loss_is_that_of_its_candidate(name, lattice_pays, monkeypatch):
    monkeypatch.setattr(everything, "LATTICE_PAYS", lattice_pays)
    moments, candidates = some_moments(6), LISTS[name]
    losses = minimize_all(moments, candidates, 0.6)
    true = true_losses(moments, candidates, 0.6)
    assert losses.candidates is candidates
    assert losses.tolerance == solver_tolerance(1.0, 0.6)
    assert len(losses.values) == candidates.count
    for value, loss in zip(losses.values, true, strict=True):
        assert abs(Fraction(value) - loss) <= 1e-12 * Fraction(moments.n)


def hard_moments(kind):
    rng = np.random.default_rng(len(kind))
    x = rng.integers(-GRID, GRID + 1, (12, 5))
    y = rng.integers(-GRID, GRID + 1, 12)
    if kind == "duplicates":
        x[:, 3:] = x[:, :2]
    elif kind == "dummy trap":
        x[:, 1:] = np.eye(4, dtype=np.int64)[rng.integers(0, 4, 12)] * GRID
        x[:, 0] = GRID
    elif kind == "zero columns":
        x[:, ::2] = 0
    elif kind == "fewer rows than columns":
        x, y = x[:3], y[:3]
    elif kind == "no response":
        y = 0 * y
    elif kind == "one unit apart":
        x = x[:, :1] + rng.integers(-1, 2, x.shape)
    elif kind == "tiny":
        x, y = x % 2, y % 2
    elif kind == "no rows":
        x, y = x[:0], y[:0]
    return moments_of(x, y)


HARD = (
    "duplicates",
    "dummy trap",
    "zero columns",
    "fewer rows than columns",
    "no response",
    "one unit apart",
    "tiny",
    "no rows",
)


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("radius", [0.0, 1e-300, 1e-3, 0.5, 3.0, 1e4, 2.0**100])
@pytest.mark.parametrize("lattice_pays", [0, 8])
def test_hard_designs_are_within_the_stated_tolerance(kind, radius, lattice_pays, monkeypatch):
    monkeypatch.setattr(everything, "LATTICE_PAYS", lattice_pays)
    moments, candidates = hard_moments(kind), all_subsets(5, empty=True)
    losses = minimize_all(moments, candidates, radius)
    for value, loss in zip(losses.values, true_losses(moments, candidates, radius), strict=True):
        assert abs(Fraction(value) - loss) <= Fraction(losses.tolerance)
        assert 0 <= value <= moments.scaled()[-1, -1]


@pytest.mark.parametrize("lattice_pays", [0, 8])
def test_with_no_tolerance_every_loss_is_the_exact_one_rounded(lattice_pays, monkeypatch):
    monkeypatch.setattr(everything, "LATTICE_PAYS", lattice_pays)
    moments, candidates = some_moments(5), all_subsets(5)
    losses = minimize_all(moments, candidates, 0.7, tolerance=0.0)
    assert losses.values.tolist() == [float(loss) for loss in true_losses(moments, candidates, 0.7)]
    assert losses.tolerance == everything.ROUNDING


@pytest.mark.parametrize("radius", [0.0, 0.4])
def test_the_largest_table_is_within_the_tolerance(radius):
    """2^32 rows: no double-precision certificate is small enough, and rounding the exact loss must be."""
    moments = some_moments(4, n=64, copies=MAXIMUM_ROWS // 64)
    largest = Moments(moments.n, moments.products * 0 + MAXIMUM_ROWS * GRID**2 - 7, moments.columns, "test")
    for each in (moments, largest):
        losses = minimize_all(each, all_subsets(4), radius)
        assert losses.tolerance == solver_tolerance(1.0, radius)
        for value, loss in zip(losses.values, true_losses(each, all_subsets(4), radius), strict=True):
            assert abs(Fraction(value) - loss) <= Fraction(losses.tolerance)


def test_what_cannot_be_certified_is_computed_exactly(monkeypatch):
    """A solver gone wrong, honest about it: values of nonsense with infinite bounds."""

    def lost(products, masks, radius, **_):
        return np.full(masks.size, -1.0), np.full(masks.size, math.nan)

    def lost_too(products, masks, radius):
        return *lost(products, masks, radius), np.full((masks.size, len(products) - 1), math.nan)

    monkeypatch.setattr(everything, "LATTICE_PAYS", 0)
    monkeypatch.setattr(everything, "list_losses", lost)
    monkeypatch.setattr(everything, "solve_list", lost_too)
    moments = some_moments(4)
    losses = minimize_all(moments, all_subsets(4), 1.0)
    assert losses.values.tolist() == [float(loss) for loss in true_losses(moments, all_subsets(4), 1.0)]


@pytest.mark.parametrize("lattice_pays", [0, 8])
def test_progress_ends_at_one_and_never_falls(lattice_pays, monkeypatch):
    monkeypatch.setattr(everything, "LATTICE_PAYS", lattice_pays)
    heard: list[float] = []
    minimize_all(some_moments(7), all_subsets(7), 0.5, progress=heard.append)
    assert heard == sorted(heard) and heard[-1] == 1.0


def test_the_door_names_public_values():
    moments = some_moments(3)
    for radius in (-1.0, math.nan, math.inf, 2.0**101):
        with pytest.raises(StudyError, match=r"radius is .* between 0 and 2"):
            minimize_all(moments, all_subsets(3), radius)
    with pytest.raises(StudyError, match="4 columns and the moments have 3"):
        minimize_all(moments, all_subsets(4), 1.0)


def test_losses_print_nothing_private():
    losses = minimize_all(some_moments(3), all_subsets(3), 1.0)
    assert repr(losses) == "Losses(candidates=7, values=<private>)"


def test_ten_digits_where_they_cost_little():
    """Nearly equal columns and a huge radius: the tolerance would allow any loss at all, and doubles lose eight digits."""
    rng = np.random.default_rng(10)
    x = rng.integers(-GRID + 16, GRID - 16, (30, 1)) + rng.integers(-16, 17, (30, 6))
    moments = moments_of(x, rng.integers(-GRID, GRID + 1, 30))
    losses = minimize_all(moments, all_subsets(6), 1e8)
    for value, loss in zip(losses.values, true_losses(moments, all_subsets(6), 1e8), strict=True):
        assert abs(Fraction(value) - loss) <= everything.FINE_LOSS_SHARE * Fraction(moments.n)


@pytest.mark.parametrize(("width", "exact"), [(6, True), (64, False)])
def test_digits_beyond_the_tolerance_are_not_bought_at_any_price(width, exact, monkeypatch):
    """With 40 candidates of 64 columns the exact solver would take a minute."""
    called = []
    monkeypatch.setattr(everything, "exact_double", lambda *_: called.append(1) or 0.0)
    candidates = CandidateList(width, tuple(2**width - 1 - k for k in range(40)))
    minimize_all(some_moments(width, n=200), candidates, 1e8)
    assert bool(called) is exact


@pytest.mark.parametrize("max_size", [1, 2, 3])
def test_few_columns_of_many_take_the_lattice_up_to_their_size(max_size, monkeypatch):
    monkeypatch.delattr(everything, "list_losses")
    candidates = SubsetRule(40, tuple(1 << j for j in range(40)), max_size=max_size)
    moments = some_moments(40)
    values = minimize_all(moments, candidates, 0.5).values
    for place in np.random.default_rng(max_size).integers(0, candidates.count, 20).tolist():
        loss = exact_loss(moments.integers(), candidates.mask(place), 0.5)[0]
        assert abs(Fraction(values[place]) - loss) <= 1e-12 * Fraction(moments.n)


@pytest.mark.parametrize("candidates", [CandidateList(3, (0,)), CandidateList(3, (0, 4)), SubsetRule(3, (), always=7)])
def test_the_smallest_lists(candidates):
    moments = some_moments(3)
    values = minimize_all(moments, candidates, 0.5).values
    true = [float(loss) for loss in true_losses(moments, candidates, 0.5)]
    assert values == pytest.approx(true, rel=1e-13)
