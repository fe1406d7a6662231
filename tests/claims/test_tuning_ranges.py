"""Claim: the scores by which a radius and a penalty are tuned have the stated ranges on neighbouring tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
