"""The exit for a choice: check, draw in memory, commit charge and release together, hand over."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpselect.assume.budget import float_below
from dpselect.assume.candidates import SubsetRule, columns_of
from dpselect.assume.recipe import Mechanism, Method, Recipe
from dpselect.errors import DataError, StudyError
from dpselect.penalize.edges import EdgeMargins
from dpselect.penalize.margins import Margins
from dpselect.penalize.pcpl import LocalScores
from dpselect.penalize.penalize import PrivateScores
from dpselect.penalize.scores import Scores
from dpselect.randomize.choice import choose
from dpselect.randomize.draw import draw_candidate
from dpselect.randomize.draw_edges import draw_edge_candidate
from dpselect.randomize.least_loss import noisy_least_loss
from dpselect.release.account import NO_ACCOUNT, Account, charge_about, software_version
from dpselect.release.ledger.entries import Charge
from dpselect.release.selection import Selection, named_directions

MAX_COUNT_BITS = 4096
"""Longer numbers of models are not written out in the ledger."""


def release_selection(scores: PrivateScores, recipe: Recipe, account: Account = NO_ACCOUNT) -> Selection:
    """Choose one candidate, commit the choice with its charge, and hand it over."""
    check_selection(scores, recipe)
    committed = account.commit((selection_charge(recipe),), lambda: draw_selection(scores, recipe))
    committed.delivered()
    return committed.release


def check_selection(scores: PrivateScores, recipe: Recipe) -> None:
    """Refuse what does not belong together, before anything is drawn or charged."""
    if recipe.candidates.width != len(recipe.study.columns):
        raise StudyError("The candidates range over other columns than the assumptions have.")
    if isinstance(scores, Margins | EdgeMargins):
        if scores.candidates is not recipe.candidates:
            raise DataError("The margins do not belong to these candidates.")
    elif scores.values.size != recipe.candidates.count:
        raise DataError("The scores do not belong to these candidates.")
    elif not np.isfinite(scores.values).all():
        raise DataError("The scores must be finite.")


def draw_selection(scores: PrivateScores, recipe: Recipe) -> Selection:
    """Choose one candidate, in memory: nothing of it may be shown before its charge is committed."""
    check_selection(scores, recipe)
    signs: dict[int, int] = {}
    if isinstance(scores, EdgeMargins):
        mask, signs = draw_edge_candidate(scores, Fraction(recipe.choice_epsilon), recipe.mechanism)
        paid = scores.range
    elif isinstance(scores, Margins) and isinstance(scores.candidates, SubsetRule):
        drawn = draw_candidate(scores, Fraction(recipe.choice_epsilon), recipe.mechanism)
        mask, paid = scores.candidates.always, scores.range
        for option in drawn:
            mask |= option.mask
            if option.sign:
                signs[option.column] = option.sign
    else:
        listed = scores.scores() if isinstance(scores, Margins) else _bounded(scores, recipe)
        place = choose(listed, recipe.mechanism, float_below(recipe.choice_epsilon))
        mask, paid = recipe.candidates.mask(place), listed.range
    columns = columns_of(mask)
    names = tuple(column.name for column in recipe.study.columns)
    return Selection(
        columns=columns,
        variables=tuple(names[j] for j in columns),
        directions=named_directions(recipe.study, columns, signs),
        range=paid,
        recipe=recipe,
        receipt=None,
        version=software_version(),
    )


def selection_charge(recipe: Recipe) -> Charge:
    """What the ledger is told."""
    return Charge(
        what="select",
        mechanism=charged_mechanism(recipe.method, recipe.mechanism),
        parameters={
            "method": recipe.method,
            "candidates": written_count(recipe.candidates.count),
            "bound_epsilon": str(recipe.bound_epsilon),
            "choice_epsilon": str(recipe.choice_epsilon),
            "recipe": recipe.hash,
        },
        **charge_about(recipe.study, recipe.guarantee),
    )


def written_count(count: int) -> int | str:
    """A number of models; one of hundreds of digits as a power of two."""
    return count if count.bit_length() <= MAX_COUNT_BITS else f"about 2^{count.bit_length() - 1}"


def charged_mechanism(method: Method, mechanism: Mechanism) -> str:
    """What prices a choice: the mechanism, and PCPL's bound besides."""
    return f"pcpl/{mechanism}" if method == "pcpl" else mechanism


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
