"""The chances of votes by levels against those of the whole list."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.randomize.test_levels import random_margins

from dpselect.rehearse.chances.all import selection_probabilities
from dpselect.rehearse.chances.votes import vote_chances


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
@settings(derandomize=True, max_examples=120, deadline=None)
@given(seed=st.integers(0, 2**32), epsilon=st.sampled_from([0.01, 0.7, 3.0, 40.0]))
def test_chances_of_models_and_terms_are_those_of_the_list(mechanism, seed, epsilon):
    margins = random_margins(np.random.default_rng(seed))
    rule = margins.candidates
    listed = selection_probabilities(margins.scores().values, margins.range, epsilon, mechanism)
    found = vote_chances(margins, epsilon, mechanism)
    masks = list(rule)
    np.testing.assert_allclose([found.chance_of(mask) for mask in masks], listed, atol=1e-9)
    inside = [sum(p for p, mask in zip(listed, masks, strict=True) if mask & term) for term in rule.terms]
    np.testing.assert_allclose(found.inclusion, inside, atol=1e-9)
    leading = found.leading(3)
    assert [chance for _, chance in leading] == pytest.approx(sorted(listed, reverse=True)[:3], abs=1e-9)
    assert len({mask for mask, _ in leading}) == len(leading)
    assert all(chance == pytest.approx(listed[rule.index(mask)], abs=1e-9) for mask, chance in leading)
