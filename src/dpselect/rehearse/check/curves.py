"""Private. Custodian's eyes only: how the probabilities move with the settings, for one reading of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import solver_tolerance
from dpselect.assume.models.budget import Budget, Guarantee, Price, exact_epsilon, float_below
from dpselect.assume.models.penalty import candidate_penalties
from dpselect.assume.models.recipe import Recipe
from dpselect.errors import AssumptionError
from dpselect.gather.sums.moments import Moments
from dpselect.minimize.minimize import minimize_all
from dpselect.penalize.pcls import pcls_scores
from dpselect.rehearse.chances.all import selection_probabilities
from dpselect.rehearse.check.probabilities import recipe_probabilities


def by_penalty(moments: Moments, recipe: Recipe, penalties: Sequence[float]) -> NDArray[np.float64]:
    """The probabilities of all candidates, one row a penalty (the same for every column). Private.

    PCLS: the losses are computed once and all penalties at once; PCPL integrates over its bound for each.
    """
    if not all(penalty >= 0 for penalty in penalties):
        raise AssumptionError("Each penalty must be at least 0.")
    if recipe.method == "pcpl":
        return np.array([recipe_probabilities(moments, with_penalty(recipe, penalty)) for penalty in penalties])
    study = recipe.assumptions
    tolerance = solver_tolerance(1.0, study.rho, recipe.rows)
    losses = minimize_all(moments, recipe.candidates, study.rho, tolerance=tolerance)
    each = [candidate_penalties(np.full(recipe.candidates.width, p / study.r**2), recipe.candidates) for p in penalties]
    scores = [
        pcls_scores(losses, costs, study.rho, study.neighbors, recipe.rows, study.rows_per_person) for costs in each
    ]
    values, ranges = np.array([s.values for s in scores]), np.array([s.range for s in scores])
    return selection_probabilities(values, ranges, float_below(recipe.choice_epsilon), recipe.mechanism)


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
    bound = Budget(whole).split(1, 1)[0] if recipe.bound_epsilon else recipe.bound_epsilon
    return replace(recipe, guarantee=guarantee, bound_epsilon=bound)
