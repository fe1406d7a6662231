"""Draws with a second look have the law of permute-and-flip among all candidates, each listed.

Each comparison is a chi-square test with a false alarm once in 10^6 runs: draws come from the operating system, so no seed helps.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dpselect.penalize.second_look import ALIVE, DEAD, LAST, WRONG
from dpselect.randomize.draw_classes import draw_looked_candidate
from dpselect.rehearse.chances.scores import selection_probabilities
from tests.penalize.test_second_look import defined, made_up
from tests.randomize.test_draw_classes import agree

EPSILON, TIMES = 300, 3000


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("directions", [False, True])
def test_draws_have_the_law_of_all_candidates_listed(directions, mechanism):
    rng, wanted = np.random.default_rng(8), {ALIVE, DEAD, LAST} | ({WRONG} if directions else set())
    for _ in range(3):
        while True:
            margins = made_up(rng, directions=directions, wide=12, widths=(1,) * 5 if directions else (1, 2, 1, 1, 1))
            if set(margins.classes.kinds.tolist()) == wanted:
                break
        scores = defined(margins)
        values = np.array([0.75 * len(terms) - score for (terms, _), score in scores.items()])
        law = selection_probabilities(values, margins.range, EPSILON, mechanism)
        drawn = Counter()
        for _ in range(TIMES):
            mask, signs = draw_looked_candidate(margins, Fraction(EPSILON), mechanism)
            terms = tuple(t for t, own in enumerate(margins.masks) if mask & own)
            assert mask == margins.common | sum(margins.masks[term] for term in terms)
            drawn[terms, tuple(signs[margins.terms[t][0]] if directions else 0 for t in terms)] += 1
        assert set(drawn) <= set(scores)
        assert agree([drawn[each] for each in scores], law)
