"""Private. Confidential: what a selection by block votes would give on these rows, at any price.

Given the blocks of one random split, the chances are exact. Every release draws its own split, so chances are averaged over a few;
none of them is that of a release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from time import process_time
from typing import Any

import numpy as np

from dpselect.assume.budget import float_below
from dpselect.assume.candidates import SubsetRule, columns_of, mask_of, vote_units
from dpselect.assume.edge_rule import EdgeRule
from dpselect.assume.recipe import Mechanism, Recipe
from dpselect.assume.wide_rule import WideRule
from dpselect.gather.blocks import vote_summary
from dpselect.gather.moments import Moments
from dpselect.minimize.minimize import minimize
from dpselect.penalize.edges import EdgeMargins
from dpselect.penalize.margins import Margins
from dpselect.penalize.penalize import penalize
from dpselect.penalize.second_look import LookedMargins
from dpselect.rehearse.chances.edges import EdgeChances
from dpselect.rehearse.chances.second_look import LookedChances
from dpselect.rehearse.chances.votes import VoteChances
from dpselect.rehearse.check.listed import Recipes, score_probabilities
from dpselect.rehearse.check.preview import Explained, Rehearsal, explained, rehearsal_of, terms_of

MAX_LISTED_CANDIDATES = 2**14
"""Candidates up to which all are listed, for the share of R^2 to be expected."""
MODELS_COMPARED = 64
"""Models of each random split among which the likeliest are found, where they cannot all be listed."""
QUICK_CELLS, SLOW_CELLS = 4e6, 4e7
"""Cells of a table that is added up in a moment, and in seconds: it is added up once for each random split."""
MAX_SPLITS = 32
"""Random splits after which the averages are good enough: a chance is off by less than a tenth."""
SECONDS_HERE, SECONDS_ELSEWHERE = 2.0, 0.2
"""Of computing, for more random splits at the price that was asked about and at each other: people wait for it."""
MANY_TERMS = 10
"""Terms from which the votes of one random split, each set of terms by itself, take half a second."""
OTHER_PRICES: tuple[str, ...] = ("0.25", "0.5", "1", "2", "4")
"""Multiples of the price at which there is time to look; of long tables, or with many terms, only the middle ones."""
DIRECTION_SPLITS = 4
"""Random splits over which the chances of directions are averaged: they take longer than all others."""

AddUp = Callable[[Any], Any]
Voting = Margins | EdgeMargins | LookedMargins
Chances = VoteChances | EdgeChances | LookedChances
CHANCES: dict[type, Callable[[Any, float, Mechanism], Chances]] = {
    Margins: VoteChances,
    EdgeMargins: EdgeChances,
    LookedMargins: LookedChances,
}
"""The law of each kind of scores."""


class Voted:
    """Private. Every look adds the rows up again, in as many blocks as the rule asks for at that price.

    `again` gives what a summary of all rows comes to: from memory where they are kept, else by another reading of their source.
    """

    def __init__(
        self, again: AddUp, recipes: Recipes, epsilon: Decimal, rows: int, moments: Moments | None, dealings: int | None
    ) -> None:
        recipe = recipes(epsilon)
        cells = rows * len(recipe.study.columns)
        self._again, self._recipes, self._epsilon = again, recipes, epsilon
        self._stated, self._least = dealings, 4 if cells <= QUICK_CELLS else 2 if cells <= SLOW_CELLS else 1
        many = isinstance(recipe.votes, EdgeRule) and recipe.votes.top >= MANY_TERMS
        self.factors: tuple[str, ...] = (
            () if cells > SLOW_CELLS else OTHER_PRICES[1:-1] if many or cells > QUICK_CELLS else OTHER_PRICES
        )
        if isinstance(recipe.votes, WideRule) and cells > QUICK_CELLS:
            # Each random split takes a second, and so do the chances of thousands of terms.
            self._least, self.factors = 1, ()
        self.how = ""
        self._listed = recipe.candidates.count <= MAX_LISTED_CANDIDATES and recipe.candidates.width <= 64
        self.r2: Explained | None = None
        if moments is not None and self._listed:
            self.r2 = explained(moments, recipe.candidates, recipe.study)

    def at(self, price: Decimal, *, leading: int | Sequence[int], asked: Sequence[int] = ()) -> Rehearsal:
        """What would be chosen at a whole price."""
        recipe = self._recipes(price)
        here = price == self._epsilon
        splits = self._splits(recipe, here)
        models = recipe.candidates
        if not isinstance(models, SubsetRule) or (models.needs and not isinstance(recipe.votes, EdgeRule)):
            looks = [score_probabilities(each, recipe) for each in splits]
            self._tell(len(looks), here)
            return rehearsal_of(np.mean(looks, axis=0), recipe, self.r2, leading=leading, asked=asked)
        found: list[Chances] = []
        looks = []
        for each in splits:  # chances count too in the time that `_splits` has for more
            found.append(CHANCES[type(each)](each, float_below(recipe.choice_epsilon), recipe.mechanism))
            looks.append(found[-1].listed() if self._listed else found[-1].inclusion)
        self._tell(len(found), here)
        if self._listed:
            rehearsal = rehearsal_of(np.mean(looks, axis=0), recipe, self.r2, leading=leading, asked=asked)
        else:
            rehearsal = _by_levels(found, recipe, leading, asked)
        return replace(rehearsal, directions=_directions(found[:DIRECTION_SPLITS], recipe)) if here else rehearsal

    def _splits(self, recipe: Recipe, here: bool) -> Iterator[Voting]:
        """The margins by as many random splits as were stated; else by a few, and by more while there is time.

        Where the agreement of a variable lies near the threshold, one split selects it with chance 0 and the next with chance .9.
        """
        if self._stated is not None:
            yield from (self._split(recipe) for _ in range(self._stated if here else 1))
            return
        begun, room, least = process_time(), SECONDS_HERE if here else SECONDS_ELSEWHERE, self._least if here else 1
        for made in range(MAX_SPLITS):
            if made >= least and process_time() - begun > room:
                return
            yield self._split(recipe)

    def _tell(self, count: int, here: bool) -> None:
        if here:
            times = "one random split" if count == 1 else f"{count} random splits"
            self.how = f"These chances are averages over {times} of the rows into blocks."

    def _split(self, recipe: Recipe) -> Voting:
        assert recipe.votes is not None
        sums = self._again(vote_summary(recipe.study, recipe.votes, recipe.rows))
        scores = penalize(minimize(sums, recipe), recipe)
        assert isinstance(scores, Voting)
        return scores


def _by_levels(
    found: Sequence[Chances], recipe: Recipe, leading: int | Sequence[int], asked: Sequence[int]
) -> Rehearsal:
    """The rehearsal where models cannot be listed; no share of R^2, which would need all of them."""

    def chance(mask: int) -> float:
        return float(np.mean([each.chance_of(mask) for each in found]))

    if isinstance(leading, int):
        likely = dict.fromkeys(mask for each in found for mask, _ in each.leading(MODELS_COMPARED))
        leading = sorted(likely, key=chance, reverse=True)[:leading]
    rule = recipe.candidates
    assert isinstance(rule, SubsetRule)
    inside = dict(zip(rule.terms, np.mean([each.inclusion for each in found], axis=0).tolist(), strict=True))
    return Rehearsal(
        models=tuple(leading),
        chances=tuple(map(chance, leading)),
        inclusion=tuple(_of_term(mask, inside, rule) for mask in terms_of(recipe.study).values()),
        asked=tuple(map(chance, asked)),
        share=None,
        recipe=recipe,
    )


def _directions(found: Sequence[Chances], recipe: Recipe) -> dict[str, tuple[float, float]]:
    """The chances of up and down for each column that competes, where directions are told."""
    if not recipe.directions:
        return {}
    up, down = np.mean([each.directions for each in found], axis=0).tolist()
    columns = enumerate(recipe.study.columns)
    competing = mask_of([place for term in vote_units(recipe.candidates) for place in columns_of(term)])
    return {column.name: (up[j], down[j]) for j, column in columns if competing >> j & 1}


def _of_term(term: int, inside: dict[int, float], rule: SubsetRule) -> float:
    """The chance of a term: of its largest part, if its columns compete one by one; 1 if it is always in."""
    if term & rule.always:
        return 1.0
    if term in inside:
        return inside[term]
    return max((chance for mask, chance in inside.items() if mask & term), default=0.0)
