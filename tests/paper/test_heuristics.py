"""The paper's heuristics: their scores have the stated ranges on neighbouring tables, and what they choose is what they say."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.budget import NEIGHBORS
from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS, loss_range, score_rounding, solver_tolerance
from dpselect.assume.study import Study, plain_study
from dpselect.errors import DataError
from dpselect.gather.rows import gather
from dpselect.rehearse.simulate import Setting, draw
from paper import heuristics
from paper.heuristics import (
    PENALTIES,
    RADII,
    bounds_share,
    chance_with_private_bounds,
    count_beyond,
    edges,
    interval_scores,
    intervals,
    penalty_scores,
    private_bounds,
    private_penalty,
    private_radius,
    radius_scores,
)
from tests.examples import examples

PLENTY = 1000  # so much epsilon that the choice is the best candidate, but for a chance far below 1e-9
X, Y = draw(Setting("s", 4000, (1.0, 1.0, 0.0, 0.0)), np.random.SeedSequence(8))
STUDY = plain_study(["a", "b", "c", "d"], r=4, R=4)
RHOS = (0.3, 1.0, 2.5)
CORNERS = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])
ROWS = st.lists(st.tuples(CORNERS, CORNERS, CORNERS), min_size=1, max_size=10)
RESPONSES = st.lists(st.floats(-3, 3), min_size=1, max_size=12)
SHARES = st.sampled_from([0.125, 0.25, 0.4375])


# The bounds of y.


def of_intervals(values, outside, neighbors):
    return interval_scores(count_beyond(np.array(values), edges(-2, 2, 6)), outside, neighbors)


@settings(deadline=None)
@given(RESPONSES, st.floats(-3, 3), SHARES)
def test_the_range_of_intervals_holds_when_a_record_is_replaced(values, new, outside):
    here, there = (of_intervals(rest, outside, "replace-one") for rest in (values, [new, *values[1:]]))
    assert np.ptp(there.values - here.values) <= here.range


@settings(deadline=None)
@given(RESPONSES, st.floats(-3, 3), SHARES)
def test_the_range_of_intervals_holds_when_a_record_is_added(values, new, outside):
    here, there = (of_intervals(rest, outside, "add-remove-one") for rest in (values, [new, *values]))
    assert np.ptp(there.values - here.values) <= here.range


@pytest.mark.parametrize(
    ("neighbors", "here", "there"),
    [
        ("replace-one", [-1.5] + [-1.0] * 4 + [1.0] * 5, [1.5] + [-1.0] * 4 + [1.0] * 5),
        ("add-remove-one", [0.5] * 40 + [1.9] * 10, [0.5] * 40 + [1.9] * 10 + [-1.9]),
    ],
)
def test_a_smaller_range_of_intervals_would_be_wrong(neighbors, here, there):
    first, second = of_intervals(here, 0.25, neighbors), of_intervals(there, 0.25, neighbors)
    assert np.ptp(second.values - first.values) > 0.5 * first.range
    assert first.range == (2 if neighbors == "replace-one" else 1.5)  # nor is more paid than is proved


def test_counts_are_strict_and_a_missing_response_is_in_the_middle():
    counted = count_beyond(np.array([-9.0, 1.0, 1.5, 4.0, 99.0, np.nan]), edges(0, 4, 4))
    assert counted.below.tolist() == [1, 1, 3, 4, 4]
    assert counted.above.tolist() == [5, 4, 2, 2, 1]
    assert counted.n == 6
    assert "private" in repr(counted)


def test_the_best_interval_of_a_uniform_response_is_between_its_quartiles():
    places = edges(-10, 10)
    scores = interval_scores(count_beyond(np.linspace(0, 1, 4001), places), 0.25, "replace-one")
    first, last = intervals()
    best = int(np.argmin(scores.values))
    assert places[first[best]] == pytest.approx(0.25, abs=10 / 128)
    assert places[last[best]] == pytest.approx(0.75, abs=10 / 128)
    assert scores.values.size == 257 * 256 // 2


def test_bounds_are_the_quartiles_if_epsilon_is_plenty():
    assert private_bounds(Y, -10, 10, epsilon=PLENTY) == pytest.approx(np.quantile(Y, [0.25, 0.75]), abs=20 / 256)


def test_a_long_table_needs_a_smaller_share_for_its_bounds():
    assert bounds_share(1000, 1) == pytest.approx(0.15)
    assert bounds_share(10**6, 1) == 0.02
    assert bounds_share(100, 1) == 0.2


def test_chances_do_not_depend_on_the_number_of_workers():
    small = Setting("small", 100, (1.0, 1.0, 0.0))
    one, two = (chance_with_private_bounds(small, 2.0, count=30, jobs=jobs) for jobs in (1, 2))
    assert one == two


# R and phi.


def a_study(neighbors):
    return plain_study(["a", "b"], r=1, R=1.2, neighbors=neighbors)


def moments(rows, neighbors):
    table = np.array(rows, float).reshape(-1, 3)
    return gather((table[:, :2], table[:, 2]), a_study(neighbors))


def both(score, here, there, neighbors):
    first, second = (score(moments(rows, neighbors), a_study(neighbors)) for rows in (here, there))
    return np.ptp(second.values - first.values), min(first.range, second.range)


def by_radius(table, study):
    return radius_scores(table, study, RHOS, 0.1)


def by_penalty(table, study):
    return penalty_scores(table, study, (0.1, 0.5, 1.0, 4.0), (0, 1))


@pytest.mark.parametrize("score", [by_radius, by_penalty])
@settings(deadline=None, max_examples=examples(60))
@given(rows=ROWS, new=st.tuples(CORNERS, CORNERS, CORNERS))
def test_the_ranges_hold_when_a_record_is_replaced_or_added(score, rows, new):
    moved, stated = both(score, rows, [new, *rows[1:]], "replace-one")
    assert moved <= stated
    moved, stated = both(score, rows, [new, *rows], "add-remove-one")
    assert moved <= stated


def test_half_the_radius_range_would_be_too_little():
    """Rows on y = 1.25 a - 1.25 b, fitted exactly by the largest radius alone; the new record is far from that."""
    rows = [(0.8, 0.0, 1.0)] * 2000 + [(0.0, 0.8, -1.0)] * 2000
    moved, stated = both(by_radius, rows, [*rows, (-1.0, 1.0, 1.0)], "add-remove-one")
    assert 0.5 * stated < moved <= stated


def test_half_the_penalty_range_would_be_too_little():
    """One record moves the drop of the first column towards one penalty and away from the other."""
    study = plain_study(["a", "b"], r=1, R=1.3, neighbors="add-remove-one")
    rows = [(0.8, 0.0, 1.0)] * 200 + [(0.0, 1.0, 0.05)] * 100_000  # drops of 200 and of 250
    tables = (np.array(each) for each in (rows, [*rows, (1.0, 0.0, -1.0)]))
    gathered = [gather((table[:, :2], table[:, 2]), study) for table in tables]
    first, second = (penalty_scores(each, study, (191.0, 206.0), (0, 1)) for each in gathered)
    assert first.values == pytest.approx([-9, -6], abs=0.01)
    assert 0.5 * first.range < np.ptp(second.values - first.values) <= first.range


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("persons", [1, 3])
def test_both_ranges_have_every_part(neighbors, persons):
    """Twice the range of a loss for a penalty; four times what the solver and rounding may err, which is twice in a drop."""
    stated = a_study(neighbors)
    table = moments([(0.8, 0.0, 1.0), (0.0, 0.8, -1.0), (0.5, 0.5, 0.0)], neighbors)
    if persons > 1:
        stated = Study.from_dict(stated.to_dict() | {"person": "id", "max_rows_per_person": persons})
    rows = persons * (2 if neighbors == "replace-one" else 1)
    most = 3 if neighbors == "replace-one" else MAXIMUM_ROWS
    hair = 1 + Fraction(1, 2**40)
    once = rows * Fraction(loss_range(1.0, stated.rho, "add-remove-one"))
    error = 2 * Fraction(solver_tolerance(1.0, stated.rho)) + Fraction(score_rounding(float(most), 4.0))
    paid = Fraction(penalty_scores(table, stated, (0.1, 4.0), (0, 1)).range)
    assert 2 * once + 4 * error <= paid <= (2 * once + 4 * error) * hair
    widest = rows * Fraction(loss_range(1.0, 2.5, "add-remove-one"))
    error = Fraction(solver_tolerance(1.0, 2.5)) + Fraction(score_rounding(float(most), 0.1 * float(widest)))
    paid = Fraction(by_radius(table, stated).range)
    assert widest + 4 * error <= paid * hair and paid <= (widest + 4 * error) * hair


def test_the_radius_is_as_large_as_the_fit_is_worth():
    """The coefficients' norm is 2, so of radii 1, 2 and 4 the second is wanted where noise is cheap, the first where not."""
    gathered = gather((X, Y), STUDY)
    cheap = private_radius(gathered, STUDY, epsilon=PLENTY, choice_epsilon=10, rhos=(0.25, 0.5, 1.0))
    dear = private_radius(gathered, STUDY, epsilon=PLENTY, choice_epsilon="0.005", rhos=(0.25, 0.5, 1.0))
    assert (cheap, dear) == (2.0, 1.0)


def test_the_penalty_lies_between_what_idle_and_real_columns_are_worth():
    found = private_penalty(gather((X, Y), STUDY), STUDY, epsilon=PLENTY, choice_epsilon=1)
    drops = {j: _loss(np.delete(X, j, axis=1)) - _loss(X) for j in range(4)}
    assert max(drops[2], drops[3]) < found < min(drops[0], drops[1])


def _loss(columns):
    coefficients, *_ = np.linalg.lstsq(columns, Y, rcond=None)
    return float(((Y - columns @ coefficients) ** 2).sum())


@pytest.mark.parametrize("private", [private_radius, private_penalty])
def test_moments_of_another_study_are_refused(private):
    other = plain_study(["a", "b", "c", "d"], r=4, R=4, neighbors="add-remove-one")
    with pytest.raises(DataError, match="other assumptions"):
        private(gather((X, Y), STUDY), other, epsilon=1, choice_epsilon=1)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("what", ["bounds", "radius", "penalty"])
def test_each_is_drawn_over_its_whole_range_for_no_more_than_its_epsilon(what, neighbors, monkeypatch):
    drawn = []
    monkeypatch.setattr(heuristics, "choose", lambda *given: drawn.append(given) or 0)
    stated = plain_study(["a", "b", "c", "d"], r=4, R=4, neighbors=neighbors)
    if what == "bounds":
        private_bounds(Y, -4, 4, epsilon="0.7", neighbors=neighbors)
        needed = 2 if neighbors == "replace-one" else 1.5
    else:
        private = {"radius": private_radius, "penalty": private_penalty}[what]
        private(gather((X, Y), stated), stated, epsilon="0.7", choice_epsilon=1)
        needed = loss_range(1, max(RADII), neighbors) if what == "radius" else 2 * loss_range(1, 1, neighbors)
    ((scores, mechanism, epsilon),) = drawn
    assert scores.range >= needed and mechanism == "permute-and-flip"
    assert Fraction(69, 100) < Fraction(epsilon) <= Fraction(7, 10)


@pytest.mark.parametrize(("menu", "ends"), [(RADII, (0.25, 4.0)), (PENALTIES, (0.25, 20.0))])
def test_the_menus_hold_the_default_and_leave_no_wide_gap(menu, ends):
    """A choice among them can be no better than the nearest: 1 is the default, and none is more than twice the one before."""
    assert 1.0 in menu and (menu[0], menu[-1]) == ends
    assert all(here < there <= 2 * here for here, there in itertools.pairwise(menu))
