"""Private. From moments to the scores of every candidate, as a recipe says."""

from __future__ import annotations

import numpy as np

from dpselect.assume.lemmas.sensitivity import solver_tolerance
from dpselect.assume.models.penalty import candidate_penalties
from dpselect.assume.models.recipe import Recipe
from dpselect.errors import AssumptionError
from dpselect.gather.sums.moments import Moments
from dpselect.minimize.minimize import minimize_all
from dpselect.penalize.pcls import pcls_scores
from dpselect.penalize.pcpl import LocalScores, pcpl_scores
from dpselect.penalize.scores import Scores


def score(moments: Moments, recipe: Recipe) -> Scores | LocalScores:
    """Minimize and penalize: the private scores of every candidate."""
    assumptions = recipe.assumptions
    each = np.array(recipe.penalties)
    with np.errstate(all="ignore"):
        if recipe.method == "pcls":
            # Losses are in squared units of the scaled response, so the penalty has to be as well.
            each = each / assumptions.r**2
        penalties = candidate_penalties(each, recipe.candidates)
    if not np.isfinite(penalties).all():
        raise AssumptionError("The penalty is too large for the response's range: choose a smaller one.")
    tolerance = solver_tolerance(1.0, assumptions.rho, recipe.rows)
    losses = minimize_all(moments, recipe.candidates, assumptions.rho, tolerance=tolerance)
    records = assumptions.rows_per_person
    if recipe.method == "pcls":
        return pcls_scores(losses, penalties, assumptions.rho, assumptions.neighbors, recipe.rows, records)
    assert recipe.rows is not None
    return pcpl_scores(losses, penalties, assumptions.rho, recipe.rows, as_printed=recipe.as_printed, records=records)
