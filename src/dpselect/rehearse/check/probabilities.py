"""Private. Custodian's eyes only: the losses, and the exact probability of every outcome, before anything is spent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.budget import Neighbors, Price, float_below
from dpselect.assume.candidates import Candidates, Model, SubsetRule, Subsets, candidates_for
from dpselect.assume.penalty import Penalty
from dpselect.assume.recipe import Choice, Mechanism, Method, Recipe, make_recipe
from dpselect.assume.study import plain_study
from dpselect.errors import DataError
from dpselect.gather.moments import Moments
from dpselect.gather.rows import gather
from dpselect.gather.sources.arrays import named_matrix, numeric_array
from dpselect.minimize.l1_ball import list_losses
from dpselect.minimize.lattice import lattice_losses
from dpselect.minimize.minimize import minimize
from dpselect.penalize.edges import EdgeMargins
from dpselect.penalize.margins import Margins
from dpselect.penalize.pcpl import LocalScores
from dpselect.penalize.penalize import PrivateScores, penalize
from dpselect.rehearse.chances.all import selection_probabilities
from dpselect.rehearse.chances.edges import EdgeChances
from dpselect.rehearse.chances.profile import LEAST, NoisyBound, profile_probabilities

SUMMED = 2.0**-40
"""A relative error that sums of products of doubles stay within."""


def losses(
    X: Any,
    y: Any,
    *,
    R: float,
    r: float | None = None,
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
) -> NDArray[np.float64]:
    """The loss_R of every candidate, masks 1 .. 2^d - 1 in order unless candidates are given, in y's units. Private.

    Example: `rehearse.losses(X, y, R=3)`. X is clipped to [-1, 1] and y to [-r, r]; r=None takes max|y|, as in the paper, not
    private. These are the losses of the rows as given: a release rounds them to a grid of 2^-20 first, and so does
    `probabilities`.
    """
    vector = numeric_array(y, "The response")
    half = float(np.abs(vector).max(initial=0.0)) or 1.0 if r is None else r
    matrix, names = named_matrix(X)
    if not (np.isfinite(matrix).all() and np.isfinite(vector).all() and vector.shape == matrix.shape[:1]):
        raise DataError("X and y must be finite numbers, with one response for each row.")
    study = plain_study(names, r=half, R=R)
    models = candidates_for(study, candidates)
    table = np.column_stack([np.clip(matrix, -1, 1), np.clip(vector / half, -1, 1)])
    return _loss_values(table.T @ table, models, study.rho) * half**2


def _loss_values(products: NDArray[np.float64], models: Candidates, rho: float) -> NDArray[np.float64]:
    masks = models.masks()
    if isinstance(models, SubsetRule) and models.is_full_lattice:
        return lattice_losses(products, rho, error=SUMMED)[0][masks.astype(np.int64)]
    return list_losses(products, masks, rho)[0]


def probabilities(
    X: Any,
    y: Any,
    *,
    epsilon: Price,
    r: float,
    R: float,
    phi: Penalty,
    method: Method = "pcls",
    mechanism: Mechanism = "permute-and-flip",
    delta: Price | None = None,
    neighbors: Neighbors = "replace-one",
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
    as_printed: bool = False,
) -> NDArray[np.float64]:
    """The exact probability that `pcls` or `pcpl` with these settings chooses each candidate, in order. Private.

    Example: `rehearse.probabilities(X, y, method="pcls", epsilon=1, r=4, R=3, phi=100, mechanism="exponential")`. Nothing is
    drawn and nothing is spent; the result depends on the rows without noise and is for the custodian's eyes only.
    """
    matrix, names = named_matrix(X)
    study = plain_study(names, r=r, R=R, neighbors=neighbors)
    moments = gather((matrix, y), study)
    choice = Choice(method, mechanism, candidates, phi, as_printed)
    rows, slack = study.public_rows(moments.n), 0 if delta is None else delta
    recipe = make_recipe(study, choice, rows=rows, epsilon=epsilon, delta=slack)
    return recipe_probabilities(moments, recipe)


def recipe_probabilities(moments: Moments, recipe: Recipe) -> NDArray[np.float64]:
    """The exact probability of every candidate of a recipe. Private."""
    return score_probabilities(penalize(minimize(moments, recipe), recipe), recipe)


def score_probabilities(scores: PrivateScores, recipe: Recipe, *, least: float = LEAST) -> NDArray[np.float64]:
    """The exact probability of every candidate, from the private scores that a release would draw from. Private.

    `least` is handed on to `profile_probabilities`: a larger one is faster and less exact.
    """
    epsilon = float_below(recipe.choice_epsilon)
    if isinstance(scores, EdgeMargins):
        return EdgeChances(scores, epsilon, recipe.mechanism).listed()
    if isinstance(scores, Margins):
        scores = scores.scores()
    if isinstance(scores, LocalScores):
        noise = NoisyBound(
            scores.least_loss,
            scores.sensitivity,
            float_below(recipe.bound_epsilon),
            float_below(recipe.guarantee.delta),
        )
        return profile_probabilities(scores.values, noise, scores.range_for, epsilon, recipe.mechanism, least=least)
    return selection_probabilities(scores.values, scores.range, epsilon, recipe.mechanism)
