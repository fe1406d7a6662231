import numpy as np
import pytest

from dpselect.gather.responses import count_beyond
from dpselect.randomize.interval import edges, interval_scores, intervals


def test_counts_are_strict_and_a_missing_response_is_in_the_middle():
    places = edges(0, 4, 4)
    counted = count_beyond(np.array([-9.0, 1.0, 1.5, 4.0, 99.0, np.nan]), places)
    assert counted.below.tolist() == [1, 1, 3, 4, 4]
    assert counted.above.tolist() == [5, 4, 2, 2, 1]
    assert counted.n == 6
    assert "private" in repr(counted)


def test_the_best_interval_of_a_uniform_response_is_between_its_quartiles():
    places = edges(-10, 10, 256)
    counted = count_beyond(np.linspace(0, 1, 4001), places)
    scores = interval_scores(counted, 0.25, "replace-one")
    first, last = intervals(256)
    best = int(np.argmin(scores.values))
    assert places[first[best]] == pytest.approx(0.25, abs=10 / 128)
    assert places[last[best]] == pytest.approx(0.75, abs=10 / 128)
    assert scores.values.size == 257 * 256 // 2
