"""The chances of a choice with a second look, against all candidates listed one by one."""

import numpy as np
import pytest

from dpselect import StudyError
from dpselect.rehearse.chances.scores import selection_probabilities
from dpselect.rehearse.chances.second_look import LookedChances
from tests.penalize.test_second_look import defined, made_up

EPSILON = 40.0


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("directions", [False, True])
def test_models_terms_and_directions(directions, mechanism):
    rng = np.random.default_rng(9)
    for _ in range(12):
        margins = made_up(rng, directions=directions, wide=12, widths=(1,) * 5 if directions else (1, 2, 1, 1, 1))
        scores = defined(margins)
        values = np.array([0.75 * len(terms) - score for (terms, _), score in scores.items()])
        law = selection_probabilities(values, margins.range, EPSILON, mechanism)
        each = dict(zip(scores, law.tolist(), strict=True))
        found = LookedChances(margins, EPSILON, mechanism)
        models = dict.fromkeys(terms for terms, _ in each)
        masks = {terms: margins.common | sum(margins.masks[term] for term in terms) for terms in models}
        for terms, mask in masks.items():
            assert found.chance_of(mask) == pytest.approx(
                sum(p for (own, _), p in each.items() if own == terms), abs=1e-12
            )
        assert found.listed().sum() == pytest.approx(1)
        assert found.chance_of(0) == 0 and found.chance_of(masks[()] << margins.candidates.width) == 0
        for term, chance in enumerate(found.inclusion.tolist()):
            assert chance == pytest.approx(sum(p for (own, _), p in each.items() if term in own), abs=1e-12)
        mask, chance = found.leading(2)[0]
        assert chance == pytest.approx(found.chance_of(mask)) and len(found.leading(2)) == 2
        told = np.zeros((2, margins.candidates.width))
        for (terms, signs), chance in each.items():
            for term, sign in zip(terms, signs, strict=True):
                if sign:
                    told[int(sign < 0), margins.terms[term][0]] += chance
        np.testing.assert_allclose(found.directions, told, atol=1e-12)
        assert "<private>" in repr(found)
    with pytest.raises(StudyError, match="permute-and-flip and exponential"):
        LookedChances(margins, EPSILON, "laplace")
