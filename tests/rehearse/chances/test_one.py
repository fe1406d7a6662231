import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.errors import StudyError
from dpselect.rehearse.chances.scores import chance_of, selection_probabilities
from tests.examples import examples

ACCURACY = {"exponential": 1e-9, "permute-and-flip": 1e-9, "laplace": 1e-3}


@pytest.mark.parametrize("mechanism", ACCURACY)
@pytest.mark.parametrize("candidates", [1, 2, 7, 63, 1023])
@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0, 100.0])
def test_one_chance_agrees_with_the_exact_chances_of_all(mechanism, candidates, spread):
    rng = np.random.default_rng(candidates)
    values = rng.exponential(size=(6, candidates)) * spread
    exact = selection_probabilities(values, 2.0, 0.7, mechanism)
    for index in {0, candidates // 2, candidates - 1}:
        assert chance_of(index, values, 2.0, 0.7, mechanism) == pytest.approx(exact[:, index], abs=ACCURACY[mechanism])


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8), st.sampled_from(sorted(ACCURACY)))
def test_the_chances_of_all_candidates_add_up_to_one(scores, mechanism):
    values = np.array([scores])
    total = sum(chance_of(i, values, 1.0, 1.0, mechanism)[0] for i in range(len(scores)))
    assert total == pytest.approx(1, abs=len(scores) * ACCURACY[mechanism])


def test_each_row_may_have_a_range_of_its_own_and_blocks_change_nothing():
    rng = np.random.default_rng(3)
    values, ranges = rng.exponential(size=(3000, 40)), rng.uniform(0.1, 2, 3000)
    together = chance_of(5, values, ranges, 1.0)
    one_by_one = [float(chance_of(5, row, width, 1.0)) for row, width in zip(values[::500], ranges[::500], strict=True)]
    assert together[::500] == pytest.approx(one_by_one, abs=1e-12)


def test_an_unknown_mechanism_or_price_is_refused():
    with pytest.raises(StudyError, match="not known"):
        chance_of(0, np.zeros((1, 2)), 1.0, 1.0, "gaussian")
    with pytest.raises(StudyError, match="positive"):
        chance_of(0, np.zeros((1, 2)), 1.0, float("nan"))
