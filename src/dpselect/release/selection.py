"""Public. The model that was chosen, with its whole recipe."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import force_setattr, replace

from dpselect.assume.budget import Guarantee, plain
from dpselect.assume.recipe import Recipe
from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT
from dpselect.errors import DataError
from dpselect.release.ledger.entries import Receipt
from dpselect.release.tables import result_html, result_text

INFINITY = "infinity"
"""An infinite range, as it is written: JSON has no infinite number."""

if TYPE_CHECKING:
    Range = float
else:
    Range = float | Literal["infinity"]

Direction = Literal["up", "down"]
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
        category, instead, of one of its columns whether it stands above or below the other categories.
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
        if not all(0 <= place < len(self.study.columns) for place in self.columns):
            raise DataError(f"A column of the model is outside the study's {len(self.study.columns)} columns.")

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon, delta and neighbours of this choice."""
        return self.recipe.guarantee

    @property
    def study(self) -> Study:
        """What was stated before the rows were read."""
        return self.recipe.study

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
