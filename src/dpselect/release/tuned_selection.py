"""Public. A selection whose bounds were bought: both releases, and what they cost together."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from dpselect.assume.models.budget import EXACT, Guarantee
from dpselect.assume.models.tuning import DEFAULT_TUNING, Tuning
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.canonical import readable_json
from dpselect.errors import DataError
from dpselect.release.selection import Selection
from dpselect.release.tune import Tuned

FORMAT = "dpselect tuned selection 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedSelection:
    """Public. The bounds that were bought, the model that was chosen with them, and what both cost together.

    The choice was made with the response clipped to the bought bounds, which is good for choosing and bad for estimating:
    `estimate(table, tuned, ...)` does so under the bounds that were stated.
    """

    bounds: Tuned
    selection: Selection
    stated: Assumptions
    tuning: Tuning = DEFAULT_TUNING

    @property
    def guarantee(self) -> Guarantee:
        """Of both releases together."""
        parts = (self.bounds.guarantee, self.selection.guarantee)
        epsilon = EXACT.add(parts[0].epsilon, parts[1].epsilon)
        return Guarantee(epsilon=epsilon, delta=parts[1].delta, neighbors=self.stated.neighbors)

    @property
    def variables(self) -> tuple[str, ...]:
        """The chosen columns, by name."""
        return self.selection.variables

    @property
    def columns(self) -> tuple[int, ...]:
        """The chosen columns, by place."""
        return self.selection.columns

    def __str__(self) -> str:
        low, high = self.bounds.values
        return f"{self.selection.formula}  ({self.guarantee}; response clipped to {low:g} to {high:g})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "format": FORMAT,
            "tuning": asdict(self.tuning),
            "bounds": self.bounds.to_dict(),
            "selection": self.selection.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "stated": self.stated.to_dict(),
        }

    def to_json(self) -> str:
        """The release as JSON text."""
        return readable_json(self.to_dict())

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        if values["format"] != FORMAT:
            raise DataError(f"This is a {values['format']!r}, and a {FORMAT!r} is needed.")
        return cls(
            bounds=Tuned.from_dict(values["bounds"]),
            selection=Selection.from_dict(values["selection"]),
            stated=Assumptions.from_dict(values["stated"]),
            tuning=Tuning(**values["tuning"]),
        )
