"""The exit for a choice: check, charge, draw, hand over, in this order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpselect.assume.models.budget import float_below
from dpselect.assume.models.candidates import LISTED_AT_MOST, columns_of
from dpselect.assume.models.choice import Mechanism, Method
from dpselect.assume.models.recipe import Recipe
from dpselect.errors import AssumptionError, DataError
from dpselect.penalize.margins import Margins
from dpselect.penalize.pcpl import LocalScores
from dpselect.penalize.penalize import PrivateScores
from dpselect.penalize.scores import Scores
from dpselect.randomize.choice import choose
from dpselect.randomize.least_loss import noisy_least_loss
from dpselect.randomize.levels import draw_set
from dpselect.release.account import NO_ACCOUNT, Account, software_version
from dpselect.release.ledger.records import Charge, Receipt
from dpselect.release.selection import Selection


def release_selection(scores: PrivateScores, recipe: Recipe, account: Account = NO_ACCOUNT) -> Selection:
    """Choose one candidate and hand it over, after the ledger has the charge on disk."""
    if recipe.candidates.width != len(recipe.assumptions.columns):
        raise AssumptionError("The candidates range over other columns than the assumptions have.")
    if isinstance(scores, Margins):
        if scores.candidates is not recipe.candidates:
            raise DataError("The margins do not belong to these candidates.")
    elif scores.values.size != recipe.candidates.count:
        raise DataError("The scores do not belong to these candidates.")
    elif not np.isfinite(scores.values).all():
        raise DataError("The scores must be finite.")
    receipt = account.charge(selection_charge(recipe))
    return _draw(scores, recipe, receipt)


def selection_charge(recipe: Recipe) -> Charge:
    """What the ledger is told."""
    return Charge(
        what="select",
        mechanism=charged_mechanism(recipe.method, recipe.mechanism),
        epsilon=recipe.guarantee.epsilon,
        delta=recipe.guarantee.delta,
        parameters={
            "method": recipe.method,
            "neighbors": recipe.guarantee.neighbors,
            "candidates": recipe.candidates.count,
            "bound_epsilon": str(recipe.bound_epsilon),
            "choice_epsilon": str(recipe.choice_epsilon),
            "recipe": recipe.hash,
        },
        assumptions=recipe.assumptions.hash,
    )


def charged_mechanism(method: Method, mechanism: Mechanism) -> str:
    """What prices a choice: the mechanism, and PCPL's bound besides."""
    return f"pcpl/{mechanism}" if method == "pcpl" else mechanism


def _draw(scores: PrivateScores, recipe: Recipe, receipt: Receipt | None) -> Selection:
    if isinstance(scores, Margins):
        mask, paid = _drawn_by_votes(scores, recipe), scores.range
    else:
        listed = _bounded(scores, recipe)
        mask, paid = recipe.candidates.mask(choose(listed, recipe.mechanism, _choice_epsilon(recipe))), listed.range
    columns = columns_of(mask)
    names = tuple(column.name for column in recipe.assumptions.columns)
    return Selection(
        columns=columns,
        variables=tuple(names[j] for j in columns),
        range=paid,
        recipe=recipe,
        receipt=receipt,
        version=software_version(),
    )


def _choice_epsilon(recipe: Recipe) -> float:
    return float_below(recipe.choice_epsilon)


def _drawn_by_votes(margins: Margins, recipe: Recipe) -> int:
    """From the list where there can be one, by levels beyond."""
    if recipe.candidates.count <= LISTED_AT_MOST:
        return recipe.candidates.mask(choose(margins.scores(), recipe.mechanism, _choice_epsilon(recipe)))
    return draw_set(margins, Fraction(recipe.choice_epsilon))


def _bounded(scores: Scores | LocalScores, recipe: Recipe) -> Scores:
    """Scores with a range: PCPL's is bought with its part of epsilon."""
    if isinstance(scores, Scores):
        return scores
    least_loss = noisy_least_loss(
        scores.least_loss,
        scores.sensitivity,
        float_below(recipe.bound_epsilon),
        float_below(recipe.guarantee.delta),
    )
    return scores.bounded(least_loss)
