"""Private. Confidential: a selection among listed models: losses, exact probabilities, and how they move with settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
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
from dpselect.minimize.losses.l1_ball import list_losses
from dpselect.minimize.losses.lattice import lattice_losses
from dpselect.minimize.minimize import minimize
from dpselect.penalize.edges import EdgeMargins
from dpselect.penalize.margins import Margins
from dpselect.penalize.penalize import PrivateScores, penalize
from dpselect.penalize.scores import LocalScores
from dpselect.penalize.second_look import LookedMargins
from dpselect.rehearse.chances.edges import EdgeChances
from dpselect.rehearse.chances.profile import LEAST, NoisyBound, profile_probabilities
from dpselect.rehearse.chances.scores import selection_probabilities
from dpselect.rehearse.chances.second_look import LookedChances
from dpselect.rehearse.check.preview import LEAST_SHOWN_CHANCE, Explained, Rehearsal, explained, rehearsal_of
from dpselect.rehearse.simulate import SUMMED_ERROR


def losses(
    X: Any,
    y: Any,
    *,
    R: float,
    r: float | None = None,
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
) -> NDArray[np.float64]:
    """The loss_R of every candidate, masks 1 .. 2^d - 1 in order unless candidates are given, in y's units. Private.

    These are the losses of the rows as given: a release rounds them to a grid of 2^-20 first, and so does `probabilities`.

    Parameters
    ----------
    X : array or data frame
        One row a record, scaled to [-1, 1]; values outside are clipped.
    y : array
        The response.
    R : float
        The bound on the sum of the absolute coefficients.
    r : float, optional
        y is clipped to [-r, r]; max|y| if left out, as in the paper, which is not private.
    candidates : Subsets, or iterable of models, optional
        The models that compete; every set of columns, if left out.

    Returns
    -------
    array of float

    Examples
    --------
    >>> dpselect.rehearse.losses(X, y, R=3).size
    3
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
        # All subsets cost less by one pass over the lattice than a list of them one by one, also where the empty one is left out.
        return lattice_losses(products, rho, error=SUMMED_ERROR)[0][masks.astype(np.int64)]
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

    Nothing is drawn and nothing is spent; the result depends on the rows without noise: it is confidential.

    Parameters
    ----------
    X : array or data frame
        One row a record, scaled to [-1, 1]; values outside are clipped.
    y : array
        The response.
    epsilon : number or str
        The price that the choice would have.
    r, R : float
        The bounds of y and of the sum of the absolute coefficients.
    phi : float or "bic"
        The penalty of each column.
    method : "pcls" or "pcpl", optional
        Which of the two would choose.
    mechanism : "permute-and-flip" or "exponential", optional
        How it would draw.
    delta : number or str, optional
        Needed by "pcpl".
    neighbors : "replace-one" or "add-remove-one", optional
        Which tables are neighbours.
    candidates : Subsets, or iterable of models, optional
        The models that compete; every set of columns, if left out.
    as_printed : bool, optional
        Use the paper's looser form of the limit on the score's sensitivity.

    Returns
    -------
    array of float

    Examples
    --------
    >>> dpselect.rehearse.probabilities(X, y, epsilon=1, r=4, R=3, phi=100, mechanism="exponential").size
    3
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
    if isinstance(scores, LookedMargins):
        return LookedChances(scores, epsilon, recipe.mechanism).listed()
    if isinstance(scores, Margins):
        scores = scores.scores()
    if isinstance(scores, LocalScores):
        # PCPL's range is itself drawn: the chances are averaged over its noise and not taken at its middle, where they would
        # leave out that a low draw makes the choice uniform.
        noise = NoisyBound(
            scores.least_loss,
            scores.sensitivity,
            float_below(recipe.bound_epsilon),
            float_below(recipe.guarantee.delta),
        )
        return profile_probabilities(scores.values, noise, scores.range_for, epsilon, recipe.mechanism, least=least)
    return selection_probabilities(scores.values, scores.range, epsilon, recipe.mechanism)


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
        # R^2 is by least squares without the radius, so that it compares with what any other program would say.
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
