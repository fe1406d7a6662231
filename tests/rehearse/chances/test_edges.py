"""The chances of a choice by edge votes, against all candidates listed one by one."""

from fractions import Fraction

import numpy as np
import pytest

from dpselect import StudyError
from dpselect.assume.candidates import SubsetRule, columns_of
from dpselect.penalize.edges import edge_margins
from dpselect.rehearse.chances.edges import EdgeChances
from dpselect.rehearse.chances.scores import selection_probabilities
from tests.penalize.test_edges import CANDIDATES, defined, made_up

EPSILON = 40.0


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("directions", [False, True])
@pytest.mark.parametrize("name", [name for name in CANDIDATES if name != "list"])
def test_models_terms_and_directions(name, directions, mechanism):
    candidates = CANDIDATES[name]
    for seed in range(3):
        leads, rule = made_up(candidates, np.random.default_rng(seed), wide=15)
        margins = edge_margins(leads, rule, candidates, Fraction(3, 4), directions=directions)
        scores = defined(leads, rule, candidates, directions)
        sizes = {mask: len(margins.terms_of(place)) for place, mask in enumerate(margins.masks)}
        values = np.array([0.75 * sizes[mask] - score for (mask, _), score in scores.items()])
        each = dict(zip(scores, selection_probabilities(values, margins.range, EPSILON, mechanism), strict=True))
        found = EdgeChances(margins, EPSILON, mechanism)
        for mask in candidates:
            assert found.chance_of(mask) == pytest.approx(
                sum(p for (own, _), p in each.items() if own == mask), abs=1e-12
            )
        assert found.listed() == pytest.approx([found.chance_of(mask) for mask in candidates])
        assert found.leading(2) == sorted(found.by_model.items(), key=lambda one: -one[1])[:2]
        for term, chance in zip(leads.terms, found.inclusion, strict=True):
            assert chance == pytest.approx(sum(p for (mask, _), p in each.items() if mask >> term[0] & 1))
        told = np.zeros((2, candidates.width))
        for (_, signs), chance in each.items():
            for column, sign in signs:
                told[int(sign < 0), column] += chance
        np.testing.assert_allclose(found.directions, told, atol=1e-12)
        assert set(found.simulate(np.random.default_rng(0), 50)) <= set(candidates)
        assert "<private>" in repr(found)


def test_more_columns_than_a_word_has_and_a_mechanism_without_chances():
    candidates = SubsetRule(70, (1 << 3, 1 << 68), empty=True)
    leads, rule = made_up(candidates, np.random.default_rng(0))
    margins = edge_margins(leads, rule, candidates, Fraction(0))
    listed = EdgeChances(margins, EPSILON).listed()
    assert len(listed) == 4 and listed.sum() == pytest.approx(1)
    assert {columns_of(mask) for mask in margins.masks} == {(), (3,), (68,), (3, 68)}
    for mechanism in ("laplace", "another"):
        with pytest.raises(StudyError, match="permute-and-flip and exponential"):
            EdgeChances(margins, EPSILON, mechanism)
