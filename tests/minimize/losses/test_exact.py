"""The rational solver against brute force over all supports and sign patterns, itself in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.minimize.losses import exact
from dpselect.minimize.losses.exact import PRODUCT_UNIT, exact_double, exact_loss
from tests.examples import examples

CAREFUL = settings(deadline=None, derandomize=True, max_examples=examples(300))


def integers_of(x, y):
    """Products of an integer table, as if on the grid."""
    table = [[*map(int, row), int(value)] for row, value in zip(x, y, strict=True)]
    width = len(table[0])
    products = [[sum(row[i] * row[j] for row in table) for j in range(width)] for i in range(width)]
    return len(table), [row[:-1] for row in products[:-1]], [row[-1] for row in products[:-1]], products[-1][-1]


def solve(matrix, right):
    """Gauss in fractions; None if singular."""
    size = len(right)
    rows = [[*map(Fraction, row), Fraction(value)] for row, value in zip(matrix, right, strict=True)]
    for p in range(size):
        pivot = next((i for i in range(p, size) if rows[i][p]), None)
        if pivot is None:
            return None
        rows[p], rows[pivot] = rows[pivot], rows[p]
        rows[p] = [value / rows[p][p] for value in rows[p]]
        for i in range(size):
            if i != p:
                rows[i] = [a - rows[i][p] * b for a, b in zip(rows[i], rows[p], strict=True)]
    return [row[-1] for row in rows]


def objective(integers, b):
    _, gram, cross, square = integers
    d = len(b)
    quadratic = sum(b[i] * gram[i][j] * b[j] for i in range(d) for j in range(d))
    return (square - 2 * sum(c * v for c, v in zip(cross, b, strict=True)) + quadratic) / Fraction(PRODUCT_UNIT)


def brute_force(integers, mask, radius):
    """The least of P over all points that are stationary on a face of the ball, feasible ones only.

    Some solution is stationary on a face (support, signs; norm free or at the radius) with independent columns, and its
    equations are then nonsingular; so the least over all such faces is the loss.
    """
    _, gram, cross, _ = integers
    d = len(cross)
    best = objective(integers, [Fraction(0)] * d)
    for signs in product((-1, 0, 1), repeat=d):
        support = [j for j in range(d) if signs[j]]
        if not support or any(not mask >> j & 1 for j in support):
            continue
        square = [[gram[i][j] for j in support] for i in support]
        bordered = [[*row, signs[j]] for row, j in zip(square, support, strict=True)]
        bordered.append([signs[j] for j in support] + [0])
        for matrix, right in (
            (square, [cross[j] for j in support]),
            (bordered, [*(cross[j] for j in support), radius]),
        ):
            found = solve(matrix, right)
            if found is None:
                continue
            b = [Fraction(0)] * d
            for j, value in zip(support, found, strict=False):
                b[j] = value
            if sum(map(abs, b)) <= radius:
                best = min(best, objective(integers, b))
    return best


@st.composite
def small_problems(draw):
    d = draw(st.integers(1, 4))
    n = draw(st.integers(1, 5))
    entry = st.integers(-2, 2)
    x = [[draw(entry) for _ in range(d)] for _ in range(n)]
    kind = draw(st.sampled_from(["as is", "duplicate", "trap", "zero"]))
    for row in x:
        if kind == "duplicate" and d > 1:
            row[-1] = -row[0]
        elif kind == "trap" and d > 2:
            row[-1] = row[0] + row[1]
        elif kind == "zero":
            row[-1] = 0
    y = [draw(st.integers(-3, 3)) for _ in range(n)]
    radius = draw(st.sampled_from([0, 1, 2, 100]) | st.fractions(0, 4, max_denominator=6))
    return integers_of(x, y), draw(st.integers(0, 2**d - 1)), Fraction(radius)


@CAREFUL
@given(small_problems())
def test_the_exact_loss_is_the_brute_force_one(problem):
    integers, mask, radius = problem
    loss, b = exact_loss(integers, mask, radius)
    assert loss == brute_force(integers, mask, radius)
    assert loss == objective(integers, b)
    assert sum(map(abs, b)) <= radius
    assert all(mask >> j & 1 or value == 0 for j, value in enumerate(b))


@CAREFUL
@given(small_problems(), st.lists(st.integers(-1, 1), min_size=4, max_size=4))
def test_a_guess_right_or_wrong_changes_nothing(problem, guess):
    integers, mask, radius = problem
    loss, b = exact_loss(integers, mask, radius)
    assert exact_loss(integers, mask, radius, guess)[0] == loss
    assert exact_loss(integers, mask, radius, [float(value) for value in b])[0] == loss


@CAREFUL
@given(small_problems(), st.fractions(0, 4, max_denominator=6))
def test_a_larger_radius_or_model_never_has_a_larger_loss(problem, more):
    integers, mask, radius = problem
    loss, _ = exact_loss(integers, mask, radius)
    assert exact_loss(integers, mask, radius + more)[0] <= loss
    for j in range(len(integers[2])):
        assert exact_loss(integers, mask | 1 << j, radius)[0] <= loss


def kkt_holds(integers, mask, radius, b):
    """The conditions of the bounded problem, from their definition."""
    _, gram, cross, _ = integers
    d = len(b)
    q = [cross[i] - sum(gram[i][j] * b[j] for j in range(d)) for i in range(d)]
    inside = [j for j in range(d) if mask >> j & 1]
    strongest = max((abs(q[j]) for j in inside), default=Fraction(0))
    return radius * strongest == sum(q[j] * b[j] for j in range(d)) and sum(map(abs, b)) <= radius


@pytest.mark.parametrize("d", [5, 8, 12, 15])
@pytest.mark.parametrize("kind", ["plain", "duplicates", "trap", "few rows", "near-collinear"])
def test_larger_designs_satisfy_the_conditions(d, kind):
    rng = np.random.default_rng([d, len(kind)])
    n = d // 2 if kind == "few rows" else 40
    x = rng.integers(-(2**20), 2**20 + 1, (n, d))
    if kind == "duplicates":
        x[:, d // 2 :] = x[:, : d - d // 2]
    elif kind == "trap":
        x = np.eye(d, dtype=np.int64)[rng.integers(0, d - 1, n)] * 2**20
        x[:, -1] = 2**20
    elif kind == "near-collinear":
        x[:, 1:] = x[:, :1] + rng.integers(-2, 3, (n, d - 1))
    y = rng.integers(-(2**20), 2**20 + 1, n)
    integers = integers_of(x, y)
    for radius in (0.0, 0.01, 0.3, 1.0, 3.0, 50.0, 1e9):
        mask = 2**d - 1
        loss, b = exact_loss(integers, mask, radius)
        assert kkt_holds(integers, mask, Fraction(radius), b)
        assert loss == objective(integers, b)


@pytest.mark.parametrize(
    ("x", "order"),
    [
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [2, 1, 0]),  # all three tie: the smallest eps is the last column's
        ([[1, 0, 1], [0, 1, 0], [0, 0, 0]], [2, 1]),  # of two equal columns the cheaper one joins, the other never
    ],
)
def test_ties_are_broken_as_if_earlier_columns_cost_a_little_more(x, order, monkeypatch):
    joined = []
    exchange = exact._Path.exchange
    monkeypatch.setattr(exact._Path, "exchange", lambda path, p: (joined.append(p), exchange(path, p)))
    exact_loss(integers_of(x, [1, 1, 1]), 7, 100)
    assert joined == order


def test_of_two_columns_that_tie_the_earlier_one_joins_where_the_support_says_so(monkeypatch):
    """What a column costs more is also weighed by those that are in already: here the third joins before the fourth."""
    joined = []
    exchange = exact._Path.exchange
    monkeypatch.setattr(exact._Path, "exchange", lambda path, p: (joined.append(p), exchange(path, p)))
    x = [[-1, -1, 0, 0], [-1, 1, 0, 1], [1, -1, 1, 1], [0, 0, 0, 1]]
    loss, _ = exact_loss(integers_of(x, [-2, 0, -2, 1]), 15, 2)
    assert joined == [1, 2, 0] and loss == Fraction(7, 3) / PRODUCT_UNIT


def test_no_response_no_columns_no_radius():
    x, y = [[3, 1], [2, 2], [1, 0]], [4, 5, 6]
    integers = integers_of(x, y)
    assert exact_loss(integers, 0, 2.0)[0] == Fraction(77, PRODUCT_UNIT)
    assert exact_loss(integers, 3, 0.0)[0] == Fraction(77, PRODUCT_UNIT)
    assert exact_loss(integers_of(x, [0, 0, 0]), 3, 1.0) == (0, [0, 0])


def test_the_rounding_is_to_the_nearest_double():
    integers = integers_of([[3]], [1])
    # min over |b| <= 0.1 of (1 - 3b)^2 at the double 0.1, in units of 2^-40.
    true = (1 - 3 * Fraction(0.1)) ** 2 / PRODUCT_UNIT
    rounded = exact_double(integers, 1, 0.1)
    assert abs(Fraction(rounded) - true) <= min(
        abs(Fraction(float(np.nextafter(rounded, side))) - true) for side in (0, 1)
    )
