"""Private. Custodian's eyes only: a choice among listed models from moments, rehearsed at any price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from dpselect.assume.recipe import Recipe
from dpselect.gather.moments import Moments
from dpselect.minimize.minimize import minimize
from dpselect.penalize.penalize import penalize
from dpselect.rehearse.check.probabilities import score_probabilities
from dpselect.rehearse.check.rehearsal import LEAST_SHOWN_CHANCE, Explained, Rehearsal, explained, rehearsal_of

Recipes = Callable[[Decimal], Recipe]
"""The recipe of the choice that a run at a whole price would make, with every default as it is at that price."""

FACTORS: tuple[str, ...] = ("0.1", "0.2", "0.5", "1", "2", "5", "10")
"""The whole price is varied from a tenth to ten times its value, and all that follows from it with it."""

CANDIDATES_IN_SECONDS, CANDIDATES_IN_A_MINUTE = 2**16, 2**19
"""Candidates up to which a curve takes a second or two, and a minute; beyond there is none. One of PCPL counts as 64."""


class Listed:
    """Private. The losses do not depend on the price, so they are computed once."""

    how = "These chances are exact."

    def __init__(self, moments: Moments, recipes: Recipes, epsilon: Decimal) -> None:
        self._recipes = recipes
        recipe = recipes(epsilon)
        self._losses = minimize(moments, recipe)
        self.r2: Explained | None = explained(moments, recipe.candidates, recipe.study)
        self.factors = factors_for(recipe)

    def at(self, price: Decimal, *, leading: int | Sequence[int], asked: Sequence[int] = ()) -> Rehearsal:
        """What would be chosen at a whole price."""
        recipe = self._recipes(price)
        chances = score_probabilities(penalize(self._losses, recipe), recipe, least=LEAST_SHOWN_CHANCE)
        return rehearsal_of(chances, recipe, self.r2, leading=leading, asked=asked)


def factors_for(recipe: Recipe) -> tuple[str, ...]:
    """At which multiples of the price there is time to look."""
    effort = recipe.candidates.count * (64 if recipe.method == "pcpl" else 1)
    return FACTORS if effort <= CANDIDATES_IN_SECONDS else FACTORS[1:-1] if effort <= CANDIDATES_IN_A_MINUTE else ()
