"""Public. The ranges that choices must have been paid for, computed anew from public statements."""

from __future__ import annotations

import math

import numpy as np

from dpselect.assume.lemmas.margins import margin_range
from dpselect.assume.lemmas.sensitivity import loss_sensitivity, profile_change, solver_tolerance
from dpselect.assume.models.penalty import candidate_penalties
from dpselect.assume.models.recipe import Recipe
from dpselect.minimize.minimize import ROUNDING
from dpselect.penalize.pcls import pcls_range


def required_range(recipe: Recipe) -> float:
    """The range of the score of PCLS or of votes, computed anew from the public statements alone."""
    assumptions = recipe.assumptions
    if recipe.votes is not None:
        return float(margin_range(recipe.votes.partitions))
    recipe.candidates.require_listable()
    penalties = candidate_penalties(np.array(recipe.penalties) / assumptions.r**2, recipe.candidates)
    tolerance = max(solver_tolerance(1.0, assumptions.rho, recipe.rows), ROUNDING)
    needed = pcls_range(
        tolerance, penalties, assumptions.rho, assumptions.neighbors, recipe.rows, assumptions.rows_per_person
    )
    return needed if math.isfinite(needed) else math.inf


def least_profile_range(recipe: Recipe) -> float:
    """No range of PCPL's score is smaller, but with a chance of e^-50.

    The least loss is at most n, in squared units of the scaled response, and so is the range's own noise for it, but for the
    tail of one Laplace draw: the larger the noisy least loss, the smaller the range that follows from it.
    """
    assumptions = recipe.assumptions
    if recipe.rows is None or not recipe.bound_epsilon > 0:
        return math.inf
    sensitivity = loss_sensitivity(1.0, assumptions.rho, assumptions.rows_per_person)
    largest = recipe.rows + 1 + 51 * (sensitivity + 1) / float(recipe.bound_epsilon)
    return 2 * profile_change(largest, recipe.rows, sensitivity, as_printed=recipe.as_printed) * (1 - 1e-9)
