"""Draws by edge votes have the law of permute-and-flip among all candidates, each listed; and nothing is rounded.

Each comparison is a chi-square test with a false alarm once in 10^6 runs: draws come from the operating system, so no seed helps.
"""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2

from dpselect.penalize.edges import edge_margins
from dpselect.randomize import draw_classes as module
from dpselect.randomize.draw_classes import draw_class, draw_edge_candidate
from dpselect.rehearse.chances.scores import selection_probabilities
from tests.penalize.test_edges import CANDIDATES, defined, made_up

FALSE_ALARMS = 1e-6


def agree(counts, chances):
    """Whether counts may come from these chances, rare outcomes pooled."""
    counts, chances = np.array(counts, float), np.array(chances)
    order = np.argsort(-chances)
    counts, chances = counts[order], chances[order]
    total = counts.sum()
    common = int((total * chances >= 10).sum())
    parts = np.append(counts[:common], counts[common:].sum()), np.append(chances[:common], chances[common:].sum())
    keep = total * parts[1] > 1
    assert parts[0][~keep].sum() < 30
    worth = ((parts[0] - total * parts[1]) ** 2 / np.maximum(total * parts[1], 1e-9))[keep].sum()
    return worth < chi2.isf(FALSE_ALARMS, max(int(keep.sum()) - 1, 1))


VALUES, COUNTS = np.array([0, -3, -5, 2, -12]), (1, 4, 1000, 1, 10**12)
RATE = Fraction(7, 10)


def law(mechanism):
    """Of the classes: the last one is so large that it cannot be listed, so it is weighed by what is left."""
    weights = np.exp(float(RATE) * (VALUES - VALUES.max()))
    if mechanism == "exponential":
        return weights * COUNTS / (weights @ np.array(COUNTS, float))
    nodes, parts = np.polynomial.legendre.leggauss(400)
    cut = min(1.0, 60 / (weights @ np.array(COUNTS, float)))
    t, parts = (nodes + 1) / 2 * cut, parts / 2 * cut
    logs = sum(count * np.log1p(-w * t) for w, count in zip(weights, COUNTS, strict=True))
    return np.array([c * w * (parts * np.exp(logs) / (1 - w * t)).sum() for w, c in zip(weights, COUNTS, strict=True)])


@pytest.mark.parametrize(
    ("slack", "mechanism"),
    [
        (None, "permute-and-flip"),
        (1e-3, "exponential"),
        (1e9, "permute-and-flip"),
        *(
            pytest.param(*each, marks=pytest.mark.thorough)
            for each in ((None, "exponential"), (1e-3, "permute-and-flip"), (1e9, "exponential"))
        ),
    ],
)
def test_a_class_counts_as_often_as_it_has_candidates(mechanism, slack, monkeypatch):
    """With wide enclosures all that is ahead is decided in decimals, as with narrow ones in doubles."""
    if slack is not None:
        monkeypatch.setattr(module, "ENCLOSURE_SLACK", slack)
    times = 3000 if slack != 1e9 else 600
    drawn = Counter(draw_class(VALUES, COUNTS, RATE, mechanism) for _ in range(times))
    chances = law(mechanism)
    assert chances.sum() == pytest.approx(1, abs=1e-6)
    assert agree([drawn[place] for place in range(len(VALUES))], chances)


@pytest.mark.parametrize("word", [0, 1, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("count", [1, 2, 10**9, 10**15])
@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
def test_doubles_enclose_what_decimals_enclose(word, count, mechanism):
    """Also at the ends, where a number has no more digits than it was drawn with."""
    words = np.array([word], np.uint64)
    low, high = module._noise(words, np.array([count], float), mechanism)
    arithmetic = module.Arithmetic(60)
    for more in (0, 1):
        exact = module.Decimal(word + more) / module.Decimal(2**64) if 0 < word + more < 2**64 else None
        if exact is not None:
            inner = module._exact_noise((exact, exact), count, mechanism, arithmetic)
            assert float(low[0]) <= float(inner[0]) and float(inner[1]) <= float(high[0])
    assert not np.isnan([low[0], high[0]]).any()


def test_an_unknown_mechanism_is_not_drawn_as_another():
    values, counts = np.array([3, 1]), (1, 2)
    with pytest.raises(KeyError):
        draw_class(values, counts, Fraction(1), "laplace")
    with pytest.raises(KeyError):
        module._exact_noise((module.Decimal("0.25"), module.Decimal("0.5")), 1, "laplace", module.Arithmetic(20))


def test_equal_numbers_get_more_digits_until_one_is_ahead(monkeypatch):
    monkeypatch.setattr(module.os, "urandom", lambda count: bytes([7] * count))
    drawn = Counter(draw_class(np.zeros(2, np.int64), (1, 1), Fraction(1)) for _ in range(400))
    assert agree([drawn[0], drawn[1]], [0.5, 0.5])


def settings():
    """All sixteen; without the thorough ones four: each kind of candidates once, and every two of the others."""
    for (place, name), directions, mechanism in product(
        enumerate(["all", "categories", "at least", "one of"]), [False, True], ["permute-and-flip", "exponential"]
    ):
        usual = (directions == (place < 2)) and directions ^ (mechanism == "exponential") ^ (place % 2 == 1)
        marks = () if usual else pytest.mark.thorough
        yield pytest.param(name, directions, mechanism, marks=marks, id=f"{mechanism}-{directions}-{name}")


@pytest.mark.parametrize(("name", "directions", "mechanism"), list(settings()))
def test_candidates_have_the_law_of_a_list(name, directions, mechanism):
    candidates = CANDIDATES[name]
    leads, rule = made_up(candidates, np.random.default_rng(8), wide=12)
    margins, epsilon = edge_margins(leads, rule, candidates, Fraction(3, 4), directions=directions), Fraction(60)
    scores = defined(leads, rule, candidates, directions)
    sizes = {mask: len(margins.terms_of(place)) for place, mask in enumerate(margins.masks)}
    values = np.array([0.75 * sizes[mask] - score for (mask, _), score in scores.items()])
    chances = selection_probabilities(values, margins.range, float(epsilon), mechanism)
    drawn = Counter()
    for _ in range(2500):
        mask, signs = draw_edge_candidate(margins, epsilon, mechanism)
        drawn[mask, frozenset(signs.items())] += 1
    assert agree([drawn[mask, frozenset(signs)] for mask, signs in scores], chances)
    assert sum(drawn[mask, frozenset(signs)] for mask, signs in scores) == 2500
