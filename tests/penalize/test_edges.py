"""Margins of edge votes against their definition, candidate by candidate; classes count each candidate once."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpselect import DataError, Numeric, Study
from dpselect.assume.candidates import CandidateList, SubsetRule, columns_of
from dpselect.assume.edge_rule import EdgeRule, all_sets, voted_terms
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.gather.blocks import vote_summary
from dpselect.gather.rows import gather
from dpselect.minimize.minimize import minimize
from dpselect.minimize.votes.edges import EdgeLeads
from dpselect.penalize import edges as module
from dpselect.penalize.edges import edge_margins
from dpselect.penalize.penalize import penalize
from tests.held import whole_models

CANDIDATES = {
    "all": SubsetRule(4, (0b10, 0b100, 0b1000), always=1),
    "categories": SubsetRule(6, (0b10, 0b1100, 0b110000), always=1),
    "at most": SubsetRule(6, (0b10, 0b1100, 0b110000), always=1, max_size=3),
    "at least": SubsetRule(6, (0b10, 0b1100, 0b110000), always=1, at_least=2),
    "one of": SubsetRule(6, (0b10, 0b100, 0b1000, 0b110000), always=1, one_of=((0, 2),)),
    "parts": SubsetRule(6, (0b10, 0b1100, 0b10000, 0b100000), always=1, needs=((3, 0), (3, 1))),
    "one part": SubsetRule(6, (0b10, 0b1100, 0b10000, 0b100000), always=1, needs=((3, 0),)),
    "not empty": SubsetRule(3, (0b1, 0b10, 0b100)),
    "forced": SubsetRule(4, (0b10, 0b1000), always=0b101),
    "list": CandidateList(4, (0b0001, 0b0011, 0b0111, 0b1101)),
}


def made_up(candidates, rng, top=None, wide=40):
    """Leads as votes might give them, and a rule with thresholds among them."""
    terms = voted_terms(candidates)
    top = len(terms) if top is None else top
    sets = np.array(all_sets(len(terms), top), np.int64)
    leads = rng.integers(-wide, wide + 1, (len(sets), candidates.width))
    bars = tuple(rng.integers(1, wide, top + 1).tolist())
    rule = EdgeRule(blocks=(7,) * (top + 1), ridges=(0.0,) * (top + 1), thresholds=bars, partitions=2, price=0.5)
    return EdgeLeads(leads, sets, terms, rule.blocks, 2), rule


def defined(leads, rule, candidates, directions):
    """{model, or model and options: score}, by the definition in `edge_range`."""
    terms, found = leads.terms, {}
    own = {
        int(each): dict(zip(range(candidates.width), line.tolist(), strict=True))
        for each, line in zip(leads.sets, leads.leads, strict=True)
    }
    grouped = {place for group in getattr(candidates, "one_of", ()) for place in group}
    common = candidates.always if isinstance(candidates, SubsetRule) else 0b0001
    for chosen in own:
        size = chosen.bit_count()
        mask = common | sum(1 << column for term in columns_of(chosen) for column in terms[term])
        if mask not in list(candidates):
            continue
        outside = [
            rule.thresholds[size] - max(abs(own[chosen][c]) for c in terms[j])
            for j in range(len(terms))
            if not chosen >> j & 1
        ]
        values = []
        for j in columns_of(chosen):
            bar = rule.thresholds[size - 1]
            is_part = any(part == j and chosen >> term & 1 for term, part in getattr(candidates, "needs", ()))
            added = bar if j in grouped or is_part or size == getattr(candidates, "fewest", -1) else -bar
            beside = own[chosen ^ 1 << j]
            if directions and not is_part:
                values.append([((c, s), s * beside[c] + added) for s in (1, -1) for c in terms[j]])
            else:
                values.append([((), max(abs(beside[c]) for c in terms[j]) + added)])
        for taken in product(*values):
            signs = tuple(sign for sign, _ in taken if sign)
            found[mask, signs] = min([*outside, *(value for _, value in taken)], default=0)
    return found


def listed(margins):
    """The scores of all candidates one by one, low is good, in an order that does not depend on the leads."""
    sizes = np.bitwise_count(margins.leads.sets[margins.models]).tolist()
    scores = []
    if not margins.directions:
        scores = [
            float(margins.step) * size - value for size, value in zip(sizes, margins.classes.margins, strict=True)
        ]
    else:
        for model, size in enumerate(sizes):
            most = margins.levels(model)[0][0]
            for taken in product(*(each.tolist() for each in margins.options(model))):
                scores.append(float(margins.step) * size - min([*taken], default=most))
    return np.array(scores, dtype=np.float64)


@pytest.mark.parametrize("directions", [False, True])
@pytest.mark.parametrize("name", CANDIDATES)
def test_every_class_is_the_definition(name, directions):
    candidates, rng = CANDIDATES[name], np.random.default_rng(3)
    if directions and name == "list":
        return  # refused by the recipe
    for top, wide, _ in product((None, 2), (40, 3), range(8)):
        leads, rule = made_up(candidates, rng, top, wide)
        margins = edge_margins(leads, rule, candidates, Fraction(3, 4), directions=directions)
        classes, expected = margins.classes, Counter()
        for (mask, _), score in defined(leads, rule, candidates, directions).items():
            expected[mask, score] += 1
        each = zip(classes.models.tolist(), classes.margins.tolist(), classes.counts, strict=True)
        assert Counter({(margins.masks[model], score): count for model, score, count in each}) == expected
        prices = zip(classes.models.tolist(), classes.sizes.tolist(), strict=True)
        assert all(len(margins.terms_of(model)) == size for model, size in prices)
        found = sorted(
            -score + 0.75 * len(margins.terms_of(margins.masks.index(mask))) for mask, score in expected.elements()
        )
        assert sorted(listed(margins).tolist()) == found
        for model in range(len(margins.models)) if directions else ():
            options, (levels, reached) = margins.options(model), margins.levels(model)
            for level, counts in zip(levels.tolist(), reached.tolist(), strict=True):
                assert counts == [sum(value >= level for value in each.tolist()) for each in options]


def test_more_directions_than_doubles_can_count_are_counted_all_the_same(monkeypatch):
    candidates, rng = CANDIDATES["categories"], np.random.default_rng(4)
    leads, rule = made_up(candidates, rng)
    usual = edge_margins(leads, rule, candidates, Fraction(1), directions=True).classes.counts
    monkeypatch.setattr(module, "EXACT_COUNT", 0)
    assert edge_margins(leads, rule, candidates, Fraction(1), directions=True).classes.counts == usual
    wide = SubsetRule(120, tuple(((1 << 30) - 1) << 30 * j for j in range(4)), empty=True)
    leads, rule = made_up(wide, rng, wide=10**6)
    classes = edge_margins(leads, rule, wide, Fraction(1), directions=True).classes
    assert sum(classes.counts) == 61**4


def test_classes_are_the_same_however_many_models_are_looked_at_at_a_time(monkeypatch):
    candidates = CANDIDATES["categories"]
    leads, rule = made_up(candidates, np.random.default_rng(5))
    found = []
    for levels in (module.LEVELS_AT_A_TIME, 200, 1):
        monkeypatch.setattr(module, "LEVELS_AT_A_TIME", levels)
        classes = edge_margins(leads, rule, candidates, Fraction(1), directions=True).classes
        found.append((classes.models.tolist(), classes.margins.tolist(), classes.counts))
    assert found[0] == found[1] == found[2]


def test_who_must_be_in_is_held_to_no_threshold():
    """The best two, whether they pass or not: the right ones have the highest score."""
    candidates = SubsetRule(5, (0b10, 0b100, 0b1000, 0b10000), always=1, at_least=2)
    leads, rule = made_up(candidates, np.random.default_rng(0))
    strength = np.array([0, 9, 3, 30, 5])
    leads = EdgeLeads(np.tile(strength, (len(leads.sets), 1)), leads.sets, leads.terms, leads.blocks, 2)
    rule = EdgeRule(blocks=rule.blocks, ridges=rule.ridges, thresholds=(1000,) * 5, partitions=2, price=0.0)
    margins = edge_margins(leads, rule, candidates, Fraction(0))
    assert margins.masks[int(margins.classes.margins.argmax())] == 0b01011


def test_votes_of_another_rule_are_refused():
    candidates = CANDIDATES["all"]
    leads, rule = made_up(candidates, np.random.default_rng(1))
    other = EdgeRule(blocks=(8,) * 4, ridges=rule.ridges, thresholds=rule.thresholds, partitions=2, price=0.5)
    with pytest.raises(DataError, match="another rule"):
        edge_margins(leads, other, candidates, Fraction(1))
    study = Study(Numeric("y"), [Numeric("a"), Numeric("b")])
    recipe = make_recipe(study, Choice("votes"), rows=60, epsilon=1)
    rows = np.random.default_rng(2).normal(size=(60, 3))
    votes = minimize(gather((rows[:, :2], rows[:, 2]), study, vote_summary(study, recipe.votes, 60)), recipe)
    assert "<private>" in repr(penalize(votes, recipe)) and "<private>" in repr(penalize(votes, recipe).classes)
    with pytest.raises(DataError, match="another rule"):
        penalize(votes, whole_models(recipe))
