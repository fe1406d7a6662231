"""Public. The model that was selected, with its whole recipe: checked, and drawn in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec.structs import force_setattr, replace

from dpselect.assume.budget import Guarantee, float_below, plain
from dpselect.assume.candidates import SubsetRule, columns_of, variables_of
from dpselect.assume.recipe import Mechanism, Method, Recipe
from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT
from dpselect.errors import DataError, StudyError
from dpselect.penalize.edges import EdgeMargins
from dpselect.penalize.margins import Margins
from dpselect.penalize.penalize import PrivateScores
from dpselect.penalize.scores import LocalScores, Scores
from dpselect.penalize.second_look import LookedMargins
from dpselect.randomize.choice import choose, noisy_least_loss
from dpselect.randomize.draw import draw_candidate
from dpselect.randomize.draw_classes import draw_edge_candidate, draw_looked_candidate
from dpselect.release.account import charge_about, software_version
from dpselect.release.drawn import Direction
from dpselect.release.ledger.entries import Charge, Receipt
from dpselect.release.tables import result_html, result_text

INFINITY = "infinity"
"""An infinite range, as it is written: JSON has no infinite number."""

if TYPE_CHECKING:
    Range = float
else:
    Range = float | Literal["infinity"]

DIRECTIONS: dict[int, Direction] = {1: "up", -1: "down"}


def named_directions(study: Study, columns: Sequence[int], signs: Mapping[int, int]) -> dict[str, Direction | None]:
    """The direction of each variable (or product) behind the selected columns, from the signs of some of them.

    A variable of one column has its own; of a category none is told, but that of a column of its: {"size": "up", "county": None,
    "county[Napa]": "down"}. None is what is not known.
    """
    found: dict[str, Direction | None] = {}
    for place in columns:
        column = study.columns[place]
        if column.name == INTERCEPT and study.intercept == "always":
            continue
        found.setdefault(":".join(factor.variable for factor in column.factors) or INTERCEPT, None)
        if place in signs:
            found[column.name] = DIRECTIONS[signs[place]]
    return found


class Selection(Public, frozen=True, kw_only=True, tag_field="format", tag="dpselect selection 1"):
    """The chosen columns, and all that is needed to check the price of the choice.

    Formal guarantee: this value is the outcome of a `guarantee.epsilon`, `guarantee.delta` differentially private
    mechanism for tables that are `guarantee.neighbors` neighbours, provided the assumptions were stated without looking at
    the rows.

    Attributes
    ----------
    columns : tuple of int
        The places of the chosen columns in the study's design.
    variables : tuple of str
        Their names.
    directions : dict of str to "up", "down" or None
        Of each variable that was selected, whether the response goes up or down with it, None where that is unknown; of a
        variable with categories, instead, of one category whether the response is higher or lower for it than for all others
        (than for the reference, where blocks are fitted with all variables at once).
    range : float
        The sensitivity that was paid for, in squared units of the scaled response. With PCPL it was bought with part of epsilon,
        and an infinite one means that the choice was uniform over the candidates.
    recipe : Recipe
        The whole way in which the model was chosen; `guarantee`, `study` and `formula` come from it.
    receipt : Receipt or None
        What the ledger gave for the charge; None without a ledger.
    version : str
        The version of dpselect that made the choice.
    """

    columns: tuple[int, ...]
    variables: tuple[str, ...]
    directions: dict[str, Direction | None]
    range: Range
    recipe: Recipe
    receipt: Receipt | None
    version: str

    def __post_init__(self) -> None:
        force_setattr(self, "range", float(self.range))  # also of the word
        self.study.require_places(self.columns)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon, delta and neighbours of this choice."""
        return self.recipe.guarantee

    @property
    def study(self) -> Study:
        """What was stated before the rows were read."""
        return self.recipe.study

    @property
    def always(self) -> tuple[str, ...]:
        """The variables that every model has by statement: they were not selected."""
        models = self.recipe.candidates
        columns = columns_of(models.always) if isinstance(models, SubsetRule) else ()
        return variables_of([self.study.columns[place] for place in columns])

    @property
    def formula(self) -> str:
        """The model as people write it: `price ~ 1 + size`."""
        right = ["1" if name == INTERCEPT else name for name in self.variables]
        return f"{self.study.response.name} ~ {' + '.join(right) or '0'}"

    def __repr__(self) -> str:
        return f"<Selection {self.formula}, epsilon {plain(self.guarantee.epsilon)}>"

    def __str__(self) -> str:
        return result_text(self)

    def _repr_html_(self) -> str:
        return result_html(self)

    def with_receipts(self, receipts: Sequence[Receipt]) -> Selection:
        """The same release with the receipt of its charge.

        Parameters
        ----------
        receipts : sequence of Receipt
            Those of a commit, this release's first.

        Returns
        -------
        Selection
        """
        return replace(self, receipt=receipts[0])

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values = super().to_dict()
        return values if math.isfinite(self.range) else values | {"range": INFINITY}


def check_selection(scores: PrivateScores, recipe: Recipe) -> None:
    """Refuse what does not belong together, before anything is drawn or charged."""
    if recipe.candidates.width != len(recipe.study.columns):
        raise StudyError("The candidates range over other columns than the assumptions have.")
    if isinstance(scores, Margins | EdgeMargins | LookedMargins):
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
    elif isinstance(scores, LookedMargins):
        mask, signs = draw_looked_candidate(scores, Fraction(recipe.choice_epsilon), recipe.mechanism)
        paid = scores.range
    elif isinstance(scores, Margins) and isinstance(scores.candidates, SubsetRule) and not scores.candidates.needs:
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


MAX_COUNT_BITS = 4096
"""Longer numbers of models are not written out in the ledger."""


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
