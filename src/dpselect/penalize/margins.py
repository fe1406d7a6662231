"""Private. The score of block votes: how far the leads of all terms lie on the right side of the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import Candidates, SubsetRule, columns_of, crowd_place, vote_units
from dpselect.assume.recipe import Recipe
from dpselect.assume.vote_rule import VoteRule
from dpselect.assume.wide_rule import CROWD_TERMS, WideRule
from dpselect.errors import DataError
from dpselect.minimize.votes.votes import Votes
from dpselect.penalize.scores import Scores

NO_TERM_MARGIN = 2**50
"""Beyond any agreement: stands for the minimum over no terms."""


class Option(NamedTuple):
    """Private. What a candidate may take of a slot: the columns `mask`, perhaps with the direction `sign` of one `column`.

    `value` is how far the leads of the slot's terms lie on its side of the threshold, private; all else is public.
    """

    value: int
    mask: int
    column: int = -1
    sign: int = 0


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Margins:
    """Private. The lead of every column, votes for it less votes against it, from which the score of any candidate follows.

    Formal guarantee: on neighbouring tables the changes of the scores of any two candidates differ by at most `range`,
    given the assignment of rows to blocks; all but `lead` is public. Leads, threshold and scores are in 64ths of a
    vote; `step`, the price of a term, is a whole multiple of 2^-20 of one, so that every score is exact in doubles. With
    `directions` a candidate says of each of its terms in which direction one column of it goes.
    """

    lead: NDArray[np.int64]
    threshold: int
    step: Fraction
    candidates: Candidates
    range: float
    directions: bool = False
    crowd: int = 0
    name: str = "votes"

    def __repr__(self) -> str:
        return f"Margins(columns={self.lead.size}, range={self.range:g}, values=<private>)"

    @property
    def agreement(self) -> NDArray[np.int64]:
        """The largest lead among the columns of each unit of the votes, whichever its direction."""
        units = [columns_of(unit) for unit in vote_units(self.candidates)]
        starts = np.cumsum([0, *map(len, units[:-1])])
        lead = np.abs(self.lead)[[column for unit in units for column in unit]]
        return np.maximum.reduceat(lead, starts) if units else np.zeros(0, np.int64)

    @property
    def crowded(self) -> Fraction | None:
        """The score of one more candidate: nothing is selected, because more terms lead than can be told apart.

        With the lead A of the term at the place `crowd`, the largest first, it is A - t less a public price. Where a factor is
        common to all columns, all of them lead, every model leaves some of them out, and all models would be as likely as their
        prices are. None where it does not compete: in votes that fit all columns, and where something must be selected.
        """
        place = crowd_place(self.crowd, self.candidates)
        if not place:
            return None
        own = int(np.sort(self.agreement)[-place])
        return own - self.threshold - CROWD_TERMS * self.step

    def options(self, *, excused: bool = False) -> list[list[Option]]:
        """What a candidate may take of each slot of a rule: its score is the least value of the options that it takes.

        A term that is out is worth t - A; one that is in A - t, or with directions L - t for a column with the lead L that goes
        up, and -L - t for one that goes down. Who must be in is excused from the threshold: a term of a group, while the others of
        the group are out, and, with `excused`, all terms of candidates that have no more of them than they must. They are worth
        A + t, or L + t and -L + t: only what is out, and a wrong direction, can count against such a candidate.
        """
        rule = self.candidates
        assert isinstance(rule, SubsetRule)
        leads, threshold = self.lead.tolist(), self.threshold
        if not rule.one_of:
            added = threshold if excused else -threshold
            pairs = zip(rule.terms, self.agreement.tolist(), strict=True)
            return [
                [Option(threshold - own, 0), *self._inside(term, own, added, NO_TERM_MARGIN, leads)]
                for term, own in pairs
            ]
        agreement = dict(zip(rule.terms, self.agreement.tolist(), strict=True))
        slots = []
        for slot in rule.slots:
            options: list[Option] = []
            added = threshold if excused or 0 not in slot else -threshold
            for part in slot:
                others = min(
                    (threshold - agreement[term] for term in slot if term not in (0, part)), default=NO_TERM_MARGIN
                )
                if part == 0:
                    options.append(Option(others, 0))
                else:
                    options += self._inside(part, agreement[part], added, others, leads)
            slots.append(options)
        return slots

    def _inside(self, term: int, agreement: int, added: int, most: int, leads: list[int]) -> list[Option]:
        """The options that have a term in; none is worth more than `most`."""
        if not self.directions:
            return [Option(min(agreement + added, most), term)]
        found = []
        for column in columns_of(term):
            found.append(Option(min(leads[column] + added, most), term, column, 1))
            found.append(Option(min(-leads[column] + added, most), term, column, -1))
        return found

    def scores(self) -> Scores:
        """One score a candidate, low is good: minus the margin, plus the price of its terms. Without directions.

        The terms of models that are named one by one are the columns that at least one lacks and one has.
        """
        units, agreement = vote_units(self.candidates), self.agreement
        if isinstance(self.candidates, SubsetRule):
            taken = self.candidates.masks()[:, None] & np.array(units, np.uint64) != 0
        else:  # of more columns than fit into a word, perhaps
            taken = np.array([[bool(mask & unit) for unit in units] for mask in self.candidates], dtype=bool)
        taken = taken.reshape(self.candidates.count, len(units))
        excused = np.zeros(taken.shape, dtype=bool)
        if isinstance(self.candidates, SubsetRule):
            excused[:, [place for group in self.candidates.one_of for place in group]] = True
            excused[taken.sum(axis=1) == self.candidates.fewest] = True
            for product, part in self.candidates.needs:
                excused[taken[:, product], part] = True
        inside = np.where(excused, agreement + self.threshold, agreement - self.threshold)
        margin = np.where(taken, inside, self.threshold - agreement).min(axis=1, initial=NO_TERM_MARGIN)
        # Where no term is free there is one candidate: its score is 0.
        margin[margin == NO_TERM_MARGIN] = 0
        values = np.float64(self.step) * taken.sum(axis=1) - margin.astype(np.float64)
        return Scores(values, self.range, self.name)


def margins(votes: Votes, recipe: Recipe) -> Margins:
    """The margins of a recipe's candidates."""
    rule = recipe.votes
    if not isinstance(rule, VoteRule | WideRule) or (votes.blocks, votes.partitions) != (rule.blocks, rule.partitions):
        raise DataError("The votes were counted in other blocks than the recipe says.")
    # A lead, not the larger count: a column that few blocks can speak about must not seem to have most of them against it.
    crowd = rule.crowd if isinstance(rule, WideRule) else 0
    scale = float(rule.range)
    return Margins(votes.leads, rule.threshold, recipe.step, recipe.candidates, scale, recipe.directions, crowd)
