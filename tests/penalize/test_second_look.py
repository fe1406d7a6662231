"""The score with a second look against its definition in `second_look_range`, candidate by candidate; each is counted once."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from dpselect.assume.candidates import SubsetRule
from dpselect.assume.wide_rule import DUAL_ROWS, SecondLook, WideRule
from dpselect.penalize.second_look import ALIVE, DEAD, LAST, WRONG, LookedMargins


class MadeUp:
    """Leads of every column beside every set of terms, stated one by one."""

    def __init__(self, rng, terms, rule, wide):
        self.columns = [column for term in terms for column in term]
        self.rule, self.terms = rule, terms
        self.beside_set = {
            chosen: rng.integers(-wide, wide + 1, 1 + len(self.columns))
            for size in range(len(terms) + 1)
            for chosen in combinations(range(len(terms)), size)
        }
        # Sets beside which little changes are as likely as those beside which all does.
        for chosen in self.beside_set:
            if chosen and rng.random() < 0.5:
                self.beside_set[chosen] = self.beside_set[chosen[:-1]] + rng.integers(-2, 3, 1 + len(self.columns))
        self.leads = self.beside_set[()]
        self.asked = Counter()

    def beside(self, terms, sweeps):
        """As `LookedVotes.beside`."""
        places = [self.terms.index(tuple(term)) for term in terms]
        columns = [column for term in terms for column in term]
        outer = self

        class Leads:
            def leads(self, swept, last):
                assert sum(len(terms[place]) for place in [*swept, last[0]]) <= sweeps
                sets = [tuple(sorted(places[place] for place in (*swept, one))) for one in last]
                outer.asked.update(sets)
                return np.stack([outer.beside_set[chosen][columns] for chosen in sets])

        return Leads()


def made_up(rng, *, directions=False, wide=12, widths=(1,) * 6):
    """Margins of leads that are made up; with few terms, so that all candidates can be listed."""
    starts = np.cumsum([1, *widths])
    terms = tuple(tuple(range(start, start + width)) for start, width in zip(starts, widths, strict=False))
    top = int(rng.integers(1, 5))
    bar = int(rng.integers(2, wide + 4))
    floor = int(rng.integers(1, bar))
    second = SecondLook(
        blocks=7,
        partitions=2,
        threshold=bar,
        floor=floor,
        leaders=int(rng.integers(1, len(terms))),
        sets=int(rng.choice([1, 2, 3, 100])),
        top=top,
    )
    threshold = int(rng.integers(floor, wide + 4))
    rule = WideRule(
        size=DUAL_ROWS, blocks=9, partitions=4, threshold=threshold, price=1.0, crowd=second.leaders + 1, second=second
    )
    candidates = SubsetRule(int(starts[-1]), tuple(sum(1 << column for column in term) for term in terms), always=1)
    return LookedMargins(MadeUp(rng, terms, rule, wide), candidates, Fraction(3, 4), directions, float(rule.range))


def defined(margins):
    """{(terms, signs): score} of all candidates, by the definition."""
    votes, rule, terms = margins.votes, margins.rule, margins.terms
    second = rule.second

    def worth(option, chosen):
        term, sign = option
        own = votes.beside_set[chosen][list(terms[term])]
        value = int(np.abs(own).max()) if sign == 0 else max(sign * int(own[0]), 0)
        return value - (second.threshold if chosen else rule.threshold)

    def stands(option, chosen):
        return min(worth(option, part) for size in range(len(chosen) + 1) for part in combinations(chosen, size))

    options = [[(term, 1), (term, -1)] if margins.directions else [(term, 0)] for term in range(len(terms))]
    every = [
        model
        for size in range(min(second.top, len(terms)) + 1)
        for chosen in combinations(range(len(terms)), size)
        for model in product(*(options[term] for term in chosen))
    ]
    inside = {
        model: min((stands(x, tuple(y[0] for y in model if y != x)) for x in model), default=2**50) for model in every
    }
    lowest = sorted((worth(x, ()) for each in options for x in each), reverse=True)[second.leaders]
    floor = max(-second.floor, lowest)
    for size in range(1, second.top + 1):
        values = sorted((inside[model] for model in every if len(model) == size), reverse=True)
        if len(values) > second.sets:
            floor = max(floor, values[second.sets])
    found = {}
    for model in every:
        chosen = tuple(term for term, _ in model)
        others = [stands(x, chosen) for term, each in enumerate(options) if term not in chosen for x in each]
        outside = -max(others, default=-(2**50))
        if model:
            alone = min(worth(x, ()) for x in model)
            score = min(alone, max(min(inside[model], outside), floor), -lowest)
        else:
            score = max(floor, min(outside, -lowest))
        found[chosen, tuple(sign for _, sign in model)] = score
    return found


def members(margins):
    """{kind and place of a class: its candidates}, by the words of `LookedClasses`."""
    classes, standing, order = margins.classes, margins.standing, margins.order.tolist()
    terms, signs = range(len(margins.terms)), margins.signs.tolist()
    for kind, which, size in zip(classes.kinds, classes.which, classes.sizes, strict=True):
        if kind == ALIVE:
            models = [list(standing.models)[which]]
        elif kind == DEAD:
            models = [m for m in combinations(sorted(standing.leaders), size) if m not in standing.models]
        elif kind == LAST:
            models = [tuple(sorted((order[which], *m))) for m in combinations(order[:which], size - 1)]
        else:
            assert kind == WRONG
            models = list(combinations(terms, size))
        if not margins.directions:
            yield [(model, (0,) * len(model)) for model in models]
        else:
            own = {model: tuple(signs[term] for term in model) for model in models}
            if kind != WRONG:
                yield list(own.items())
            else:
                yield [(m, s) for m in models for s in product((1, -1), repeat=size) if s != own[m]]


@pytest.mark.parametrize("directions", [False, True])
def test_every_class_is_the_definition(directions):
    """Of 150 tables of leads: all candidates are in one class each, and their score is the one that is defined."""
    rng, kinds, looked = np.random.default_rng([5, directions]), Counter(), 0
    for _ in range(150):
        widths = (1,) * 6 if directions or rng.random() < 0.5 else (1, 2, 1, 3, 1)
        margins = made_up(rng, directions=directions, widths=widths, wide=int(rng.choice([3, 12, 40])))
        expected, found = defined(margins), {}
        classes = margins.classes
        for each, score, count, size in zip(
            members(margins), classes.margins.tolist(), classes.counts, classes.sizes.tolist(), strict=True
        ):
            assert len(each) == count > 0
            for candidate in each:
                assert candidate not in found and len(candidate[0]) == size
                found[candidate] = score
        assert found == expected
        kinds.update(classes.kinds.tolist())
        looked += sum(margins.votes.asked.values())
        assert max(margins.votes.asked.values(), default=1) == 1
    assert looked > 190
    assert all(kinds[kind] > 40 for kind in (ALIVE, DEAD, LAST) + (WRONG,) * directions)


def test_what_is_private_is_not_shown():
    margins = made_up(np.random.default_rng(1))
    assert "private" in repr(margins) and "private" in repr(margins.standing) and "private" in repr(margins.classes)
