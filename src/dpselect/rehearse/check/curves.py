"""Private. Custodian's eyes only: how the probabilities move with the settings, for one reading of the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from dpselect.assume.budget import Budget, Guarantee, Price, exact_epsilon
from dpselect.assume.recipe import Recipe
from dpselect.errors import StudyError
from dpselect.gather.moments import Moments
from dpselect.minimize.minimize import minimize
from dpselect.penalize.penalize import penalize
from dpselect.rehearse.check.probabilities import recipe_probabilities, score_probabilities


def by_penalty(moments: Moments, recipe: Recipe, penalties: Sequence[float]) -> NDArray[np.float64]:
    """The probabilities of all candidates, one row a penalty (the same for every column). Private."""
    if not all(penalty >= 0 for penalty in penalties):
        raise StudyError("Each penalty must be at least 0.")
    losses = minimize(moments, recipe)
    each = [with_penalty(recipe, penalty) for penalty in penalties]
    return np.array([score_probabilities(penalize(losses, one), one) for one in each])


def by_epsilon(moments: Moments, recipe: Recipe, epsilons: Sequence[Price]) -> NDArray[np.float64]:
    """The probabilities of all candidates, one row an epsilon, the penalty held fixed. Private."""
    return np.array([recipe_probabilities(moments, with_epsilon(recipe, epsilon)) for epsilon in epsilons])


def with_penalty(recipe: Recipe, penalty: float) -> Recipe:
    """The recipe with another penalty, the same for every column."""
    return replace(recipe, penalties=(float(penalty),) * recipe.candidates.width)


def with_epsilon(recipe: Recipe, epsilon: Price) -> Recipe:
    """The recipe at another price, divided as before in halves if a part of it buys PCPL's bound."""
    whole = exact_epsilon(epsilon)
    guarantee = Guarantee(epsilon=whole, delta=recipe.guarantee.delta, neighbors=recipe.guarantee.neighbors)
    bound = Budget(whole).split(1, 1)[0].epsilon if recipe.bound_epsilon else recipe.bound_epsilon
    return replace(recipe, guarantee=guarantee, bound_epsilon=bound)
