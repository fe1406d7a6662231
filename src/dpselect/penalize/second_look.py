"""Private. The score of votes in wide tables with a second look: by which of its terms stand beside all others of them.

A lead beside a set of terms is worth how far it lies above the threshold. A term stands beside a set by what it is worth beside the
worst of all its subsets, the empty one too; a model is worth what its worst term stands by beside the others, or what the best of
the other terms falls short of standing beside it, if that is less. All of it is the same for any p; `assume.lemmas.sensitivity`
(`second_look_range`) has the score and the proof.

What is computed of it: terms are worth no more beside anything than by themselves, so a model that has a term below the floor is
worth what its last term is, and needs no regression. Nor does one of which a part is not worth more than the floor. So sets are
looked at from the small to the large, those of which all parts are alive. Where more of one size are than can be looked at,
the floor rises to what the next one is worth: also an order statistic of leads, which no row moves by more than it moves a lead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import Candidates, SubsetRule, columns_of
from dpselect.assume.edge_rule import common_columns
from dpselect.assume.recipe import Recipe
from dpselect.assume.wide_rule import WideRule
from dpselect.errors import DataError
from dpselect.minimize.votes.second_look import LookedVotes
from dpselect.penalize.margins import NO_TERM_MARGIN

Whole = NDArray[np.int64]
Model = tuple[int, ...]
"""Terms, in order."""
Leads = Callable[[Sequence[int], Sequence[int]], Whole]
"""The leads of all columns of some terms beside the terms of a set and each of some more, by their places."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Standing:
    """Private. All that the scores follow from: the models that are alive with their scores, and the leaders, the best first.

    Of the other models one that has leaders alone is worth `floor` or `cap`, whichever is less; any other is worth what its last
    term is by itself, or `cap`.
    """

    models: dict[Model, int]
    leaders: tuple[int, ...]
    floor: int
    cap: int

    def __repr__(self) -> str:
        return "Standing(values=<private>)"


ALIVE, DEAD, LAST, WRONG = range(4)
"""Kinds of classes: see `LookedClasses`."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LookedClasses:
    """Private. Candidates of one score and so many terms, by what they have in common: scores, terms, how many, and their kind.

    Each model that is alive by itself; dead ones that have leaders alone; those of which one other term is the last; with
    directions those that name a wrong one. `which` is the place of the model in `Standing.models`, or of the last term in `order`,
    else 0.
    """

    margins: Whole
    sizes: Whole
    counts: tuple[int, ...]
    kinds: Whole
    which: Whole

    def __repr__(self) -> str:
        return "LookedClasses(values=<private>)"


@dataclass(frozen=True, repr=False, eq=False)
class LookedMargins:
    """Private. The leads of both looks, from which the score of every model of at most `second.top` terms follows.

    Formal guarantee: on neighbouring tables the changes of the scores of any two candidates differ by at most `range`, given the
    dealings of rows to blocks; all but the leads is public. Scores are in 64ths of a vote, and high is good; `step`, the price of
    a term in the same units, is a whole multiple of 2^-20. With `directions` a candidate says of each of its terms, of one column
    each, whether it goes up or down.
    """

    votes: LookedVotes
    candidates: Candidates
    step: Fraction
    directions: bool
    range: float

    def __repr__(self) -> str:
        return f"LookedMargins(columns={len(self.votes.leads)}, range={self.range:g}, values=<private>)"

    @property
    def rule(self) -> WideRule:
        """How the votes were held."""
        return self.votes.rule

    @property
    def masks(self) -> tuple[int, ...]:
        """The columns of each term, as a mask."""
        assert isinstance(self.candidates, SubsetRule)
        return self.candidates.terms

    @property
    def common(self) -> int:
        """The columns that every model has, as a mask."""
        return common_columns(self.candidates)

    @cached_property
    def terms(self) -> tuple[Model, ...]:
        """The columns of each term."""
        return tuple(columns_of(term) for term in self.masks)

    @cached_property
    def signs(self) -> Whole:
        """Which way each term of one column leads by itself: 1 for up, also where it does not lead, and -1 for down."""
        return np.where(self.votes.leads[[term[0] for term in self.terms]] < 0, -1, 1)

    @cached_property
    def alone(self) -> Whole:
        """What each term is worth by itself."""
        worth: Whole = _largest(np.abs(self.votes.leads)[None], self.terms)[0] - self.rule.threshold
        return worth

    @cached_property
    def order(self) -> Whole:
        """The terms, the best by itself first."""
        return np.argsort(-self.alone, kind="stable")

    @cached_property
    def standing(self) -> Standing:
        """The models that are alive, and what all others are worth."""
        second = self.rule.second
        assert second is not None
        lowest = int(self.alone[self.order[second.leaders]])
        floor = max(-second.floor, lowest)
        near = sorted(term for term in self.order[: second.leaders].tolist() if self.alone[term] > lowest)
        worth = self.alone[near]
        if (worth > floor).any():
            columns = [self.terms[term] for term in near]
            most = min(second.top, int((worth > floor).sum()))
            votes = self.votes.beside(columns, sum(sorted(map(len, columns))[-most:]))
            inside, outside, floor = stand(self._worth_of(near, votes.leads), worth, floor, second.sets, second.top)
        else:
            inside, outside = {(): NO_TERM_MARGIN}, {(): -int(worth.max(initial=-NO_TERM_MARGIN))}
        models = {}
        for places, own in inside.items():
            if own > floor:
                model = tuple(near[place] for place in places)
                # No model is worth more than the term that is not looked at falls short: what others may say is not known.
                models[model] = min(max(min(own, outside[places]), floor), -lowest)
        models[()] = max(models[()], floor)
        leaders = tuple(term for term in self.order[: second.leaders].tolist() if self.alone[term] > floor)
        return Standing(models, leaders, floor, -lowest)

    def _worth_of(self, near: Sequence[int], leads: Leads) -> Leads:
        """What some terms are worth beside sets of them: with directions, in the direction in which each leads by itself."""
        assert self.rule.second is not None
        bar, widths = self.rule.second.threshold, [len(self.terms[term]) for term in near]
        starts = np.cumsum([0, *widths])
        places = [range(*ends) for ends in pairwise(starts.tolist())]

        def worth(swept: Sequence[int], last: Sequence[int]) -> Whole:
            found = leads(swept, last)
            if self.directions:
                found = np.maximum(found * self.signs[list(near)], 0)
            else:
                found = _largest(np.abs(found), places)
            return np.asarray(found - bar)

        return worth

    @cached_property
    def classes(self) -> LookedClasses:
        """All candidates, those of one score and size together."""
        second, standing = self.rule.second, self.standing
        assert second is not None
        inner, every = len(standing.leaders), range(1, second.top + 1)
        alive = np.bincount([len(model) for model in standing.models], minlength=second.top + 1).tolist()
        found = [(value, len(model), 1, ALIVE, place) for place, (model, value) in enumerate(standing.models.items())]
        dead = min(standing.floor, standing.cap)
        found += [(dead, size, comb(inner, size) - alive[size], DEAD, 0) for size in every]
        worth = np.minimum(self.alone[self.order], standing.cap).tolist()
        for place in range(inner, len(self.terms)):
            ways = 1
            for size in every:  # of its other terms, which are better or as good by themselves
                found.append((worth[place], size, ways, LAST, place))
                ways = ways * (place - size + 1) // size
        if self.directions:
            wrong, terms = min(-self.rule.threshold, standing.cap), len(self.terms)
            found += [(wrong, size, (2**size - 1) * comb(terms, size), WRONG, 0) for size in every]
        margins, sizes, counts, kinds, which = zip(*(each for each in found if each[2]), strict=True)
        return LookedClasses(np.array(margins), np.array(sizes), tuple(counts), np.array(kinds), np.array(which))


def stand(
    worth_of: Leads, alone: Whole, floor: int, most: int, top: int
) -> tuple[dict[Model, int], dict[Model, int], int]:
    """The sets that are alive: what the worst of their terms stands by, what the best of the others falls short, and the floor.

    `worth_of` gives what all terms are worth beside a set, `alone` what they are beside nothing. Sets of more than `top` terms are
    not looked at, and of one size at most `most` are: where more are worth more than the floor, it rises to the next one's.
    """
    stands: dict[Model, Whole] = {(): alone}
    inside: dict[Model, int] = {(): NO_TERM_MARGIN}
    level: list[Model] = [()]
    for _ in range(top):
        found = {}
        for parent in level:
            for term in np.flatnonzero(stands[parent] > floor).tolist():
                if not parent or term > parent[-1]:
                    grown = (*parent, term)
                    own = _worst(grown, stands, inside, floor)
                    if own > floor:
                        found[grown] = own
        if len(found) > most:
            floor = max(floor, sorted(found.values(), reverse=True)[most])
            found = {each: own for each, own in found.items() if own > floor}
        level = list(found)
        inside |= found
        by_start: dict[Model, list[int]] = {}
        for each in level:
            by_start.setdefault(each[:-1], []).append(each[-1])
        for start, last in by_start.items():
            for term, worth in zip(last, worth_of(start, last), strict=True):
                grown = (*start, term)
                parts = [stands[part] for part in _parts(grown)]
                stands[grown] = np.minimum.reduce([worth, *parts])
        if not level:
            break
    outside = {}
    for each in inside:
        others = np.delete(stands[each], each)
        outside[each] = -int(others.max(initial=-NO_TERM_MARGIN))
    return inside, outside, floor


def _parts(terms: Model) -> list[Model]:
    """A set without each of its terms in turn."""
    return [terms[:place] + terms[place + 1 :] for place in range(len(terms))]


def _worst(terms: Model, stands: dict[Model, Whole], inside: dict[Model, int], floor: int) -> int:
    """What the worst term of a set stands by beside the others, also in all of its parts; the floor where a part is dead."""
    worst = NO_TERM_MARGIN
    for term, part in zip(terms, _parts(terms), strict=True):
        if part not in stands:
            return floor
        worst = min(worst, int(stands[part][term]), inside[part])
    return worst


def _largest(values: Whole, terms: Sequence[Sequence[int]]) -> Whole:
    """The largest value of each term's columns: (lines, terms)."""
    starts = np.cumsum([0, *map(len, terms[:-1])])
    return np.maximum.reduceat(values[:, [column for term in terms for column in term]], starts, axis=1)


def looked_margins(votes: LookedVotes, recipe: Recipe) -> LookedMargins:
    """The margins of a recipe's candidates."""
    if votes.rule != recipe.votes:
        raise DataError("The votes were counted by another rule than the recipe says.")
    return LookedMargins(votes, recipe.candidates, recipe.step, recipe.directions, float(votes.rule.range))
