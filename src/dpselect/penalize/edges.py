"""Private. The score of edge votes: every model by the leads of its terms beside the others, and of all others beside it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import Candidates, columns_of
from dpselect.assume.edge_rule import EdgeRule, is_candidate, set_mask, voted_terms
from dpselect.assume.lemmas.sensitivity import edge_range
from dpselect.errors import DataError
from dpselect.minimize.edges import EdgeLeads
from dpselect.penalize.scores import Scores

Whole = NDArray[np.int64]
FAR = 2**40
"""Beyond any lead: stands for the minimum over no terms."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class EdgeMargins:
    """Private. The leads of edge votes, from which the score of every listed candidate follows.

    Formal guarantee: on neighbouring tables the changes of the scores of any two candidates differ by at most `range`, given the
    dealings of rows to blocks; all but the leads is public. `step` is the price of a term in units of the score, 64ths of a vote,
    a whole multiple of 2^-20, so that every score is exact in doubles. `models` are the places in `leads.sets` of the candidates
    that are listed: those of at most `rule.top` terms. With `directions` each stands for as many candidates as there are ways to
    name a column of each of its terms and the way it goes.
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

    def scores(self) -> Scores:
        """One score a candidate, low is good: minus the margin, plus the price of its terms."""
        inside, outside = self._sides()
        margins, sizes = np.minimum(inside, outside)[self.models], self._sizes()[self.models]
        if self.directions:
            each = [self._directed(place, int(outside[place])) for place in self.models.tolist()]
            margins, sizes = np.concatenate(each), np.repeat(sizes, list(map(len, each)))
        # Where there are no terms at all there is one candidate: its score is 0.
        margins = np.where(margins > FAR // 2, 0, margins)
        return Scores(np.float64(self.step) * sizes - margins.astype(np.float64), self.range, "votes")

    def candidate(self, index: int) -> tuple[int, tuple[tuple[int, int], ...]]:
        """The candidate at a place of the scores: its columns as a mask, and (column, 1 or -1) for each of its terms, if told."""
        if not self.directions:
            return self._mask(int(self.models[index])), ()
        for place in self.models.tolist():
            taken = [self.leads.terms[term] for term in columns_of(int(self.leads.sets[place]))]
            ways = prod(2 * len(term) for term in taken)
            if index < ways:
                digits = np.unravel_index(index, [2 * len(term) for term in taken]) if taken else ()
                signs = [
                    (term[digit % len(term)], 1 if digit < len(term) else -1)
                    for term, digit in zip(taken, map(int, digits), strict=True)
                ]
                return self._mask(place), tuple(signs)
            index -= ways
        raise DataError("There is no such candidate.")

    def _mask(self, place: int) -> int:
        return set_mask(self.candidates, self.leads.terms, int(self.leads.sets[place]))

    def _sizes(self) -> Whole:
        return np.bitwise_count(self.leads.sets).astype(np.int64)

    def _sides(self) -> tuple[Whole, Whole]:
        """For every set, how far its worst term lies above the threshold, and the best of the others below it."""
        sets, sizes, bars = self.leads.sets, self._sizes(), np.array(self.rule.thresholds)
        agreement = np.array([np.abs(self.leads.leads[:, list(term)]).max(axis=1) for term in self.leads.terms])
        where = np.zeros(1 << len(self.leads.terms), np.int64)
        where[sets] = np.arange(len(sets))
        inside, outside = np.full(len(sets), FAR), np.full(len(sets), FAR)
        for term, own in enumerate(agreement):
            taken = (sets >> term & 1).astype(bool)
            without = where[sets[taken] ^ 1 << term]
            inside[taken] = np.minimum(inside[taken], own[without] - bars[sizes[taken] - 1])
            outside[~taken] = np.minimum(outside[~taken], bars[sizes[~taken]] - own[~taken])
        return inside, outside

    def _directed(self, place: int, outside: int) -> Whole:
        """The margins of one model with all directions: of each term the first column upwards, the second, .., then downwards."""
        mask = int(self.leads.sets[place])
        margins = np.array([outside])
        for term in columns_of(mask):
            without = int(np.flatnonzero(self.leads.sets == mask ^ 1 << term)[0])
            own = self.leads.leads[without, list(self.leads.terms[term])]
            bar = self.rule.thresholds[mask.bit_count() - 1]
            margins = np.minimum.outer(margins, np.concatenate([own, -own]) - bar).ravel()
        return margins


def edge_margins(
    leads: EdgeLeads, rule: EdgeRule, candidates: Candidates, step: Fraction, *, directions: bool = False
) -> EdgeMargins:
    """The margins of all candidates of at most `rule.top` terms; `step` is the price of a term in 64ths of a vote."""
    if (leads.blocks, leads.partitions, leads.terms) != (rule.blocks, rule.partitions, voted_terms(candidates)):
        raise DataError("The votes were counted by another rule than is stated.")
    masks = [set_mask(candidates, leads.terms, each) for each in leads.sets.tolist()]
    models = np.array([place for place, mask in enumerate(masks) if is_candidate(candidates, mask)], np.int64)
    return EdgeMargins(leads, rule, candidates, models, step, directions, float(edge_range(rule.partitions)))
