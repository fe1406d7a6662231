"""Private. The score of edge votes: every model by the leads of its terms beside the others, and of all others beside it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import Candidates, SubsetRule, columns_of, mask_of
from dpselect.assume.edge_rule import EdgeRule, common_columns, listed_sets, set_mask, voted_terms
from dpselect.errors import DataError
from dpselect.minimize.votes.edges import EdgeLeads
from dpselect.penalize.margins import NO_TERM_MARGIN

Whole = NDArray[np.int64]
WORD = 62
"""Columns that a mask of 64 bits has room for."""
EXACT_COUNT = 2**53
"""Whole numbers up to this are exact in doubles; candidates of a model with more directions are counted one by one."""
LEVELS_AT_A_TIME = 2**22
"""Options that are compared with levels at a time, a byte each."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Classes:
    """Private. Candidates of one model and one score: the place of the model among those that compete, score, terms, how many."""

    models: Whole
    margins: Whole
    sizes: Whole
    counts: tuple[int, ...]

    def __repr__(self) -> str:
        return "Classes(values=<private>)"


@dataclass(frozen=True, repr=False, eq=False)
class EdgeMargins:
    """Private. The leads of edge votes, from which the score of every listed candidate follows.

    Formal guarantee: on neighbouring tables the changes of the scores of any two candidates differ by at most `range`, given the
    dealings of rows to blocks; all but the leads is public. Scores are in 64ths of a vote, and high is good; `step`, the price of
    a term in the same units, is a whole multiple of 2^-20. `models` are the places in `leads.sets` of the candidates that compete:
    those of at most `rule.top` terms. With `directions` each stands for as many candidates as there are ways to name a column of
    each of its terms and the way it goes.
    """

    leads: EdgeLeads
    rule: EdgeRule
    candidates: Candidates
    models: Whole
    step: Fraction
    directions: bool
    range: float

    def __repr__(self) -> str:
        return f"EdgeMargins(models={self.models.size}, range={self.range:g}, values=<private>)"

    @cached_property
    def masks(self) -> list[int]:
        """The columns of every model that competes."""
        sets = self.leads.sets[self.models]
        if self.candidates.width > WORD:
            return [set_mask(self.candidates, self.leads.terms, each) for each in sets.tolist()]
        found = np.full(len(sets), common_columns(self.candidates), np.int64)
        for term, columns in enumerate(self.leads.terms):
            found |= (sets >> term & 1) * mask_of(columns)
        return found.tolist()

    def mask(self, model: int) -> int:
        """The columns of one of them."""
        return set_mask(self.candidates, self.leads.terms, int(self.leads.sets[self.models[model]]))

    @cached_property
    def classes(self) -> Classes:
        """All candidates, those of one model that have the same score together."""
        inside, outside = self._sides
        sizes = np.bitwise_count(self.leads.sets[self.models]).astype(np.int64)
        every = np.arange(len(self.models))
        if not self.directions:
            margins = np.minimum(inside, outside)[self.models]
            # Where there are no terms at all there is one candidate: its score is 0.
            return Classes(every, np.where(margins > NO_TERM_MARGIN // 2, 0, margins), sizes, (1,) * len(every))
        # `models` are ordered by their number of terms, so those of one size follow each other.
        starts = np.searchsorted(sizes, np.arange(int(sizes.max(initial=0)) + 2))
        parts = [
            self._classes_of(every[start:end], size)
            for size, (start, end) in enumerate(pairwise(starts.tolist()))
            if start < end
        ]
        models, margins = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
        return Classes(models, margins, sizes[models], tuple(count for part in parts for count in part[2]))

    def _classes_of(self, models: Whole, size: int) -> tuple[Whole, Whole, list[int]]:
        """With directions: the classes of some models of `size` terms, each model's from the best score down."""
        most = self._sides[1][self.models[models]]
        if size == 0:
            return models, np.where(most > NO_TERM_MARGIN // 2, 0, most), [1] * len(models)
        width = 2 * max(map(len, self.leads.terms))
        some = max(1, LEVELS_AT_A_TIME // (size * width) ** 2)
        if len(models) > some:
            parts = [self._classes_of(models[start : start + some], size) for start in range(0, len(models), some)]
            joined = [np.concatenate([part[place] for part in parts]) for place in (0, 1)]
            return joined[0], joined[1], [count for part in parts for count in part[2]]
        options = self._padded_options(models, size, width)
        best = options.max(axis=2).min(axis=1)
        levels = -np.sort(-options.reshape(len(models), -1), axis=1)
        fitting = (options[:, None] >= levels[:, :, None, None]).sum(axis=3)
        # A level counts once, where each term has an option that reaches it, and what fills up short terms does not count.
        new = np.concatenate([np.ones((len(models), 1), bool), levels[:, 1:] < levels[:, :-1]], axis=1)
        counts = new & (levels <= best[:, None]) & (levels > -NO_TERM_MARGIN)
        places, _ = np.nonzero(counts)
        return models[places], levels[counts], _differences(places, fitting[counts])

    def _padded_options(self, models: Whole, size: int, width: int) -> Whole:
        """`options` of some models of one size: (models, terms, options), filled up with what nothing is worth."""
        sets = self.leads.sets[self.models[models]]
        inside = (sets[:, None] >> np.arange(len(self.leads.terms)) & 1).astype(bool)
        found = np.full((len(models), size, width), -NO_TERM_MARGIN)
        slot = np.cumsum(inside, axis=1) - 1
        most = self._sides[1][self.models[models]]
        for term, columns in enumerate(self.leads.terms):
            taken = inside[:, term]
            own = self.leads.leads[self._where[sets[taken] ^ 1 << term]][:, list(columns)]
            worth = np.concatenate([own, -own], axis=1) + self._added(term, sets[taken])[:, None]
            untold = self._is_part(term, sets[taken])
            worth[untold, 0] = worth[untold].max(axis=1)
            worth[untold, 1:] = -NO_TERM_MARGIN
            found[taken, slot[taken, term], : worth.shape[1]] = np.minimum(worth, most[taken, None])
        return found

    def terms_of(self, model: int) -> list[tuple[int, ...]]:
        """The columns of each term of a model."""
        return [self.leads.terms[term] for term in columns_of(int(self.leads.sets[self.models[model]]))]

    def options(self, model: int) -> list[Whole]:
        """With directions: what each term of a model is worth with its first column upwards, its second, .., then downwards.

        None is worth more than the best of the terms that are out allows. A part of a product that is in has one option, without a
        direction: it is held to no threshold, so that its lead need not mean anything, and its effect depends on the other part.
        """
        place = int(self.models[model])
        mask, most = int(self.leads.sets[place]), self._sides[1][place]
        found = []
        for term in columns_of(mask):
            own = self.leads.leads[self._where[mask ^ 1 << term], list(self.leads.terms[term])]
            worth = np.concatenate([own, -own]) + self._added(term, np.array([mask]))
            if self._is_part(term, np.array([mask]))[0]:
                worth = worth.max(keepdims=True)
            found.append(np.minimum(worth, most))
        return found

    def levels(self, model: int) -> tuple[Whole, Whole]:
        """With directions: all scores of a model's candidates from the best down, and how many options of each term reach each."""
        options = self.options(model)
        if not options:
            most = self._sides[1][self.models[model]]
            return np.array([0 if most > NO_TERM_MARGIN // 2 else most]), np.ones((1, 0), np.int64)
        best = min(each.max() for each in options)
        levels = np.unique(np.concatenate(options))
        levels = levels[levels <= best][::-1]
        return levels, np.stack([(each >= levels[:, None]).sum(axis=1) for each in options], axis=1)

    def _added(self, term: int, sets: Whole) -> Whole:
        """What a term's lead is held against in models that have it: less the threshold, or more where it must be in.

        It must be in where a candidate has no more terms than it must, in a group of which one is in, and where a product is in
        that needs it: no threshold is held against such a term, only what is out and a wrong direction.
        """
        bars = np.array(self.rule.thresholds)[np.bitwise_count(sets).astype(np.int64) - 1]
        rule = self.candidates
        if not isinstance(rule, SubsetRule):
            return -bars
        excused = np.bitwise_count(sets) == rule.fewest
        excused |= any(term in group for group in rule.one_of) | self._is_part(term, sets)
        return np.where(excused, bars, -bars)

    def _is_part(self, term: int, sets: Whole) -> NDArray[np.bool_]:
        """Which sets have a product in that needs this term."""
        needs = self.candidates.needs if isinstance(self.candidates, SubsetRule) else ()
        products = sum(1 << product for product, part in needs if part == term)
        found: NDArray[np.bool_] = sets & products != 0
        return found

    @cached_property
    def _where(self) -> Whole:
        where = np.zeros(1 << len(self.leads.terms), np.int64)
        where[self.leads.sets] = np.arange(len(self.leads.sets))
        return where

    @cached_property
    def _sides(self) -> tuple[Whole, Whole]:
        """For every set, how far its worst term lies above the threshold, and the best of the others below it."""
        sets, bars = self.leads.sets, np.array(self.rule.thresholds)
        sizes = np.bitwise_count(sets).astype(np.int64)
        inside, outside = np.full(len(sets), NO_TERM_MARGIN), np.full(len(sets), NO_TERM_MARGIN)
        for term, columns in enumerate(self.leads.terms):
            own = np.abs(self.leads.leads[:, list(columns)]).max(axis=1)
            taken = (sets >> term & 1).astype(bool)
            beside = own[self._where[sets[taken] ^ 1 << term]] + self._added(term, sets[taken])
            inside[taken] = np.minimum(inside[taken], beside)
            outside[~taken] = np.minimum(outside[~taken], bars[sizes[~taken]] - own[~taken])
        return inside, outside


def _differences(models: Whole, fitting: Whole) -> list[int]:
    """How many candidates have each level for their score: those that reach it, less those that reach the model's level before.

    `fitting` is how many options of each term reach each level of each model, levels from the best down.
    """
    first = np.concatenate([[True], models[1:] != models[:-1]])
    if float(fitting.max(initial=1)) ** fitting.shape[1] < EXACT_COUNT:
        reach = fitting.prod(axis=1)
        return (reach - np.where(first, 0, np.concatenate([[0], reach[:-1]]))).tolist()  # type: ignore[no-any-return]
    each = [prod(row) for row in fitting.tolist()]
    return [
        own - (0 if new else before) for own, before, new in zip(each, [0, *each[:-1]], first.tolist(), strict=True)
    ]


def edge_margins(
    leads: EdgeLeads, rule: EdgeRule, candidates: Candidates, step: Fraction, *, directions: bool = False
) -> EdgeMargins:
    """The margins of all candidates of at most `rule.top` terms; `step` is the price of a term in 64ths of a vote."""
    if (leads.blocks, leads.partitions, leads.terms) != (rule.blocks, rule.partitions, voted_terms(candidates)):
        raise DataError("The votes were counted by another rule than is stated.")
    models = np.array(listed_sets(candidates, rule), np.int64)
    return EdgeMargins(leads, rule, candidates, models, step, directions, float(rule.range))
