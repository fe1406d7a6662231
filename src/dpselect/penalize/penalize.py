"""Private. From losses to the scores of every candidate, as a recipe says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.edge_rule import EdgeRule
from dpselect.assume.penalty import candidate_penalties
from dpselect.assume.recipe import Method, Recipe
from dpselect.errors import DataError, StudyError
from dpselect.minimize.losses.losses import Losses
from dpselect.minimize.votes.edges import EdgeLeads
from dpselect.minimize.votes.second_look import LookedVotes
from dpselect.minimize.votes.votes import Votes
from dpselect.penalize.edges import EdgeMargins, edge_margins
from dpselect.penalize.margins import Margins, margins
from dpselect.penalize.scores import LocalScores, Scores, pcls_scores, pcpl_scores
from dpselect.penalize.second_look import LookedMargins, looked_margins

PrivateScores = Scores | LocalScores | Margins | EdgeMargins | LookedMargins


def penalize(losses: Losses | Votes | EdgeLeads | LookedVotes, recipe: Recipe) -> PrivateScores:
    """The private scores of every candidate: its loss, the logarithm of it, or its margin, and what its size costs."""
    return SCORES[recipe.method](losses, recipe)


def _votes(votes: Votes | EdgeLeads | LookedVotes, recipe: Recipe) -> Margins | EdgeMargins | LookedMargins:
    if isinstance(votes, Votes):
        return margins(votes, recipe)
    if isinstance(votes, LookedVotes):
        return looked_margins(votes, recipe)
    rule = recipe.votes
    if not isinstance(rule, EdgeRule):
        raise DataError("The votes were counted by another rule than the recipe says.")
    return edge_margins(votes, rule, recipe.candidates, recipe.step, directions=recipe.directions)


def _pcls(losses: Losses, recipe: Recipe) -> Scores:
    study = recipe.study
    # Losses are in squared units of the scaled response, so the penalty has to be as well.
    penalties = _penalties(recipe, study.r**2)
    return pcls_scores(losses, penalties, study.rho, study.neighbors, recipe.rows, study.rows_per_person)


def _pcpl(losses: Losses, recipe: Recipe) -> LocalScores:
    study = recipe.study
    assert recipe.rows is not None
    records, printed = study.rows_per_person, recipe.as_printed
    return pcpl_scores(losses, _penalties(recipe), study.rho, recipe.rows, as_printed=printed, records=records)


SCORES: dict[Method, Callable[[Any, Recipe], PrivateScores]] = {"votes": _votes, "pcls": _pcls, "pcpl": _pcpl}
"""How each method scores; `use.methods` has the whole table."""


def _penalties(recipe: Recipe, unit: float = 1.0) -> NDArray[np.float64]:
    """What each candidate costs, in the units of its score."""
    with np.errstate(all="ignore"):
        penalties = candidate_penalties(np.array(recipe.penalties) / unit, recipe.candidates)
    if not np.isfinite(penalties).all():
        raise StudyError("The penalty is too large for the response's range: choose a smaller one.")
    return penalties
