"""The plan's chances by levels against the exact ones over the whole list."""

from fractions import Fraction

import numpy as np
import pytest

from dpselect.assume.models.candidates import all_subsets
from dpselect.penalize.margins import Margins
from dpselect.rehearse.chances.all import selection_probabilities
from dpselect.rehearse.planning import levels
from dpselect.rehearse.planning.levels import level_chances


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
def test_they_are_those_of_the_list(seed, mechanism, monkeypatch):
    rng = np.random.default_rng(seed)
    terms, epsilon, threshold = int(rng.integers(1, 7)), float(rng.choice([0.1, 1.0, 10.0])), int(rng.integers(0, 30))
    agreement, price = rng.integers(0, 30, terms), float(rng.integers(0, 3)) / 2
    margins = Margins(agreement, threshold, Fraction(0), all_subsets(terms, empty=True), 8.0)
    sets = np.array([[mask >> j & 1 for j in range(terms)] for mask in range(1 << terms)], dtype=bool)
    scores = margins.scores().values + price * 8.0 / epsilon * sets.sum(axis=1)
    listed = selection_probabilities(scores, 8.0, epsilon, mechanism)
    if mechanism == "exponential":
        monkeypatch.setattr(levels, "LISTED_TERMS", 0)
    found = level_chances(agreement.astype(float), threshold, epsilon / 8.0, price)
    np.testing.assert_allclose([found.chance_of(taken) for taken in sets], listed, atol=1e-6)
    np.testing.assert_allclose(found.inclusion, listed @ sets, atol=1e-6)


def test_drawn_sets_have_these_chances():
    found = level_chances(np.array([9.0, 5.0, 4.0, 1.0]), 5, 0.2, 0.3)
    drawn = np.array(found.models(np.random.default_rng(1), 4000))
    np.testing.assert_allclose(drawn.mean(axis=0), found.inclusion, atol=0.03)


def test_hundreds_of_terms_need_no_list():
    found = level_chances(np.r_[np.full(5, 900.0), np.full(195, 100.0)], 500, 0.25, 3.0)
    assert found.inclusion[:5] == pytest.approx(np.ones(5), abs=1e-6)
    assert found.inclusion[5:].sum() < 1e-6
