"""Claim: no record that is replaced moves a round's gradient farther than `paired` says, and some move it nearly as far."""

import itertools
import math

import numpy as np
import pytest

from dpselect.assume.lemmas.logistic import (
    BITS,
    MOST_CELLS,
    NARROWEST,
    _edges,
    _extremes,
    _half_root,
    extent_of,
    gradient_residual,
    gradient_sensitivity,
    links,
    paired,
)
from dpselect.assume.study import Study
from dpselect.assume.variables import GRID, Binary, Categorical, Numeric
from dpselect.gather.logistic import LogisticSummary
from dpselect.gather.rows import gather
from dpselect.randomize.logistic_noise import rounded_gradient

CENTERS = [
    (0, 1.1, 0.7, 0.4),
    (-3.3, 1.1, 0.7, 0.4),
    (0, 0, 0, 0),
    (2, 3, -3, 0.01),
    (-5.9, 1, 1, 0),
    (0.3, 2.5, -1.8, 1.5),
    (5.9, -2, 2, 2),
]


def whole(center):
    return tuple(int(each * GRID) for each in center)


def largest_move(center, constant, rows):
    """The longest (y - p) x - (y' - p') x' among rows: by hand, with the logistic function itself."""
    slope = np.array(center, dtype=float)
    chance = 1 / (1 + np.exp(-rows @ slope))
    added = np.concatenate([(y - chance)[:, None] * rows for y in (0.0, 0.5, 1.0)] + [np.zeros((1, len(slope)))])
    squares = (added**2).sum(axis=1)
    return math.sqrt(max(float((squares[k] + squares - 2 * added @ added[k]).max()) for k in range(len(added))))


@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize("constant", [0, None])
def test_no_pair_is_farther_apart_and_some_nearly_are(center, constant):
    generator = np.random.default_rng(8)
    corners = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=4)))
    rows = np.concatenate([corners, generator.uniform(-1, 1, (800, 4))])
    if constant is not None:
        rows = rows[rows[:, 0] != 0]
        rows[:, 0] = 1.0
    residual = paired(links(whole(center)), whole(center), constant, 4)
    paid = 2 * math.sqrt(4) * residual / 2**21
    found = largest_move(center, constant, rows)
    assert found <= paid
    assert found > 0.82 * paid  # Cauchy and Schwarz forget that no column moves by more than 2
    assert paid <= 2 * math.sqrt(4) * (links(whole(center)).residual + 300) / 2**21  # never worse than each by itself


def test_it_is_attained_without_slopes_and_with_one():
    """Without slopes both kinds are a formula: T for opposite answers, 4 s^2 (T - 1) for alike ones with an intercept."""
    for middle in (0.0, -1.0, -4.0):
        surprise = 1 / (1 + math.exp(middle))
        for terms in (1, 2, 6, 40):
            center = whole((middle, *(0,) * (terms - 1)))
            expected = math.sqrt(max(terms, 4 * surprise**2 * (terms - 1)))
            paid = 2 * math.sqrt(terms) * paired(links(center), center, 0, terms) / 2**21
            assert expected <= paid <= 1.01 * expected
    for slope in (0.5, 1.0, 2.0):  # one column of twenty carries both rows apart: x and x' differ there alone, by 2
        center = whole((0, slope, *(0,) * 18))
        expected = 2 / (1 + math.exp(-slope)) * math.sqrt(19)
        assert expected <= 2 * math.sqrt(20) * paired(links(center), center, 0, 20) / 2**21 <= 1.01 * expected
    for middle, slope in (
        (-1, 1.5),
        (-2, 0.5),
    ):  # two rows of one kind: alike in the intercept and this column, opposite elsewhere
        center = whole((middle, slope, *(0,) * 18))
        expected = 2 / (1 + math.exp(middle - slope)) * math.sqrt(18)
        assert expected <= 2 * math.sqrt(20) * paired(links(center), center, 0, 20) / 2**21 <= 1.01 * expected
    rare = whole((-3.3, 1.1, 0.7, 0.4, 0, 0))
    assert paired(links(rare), rare, 0, 6) < 0.9 * links(rare).residual
    even = whole((0, 1.1, 0.7, 0.4, 0, 0))
    assert paired(links(even), even, 0, 6) < 0.82 * links(even).residual


@pytest.mark.parametrize("missing", ["midpoint", "zero-row"])
@pytest.mark.parametrize("intercept", ["always", "none"])
def test_no_row_of_the_program_moves_its_sums_farther(missing, intercept):
    """The program's own whole numbers, with a category and missing cells, at centers that were drawn."""
    study = Study(
        Binary("y", [0, 1]),
        [Numeric("u", -1, 1), Numeric("v", -1, 1), Categorical("kind", [0, 1, 2])],
        missing=missing,
        intercept=intercept,
    )
    width, extent = len(study.columns), extent_of(study.columns)
    constant = 0 if intercept == "always" else None
    generator, nan = np.random.default_rng(5), float("nan")
    records = list(itertools.product((-1.0, 0.3, 1.0, nan), (-1.0, 1.0), (0.0, 1.0, 2.0, nan), (0.0, 1.0, nan)))
    for center in (whole(generator.normal(0, size, width)) for size in (0.02, 0.5, 1.5)):
        table = links(center)
        made = []
        for u, v, kind, y in records:
            source = np.array([[u, v, kind]]), np.array([y])
            made.append(rounded_gradient(gather(source, study, LogisticSummary(study, range(width), center, table))))
        sums = np.array(made, dtype=float)
        worst = max(float(np.linalg.norm(sums - one, axis=1).max()) for one in sums)
        residual = gradient_residual(center, constant, extent, "replace-one")
        assert 0.6 * gradient_sensitivity(extent, residual, "replace-one") < worst
        assert worst <= gradient_sensitivity(extent, residual, "replace-one") < 2 ** (BITS + 3)
        added = gradient_residual(center, constant, extent, "add-remove-one")
        assert added == table.residual
        assert float(np.linalg.norm(sums, axis=1).max()) <= gradient_sensitivity(extent, added, "add-remove-one")


def test_the_cells_hold_every_eta_and_their_chances():
    """Every step of a table, cut into cells: what a cell says is the most and the least of what it holds, with a step more."""
    for center in ((0, 3), (-3 * GRID, GRID, GRID // 3), (5 * GRID, 6 * GRID), (0,)):
        middle, reach, table = center[0], sum(map(abs, center[1:])), links(center)
        edges = _edges(middle, reach)
        assert edges[0] * 2**10 <= middle - reach and middle + reach <= edges[-1] * 2**10
        assert len(edges) <= MOST_CELLS + 2 and set(np.diff(edges)) <= {max(NARROWEST, int(np.diff(edges)[0]))}
        most, least = _extremes(table, edges)
        for k in range(0, len(most), 7):
            steps = np.clip(np.arange(edges[k] - 1, edges[k + 1] + 2), -table.steps, table.steps) + table.steps
            assert (most[k], least[k]) == (table.chances[steps].max(), table.chances[steps].min())


@pytest.mark.parametrize("terms", [1, 6, 40])
def test_the_root_is_rounded_up_with_room_for_what_doubles_lost(terms):
    """Next to squares of whole numbers a root that is a little too small is a whole number too small."""
    for root in (2**20, 2**20 + 12_345, 2**21):
        for more in range(-8, 9):
            largest = float((root**2 + more) * terms)
            made = _half_root(largest * (1 - 0.9 * 2.0**-40), terms)
            assert made**2 * terms >= largest
            assert made <= math.sqrt(largest / terms) + 1.01
