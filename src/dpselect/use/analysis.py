"""Public. A choice and its coefficients together."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from dpselect.assume.models.budget import Budget
from dpselect.errors import DataError
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.selection import Selection

FORMAT = "dpselect analysis 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Public. A choice and the coefficients of what was chosen; each carries its price and its receipt.

    Formal guarantee: both together cost no more than `budget`, by basic composition; a ledger may find less.
    """

    selection: Selection
    coefficients: Coefficients
    budget: Budget

    def __str__(self) -> str:
        return f"{self.selection}\n{self.coefficients}"

    def _repr_html_(self) -> str:
        return self.selection._repr_html_() + self.coefficients._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "format": FORMAT,
            "selection": self.selection.to_dict(),
            "coefficients": self.coefficients.to_dict(),
            "budget": {"epsilon": str(self.budget.epsilon), "delta": str(self.budget.delta)},
        }

    def to_json(self) -> str:
        """Both releases as a JSON text that `from_json` reads back."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Analysis:
        """An analysis from its JSON text."""
        try:
            values = json.loads(text)
            if values["format"] != FORMAT:
                raise DataError(f"This is a {values['format']!r}, and a {FORMAT!r} is needed.")
            return cls(
                selection=Selection.from_dict(values["selection"]),
                coefficients=Coefficients.from_dict(values["coefficients"]),
                budget=Budget(**values["budget"]),
            )
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
            raise DataError("This is not the JSON text of a dpselect analysis.") from None
