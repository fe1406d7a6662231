"""Private. The score of block votes: how far the agreement on every term lies on the right side of the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.margins import margin_range
from dpselect.assume.models.candidates import Candidates, SubsetRule, columns_of, vote_units
from dpselect.assume.models.recipe import Recipe
from dpselect.errors import DataError
from dpselect.minimize.votes import Votes
from dpselect.penalize.scores import Scores

FAR = 2**40
"""Beyond any agreement: stands for the minimum over no terms."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Margins:
    """Private. The agreement on each term, from which the score of any set of terms follows.

    Formal guarantee: on neighbouring tables the changes of the scores of any two candidates differ by at most `range`,
    given the assignment of rows to blocks; `threshold`, `step` and `candidates` are public. `step` is the price of a term in
    units of the score, a whole multiple of 2^-20, so that every score is exact in doubles.
    """

    agreement: NDArray[np.int64]
    threshold: int
    step: Fraction
    candidates: Candidates
    range: float
    name: str = "votes"

    def __repr__(self) -> str:
        return f"Margins(terms={self.agreement.size}, range={self.range:g}, values=<private>)"

    def scores(self) -> Scores:
        """One score a candidate, low is good: minus the margin, plus the price of its terms."""
        if isinstance(self.candidates, SubsetRule):
            inside, outside, sizes = self._of_subsets(self.candidates)
        else:
            inside, outside, sizes = self._of_list()
        margin = np.minimum(inside - self.threshold, self.threshold - outside)
        # Where no term is free both are missing, and there is one candidate: its score is 0.
        margin[margin > FAR // 2] = 0
        values = np.float64(self.step) * sizes.astype(np.float64) - margin.astype(np.float64)
        return Scores(values, self.range, self.name)

    def _of_subsets(self, rule: SubsetRule) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The least agreement inside, the largest outside and the number of terms, in the order of the rule.

        As the rule lists its masks: all sets of the first terms, then the same with one term more, if it fits.
        """
        inside, outside = np.full(1, FAR), np.full(1, -FAR)
        sizes, columns = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for term, agreement in zip(rule.terms, self.agreement, strict=True):
            width = term.bit_count()
            fits = columns + width <= rule.room
            inside = np.concatenate([inside, np.minimum(inside[fits], agreement)])
            outside = np.concatenate([np.maximum(outside, agreement), outside[fits]])
            sizes = np.concatenate([sizes, sizes[fits] + 1])
            columns = np.concatenate([columns, columns[fits] + width])
        return inside[rule.skipped :], outside[rule.skipped :], sizes[rule.skipped :]

    def _of_list(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The same for models named one by one; their terms are the columns that at least one lacks and one has."""
        units = vote_units(self.candidates)
        taken = np.array([[bool(mask & unit) for unit in units] for mask in self.candidates], dtype=bool)
        taken = taken.reshape(self.candidates.count, len(units))
        inside = np.where(taken, self.agreement, FAR).min(axis=1, initial=FAR)
        outside = np.where(taken, -FAR, self.agreement).max(axis=1, initial=-FAR)
        return inside, outside, taken.sum(axis=1)


def margins(votes: Votes, recipe: Recipe) -> Margins:
    """The margins of a recipe's candidates."""
    rule = recipe.votes
    assert rule is not None
    if (votes.blocks, votes.partitions) != (rule.blocks, rule.partitions):
        raise DataError("The votes were counted in other blocks than the recipe says.")
    # A lead, not the larger count: a column that few blocks can speak about must not seem to have most of them against it.
    lead = np.abs(votes.above - votes.below)
    units = vote_units(recipe.candidates)
    agreement = np.array([lead[list(columns_of(unit))].max() for unit in units], np.int64)
    return Margins(agreement, rule.threshold, recipe.step, recipe.candidates, float(margin_range(rule.partitions)))
