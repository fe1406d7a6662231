"""Claim: the scores of the private interval have the stated range on every pair of neighbouring tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.gather.responses import count_beyond
from dpselect.randomize.interval import edges, interval_scores

RESPONSES = st.lists(st.floats(-3, 3), min_size=1, max_size=12)


def scores(values, outside, neighbors):
    return interval_scores(count_beyond(np.array(values), edges(-2, 2, 6)), outside, neighbors)


@settings(deadline=None)
@given(RESPONSES, st.floats(-3, 3), st.sampled_from([0.125, 0.25, 0.4375]))
def test_the_range_holds_when_a_record_is_replaced(values, new, outside):
    here, there = (scores([*rest], outside, "replace-one") for rest in ([values[0], *values[1:]], [new, *values[1:]]))
    assert np.ptp(there.values - here.values) <= here.range


@settings(deadline=None)
@given(RESPONSES, st.floats(-3, 3), st.sampled_from([0.125, 0.25, 0.4375]))
def test_the_range_holds_when_a_record_is_added(values, new, outside):
    here, there = (scores(rest, outside, "add-remove-one") for rest in (values, [new, *values]))
    assert np.ptp(there.values - here.values) <= here.range


@pytest.mark.parametrize(
    ("neighbors", "here", "there"),
    [
        ("replace-one", [-1.5] + [-1.0] * 4 + [1.0] * 5, [1.5] + [-1.0] * 4 + [1.0] * 5),
        ("add-remove-one", [0.5] * 40 + [1.9] * 10, [0.5] * 40 + [1.9] * 10 + [-1.9]),
    ],
)
def test_a_smaller_range_would_be_wrong(neighbors, here, there):
    outside = 0.25
    first, second = scores(here, outside, neighbors), scores(there, outside, neighbors)
    assert np.ptp(second.values - first.values) > 0.5 * first.range
    assert first.range == (2 if neighbors == "replace-one" else 1.5)  # nor is more paid than is proved
