"""Claim: the scores by which a radius and a penalty are tuned have the stated ranges on neighbouring tables."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS, loss_range, score_rounding, solver_tolerance
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.paper_setting import plain_assumptions
from dpselect.gather.table import gather_table
from dpselect.penalize.tuning_scores import penalty_scores, radius_scores

RHOS = (0.3, 1.0, 2.5)
CORNERS = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])
ROWS = st.lists(st.tuples(CORNERS, CORNERS, CORNERS), min_size=1, max_size=10)


def study(neighbors):
    return plain_assumptions(["a", "b"], r=1, R=1.2, neighbors=neighbors)


def moments(rows, neighbors):
    table = np.array(rows, float).reshape(-1, 3)
    return gather_table((table[:, :2], table[:, 2]), study(neighbors))


def both(score, here, there, neighbors):
    first, second = (score(moments(rows, neighbors), study(neighbors)) for rows in (here, there))
    return np.ptp(second.values - first.values), min(first.range, second.range)


def by_radius(table, assumptions):
    return radius_scores(table, assumptions, RHOS, 0.1)


def by_penalty(table, assumptions):
    return penalty_scores(table, assumptions, (0.1, 0.5, 1.0, 4.0), (0, 1))


@pytest.mark.parametrize("score", [by_radius, by_penalty])
@settings(deadline=None, max_examples=60)
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
    assumptions = plain_assumptions(["a", "b"], r=1, R=1.3, neighbors="add-remove-one")
    rows = [(0.8, 0.0, 1.0)] * 200 + [(0.0, 1.0, 0.05)] * 100_000  # drops of 200 and of 250
    tables = (np.array(each) for each in (rows, [*rows, (1.0, 0.0, -1.0)]))
    gathered = [gather_table((table[:, :2], table[:, 2]), assumptions) for table in tables]
    first, second = (penalty_scores(each, assumptions, (191.0, 206.0), (0, 1)) for each in gathered)
    assert first.values == pytest.approx([-9, -6], abs=0.01)
    assert 0.5 * first.range < np.ptp(second.values - first.values) <= first.range


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize("persons", [1, 3])
def test_both_ranges_have_every_part(neighbors, persons):
    """Twice the range of a loss for a penalty; four times what the solver and rounding may err, which is twice in a drop."""
    stated = study(neighbors)
    rows = [(0.8, 0.0, 1.0), (0.0, 0.8, -1.0), (0.5, 0.5, 0.0)]
    table = moments(rows, neighbors)
    if persons > 1:
        stated = Assumptions.from_dict(stated.to_dict() | {"person": "id", "max_rows_per_person": persons})
    once = persons * (2 if neighbors == "replace-one" else 1) * Fraction(loss_range(1.0, stated.rho, "add-remove-one"))
    most = 3 if neighbors == "replace-one" else MAXIMUM_ROWS
    error = 2 * Fraction(solver_tolerance(1.0, stated.rho)) + Fraction(score_rounding(float(most), 4.0))
    paid = Fraction(penalty_scores(table, stated, (0.1, 4.0), (0, 1)).range)
    assert 2 * once + 4 * error <= paid <= (2 * once + 4 * error) * (1 + Fraction(1, 2**40))
    widest = persons * (2 if neighbors == "replace-one" else 1) * Fraction(loss_range(1.0, 2.5, "add-remove-one"))
    price = 0.1 * float(widest)
    error = Fraction(solver_tolerance(1.0, 2.5)) + Fraction(score_rounding(float(most), price))
    paid = Fraction(by_radius(table, stated).range)
    assert widest + 4 * error <= paid * (1 + Fraction(1, 2**40)) and paid <= (widest + 4 * error) * (
        1 + Fraction(1, 2**40)
    )
