"""Public. The model that was chosen, with its whole recipe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import index
from typing import Any

from dpselect.assume.models.budget import Guarantee, plain
from dpselect.assume.models.candidates import CandidateList, Candidates, SubsetRule, mask_of
from dpselect.assume.models.recipe import Recipe
from dpselect.assume.models.vote_rule import VoteRule
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.canonical import readable_json
from dpselect.assume.study.columns import INTERCEPT, MOST_COLUMNS
from dpselect.errors import DataError
from dpselect.release.html_table import html_table
from dpselect.release.ledger.records import Receipt
from dpselect.release.reading import read_release

FORMAT = "dpselect selection 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Public. The chosen columns, and all that is needed to check the price of the choice.

    Formal guarantee: this value is the outcome of a `guarantee.epsilon`, `guarantee.delta` differentially private
    mechanism for tables that are `guarantee.neighbors` neighbours, provided the assumptions were stated without looking at
    the rows. `range` is the sensitivity that was paid for, in squared units of the scaled response; with PCPL it was
    bought with part of epsilon, and an infinite one means that the choice was uniform over the candidates.
    """

    columns: tuple[int, ...]
    variables: tuple[str, ...]
    range: float
    recipe: Recipe
    receipt: Receipt | None
    version: str

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon, delta and neighbours of this choice."""
        return self.recipe.guarantee

    @property
    def assumptions(self) -> Assumptions:
        """What was stated before the rows were read."""
        return self.recipe.assumptions

    @property
    def formula(self) -> str:
        """The model as people write it: `price ~ 1 + size`."""
        right = ["1" if name == INTERCEPT else name for name in self.variables]
        return f"{self.assumptions.response.name} ~ {' + '.join(right) or '0'}"

    def __str__(self) -> str:
        recipe = self.recipe
        whom = " of whole persons" if self.assumptions.person is not None else ""
        more = f", after epsilon={plain(recipe.paid_before)} for bounds" if recipe.paid_before else ""
        return f"{self.formula}  ({self.guarantee}{whom}{more}; {recipe.method} by {recipe.mechanism})"

    def _repr_html_(self) -> str:
        recipe, receipt = self.recipe, self.receipt
        rows = [
            ("guarantee", str(self.guarantee)),
            ("method", f"{recipe.method} by {recipe.mechanism}, among {recipe.candidates.count:,} models"),
            ("charged", f"record {receipt.index}, {receipt.left} left" if receipt else "to no ledger"),
        ]
        return html_table(self.formula, (), rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; an infinite range is the string "infinite"."""
        return {
            "format": FORMAT,
            "version": self.version,
            "columns": list(self.columns),
            "variables": list(self.variables),
            "formula": self.formula,
            "range": self.range if math.isfinite(self.range) else "infinite",
            "recipe": self.recipe.to_dict(),
            "receipt": self.receipt.to_json() if self.receipt else None,
        }

    def to_json(self) -> str:
        """The release as a JSON text that `from_json` reads back."""
        return readable_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Selection:
        """A selection from its JSON text."""
        return read_release(text, cls.from_dict, "a dpselect selection")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Selection:
        """The inverse of `to_dict`."""
        if values["format"] != FORMAT:
            raise DataError(f"This is a {values['format']!r}, and a {FORMAT!r} is needed.")
        return cls(
            columns=tuple(map(index, values["columns"])),
            variables=tuple(values["variables"]),
            range=math.inf if values["range"] == "infinite" else values["range"],
            recipe=_recipe_from_dict(values["recipe"]),
            receipt=Receipt.from_json(values["receipt"]) if values["receipt"] else None,
            version=values["version"],
        )


def _recipe_from_dict(values: dict[str, Any]) -> Recipe:
    guarantee = values["guarantee"]
    return Recipe(
        method=values["method"],
        mechanism=values["mechanism"],
        guarantee=Guarantee(
            epsilon=Decimal(guarantee["epsilon"]), delta=Decimal(guarantee["delta"]), neighbors=guarantee["neighbors"]
        ),
        bound_epsilon=Decimal(values["bound_epsilon"]),
        penalties=tuple(values["penalties"]),
        rows=values["rows"],
        candidates=_candidates_from_dict(values["candidates"]),
        assumptions=Assumptions.from_dict(values["assumptions"]),
        as_printed=values["as_printed"],
        paid_before=Decimal(values.get("bounds_epsilon", "0")),
        votes=VoteRule(**values["votes"]) if "votes" in values else None,
    )


def _candidates_from_dict(values: dict[str, Any]) -> Candidates:
    width = index(values["width"])
    if width > MOST_COLUMNS + 1:  # the intercept's
        raise DataError(f"The candidates have more columns than any study, which has at most {MOST_COLUMNS:,} and one.")
    if values["rule"] == "list":
        return CandidateList(width, tuple(_mask(model, width) for model in values["models"]))
    terms = tuple(_mask(term, width) for term in values["terms"])
    return SubsetRule(width, terms, _mask(values["always"], width), values["max_size"], values["empty"])


def _mask(columns: Sequence[int], width: int) -> int:
    """The mask of columns that are within the width: of a larger one it might not fit into memory."""
    if not all(0 <= index(column) < width for column in columns):
        raise DataError(f"A column of the candidates is outside the table's {width} columns.")
    return mask_of(columns)
