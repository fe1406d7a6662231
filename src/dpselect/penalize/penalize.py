"""Private. From losses to the scores of every candidate, as a recipe says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.models.penalty import candidate_penalties
from dpselect.assume.models.recipe import Recipe
from dpselect.errors import AssumptionError
from dpselect.minimize.losses import Losses
from dpselect.minimize.votes import Votes
from dpselect.penalize.margins import Margins, margins
from dpselect.penalize.pcls import pcls_scores
from dpselect.penalize.pcpl import LocalScores, pcpl_scores
from dpselect.penalize.scores import Scores

PrivateScores = Scores | LocalScores | Margins


def penalize(losses: Losses | Votes, recipe: Recipe) -> PrivateScores:
    """The private scores of every candidate: its loss, the logarithm of it, or its margin, and what its size costs."""
    if isinstance(losses, Votes):
        return margins(losses, recipe)
    assumptions, penalties = recipe.assumptions, _penalties(recipe)
    records = assumptions.rows_per_person
    if recipe.method == "pcls":
        return pcls_scores(losses, penalties, assumptions.rho, assumptions.neighbors, recipe.rows, records)
    assert recipe.rows is not None
    return pcpl_scores(losses, penalties, assumptions.rho, recipe.rows, as_printed=recipe.as_printed, records=records)


def _penalties(recipe: Recipe) -> NDArray[np.float64]:
    """What each candidate costs, in the units of its score."""
    each = np.array(recipe.penalties)
    with np.errstate(all="ignore"):
        if recipe.method == "pcls":
            # Losses are in squared units of the scaled response, so the penalty has to be as well.
            each = each / recipe.assumptions.r**2
        penalties = candidate_penalties(each, recipe.candidates)
    if not np.isfinite(penalties).all():
        raise AssumptionError("The penalty is too large for the response's range: choose a smaller one.")
    return penalties
