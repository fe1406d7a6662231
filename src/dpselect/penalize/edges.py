"""Private. The score of edge votes: every model by the leads of its terms beside the others, and of all others beside it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import Candidates, SubsetRule, columns_of
from dpselect.assume.edge_rule import EdgeRule, listed_sets, set_mask, voted_terms
from dpselect.errors import DataError
from dpselect.minimize.edges import EdgeLeads
from dpselect.penalize.margins import NO_TERM_MARGIN

Whole = NDArray[np.int64]
EXACT_COUNT = 2**53
"""Whole numbers up to this are exact in doubles; candidates of a model with more directions are counted one by one."""


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
        sets = self.leads.sets[self.models].tolist()
        return [set_mask(self.candidates, self.leads.terms, each) for each in sets]

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
        found = [self.levels(place) for place in every.tolist()]
        counts = [self._counted(fitting) for _, fitting in found]
        lengths = [len(levels) for levels, _ in found]
        return Classes(
            np.repeat(every, lengths),
            np.concatenate([levels for levels, _ in found]),
            np.repeat(sizes, lengths),
            tuple(count for each in counts for count in each),
        )

    def terms_of(self, model: int) -> list[tuple[int, ...]]:
        """The columns of each term of a model."""
        return [self.leads.terms[term] for term in columns_of(int(self.leads.sets[self.models[model]]))]

    def options(self, model: int) -> list[Whole]:
        """With directions: what each term of a model is worth with its first column upwards, its second, .., then downwards.

        None is worth more than the best of the terms that are out allows.
        """
        place = int(self.models[model])
        mask, most = int(self.leads.sets[place]), self._sides[1][place]
        found = []
        for term in columns_of(mask):
            own = self.leads.leads[self._where[mask ^ 1 << term], list(self.leads.terms[term])]
            added = self.rule.thresholds[mask.bit_count() - 1] * (1 if self._excused(term, mask.bit_count()) else -1)
            found.append(np.minimum(np.concatenate([own, -own]) + added, most))
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

    def _counted(self, fitting: Whole) -> list[int]:
        """How many candidates have each level for their score: those that reach it, less those that reach the one before."""
        if prod(fitting[-1].tolist()) < EXACT_COUNT:
            reach = fitting.prod(axis=1)
            return np.diff(reach, prepend=0).tolist()  # type: ignore[no-any-return]
        each = [prod(row) for row in fitting.tolist()]
        return [own - before for own, before in zip(each, [0, *each[:-1]], strict=True)]

    def _excused(self, term: int, size: int) -> bool:
        """Whether a term of a candidate of so many must be in, so that no threshold is held against it."""
        rule = self.candidates
        return isinstance(rule, SubsetRule) and (size == rule.fewest or any(term in group for group in rule.one_of))

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
            signs = np.array([1 if self._excused(term, size) else -1 for size in range(len(bars) + 1)])
            beside = own[self._where[sets[taken] ^ 1 << term]] + (signs[sizes] * bars[sizes - 1])[taken]
            inside[taken] = np.minimum(inside[taken], beside)
            outside[~taken] = np.minimum(outside[~taken], bars[sizes[~taken]] - own[~taken])
        return inside, outside


def edge_margins(
    leads: EdgeLeads, rule: EdgeRule, candidates: Candidates, step: Fraction, *, directions: bool = False
) -> EdgeMargins:
    """The margins of all candidates of at most `rule.top` terms; `step` is the price of a term in 64ths of a vote."""
    if (leads.blocks, leads.partitions, leads.terms) != (rule.blocks, rule.partitions, voted_terms(candidates)):
        raise DataError("The votes were counted by another rule than is stated.")
    models = np.array(listed_sets(candidates, rule), np.int64)
    return EdgeMargins(leads, rule, candidates, models, step, directions, float(rule.range))
