"""Public. A report as a JSON document: the releases themselves, from which every page is made and checked again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Any, Self

from dpselect.assume.models.budget import EXACT, Guarantee
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.canonical import readable_json, sha256_of
from dpselect.errors import DataError
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.odds.odds_ratios import FORMAT as ODDS
from dpselect.release.odds.odds_ratios import OddsRatios
from dpselect.release.selection import Selection
from dpselect.release.tune import Tuned
from dpselect.release.tuned_selection import FORMAT as TUNED
from dpselect.release.tuned_selection import TunedSelection

FORMAT = "dpselect report 1"
Release = Tuned | Selection | Coefficients | OddsRatios


def today() -> str:
    """The date as a report carries it: 2026-11-15."""
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Public. The releases of one study, with a title and a date; `tuned` is the selection with its bounds, if they were bought."""

    title: str
    made: str
    selection: Selection
    coefficients: Coefficients | OddsRatios | None = None
    tuned: TunedSelection | None = None

    def __post_init__(self) -> None:
        if self.tuned is not None and self.tuned.selection != self.selection:
            raise DataError("The bounds were bought for another selection than this one.")
        if self.selection.recipe.paid_before and self.tuned is None:
            raise DataError(
                "The bounds of this selection were bought from the rows, and a report of the selection alone would leave their "
                "price out: publish what select_tuned returned, or select with bounds that were stated."
            )

    @property
    def stated(self) -> Assumptions:
        """What was stated before any row was read; a choice may have been made within bounds that were bought."""
        return self.selection.assumptions if self.tuned is None else self.tuned.stated

    @property
    def releases(self) -> tuple[Release, ...]:
        """All that was released, in the order of their charges."""
        bought = () if self.tuned is None else (self.tuned.bounds,)
        return (*bought, self.selection, *(() if self.coefficients is None else (self.coefficients,)))

    @property
    def guarantee(self) -> Guarantee:
        """The price of all releases together: the sums of their epsilons and deltas."""
        parts = [release.guarantee for release in self.releases]
        return Guarantee(
            epsilon=reduce(EXACT.add, (part.epsilon for part in parts)),
            delta=reduce(EXACT.add, (part.delta for part in parts)),
            neighbors=parts[0].neighbors,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "format": FORMAT,
            "title": self.title,
            "made": self.made,
            "selection": (self.tuned or self.selection).to_dict(),
            "coefficients": self.coefficients.to_dict() if self.coefficients else None,
        }

    def to_json(self) -> str:
        """The document as people keep it: report.json."""
        return readable_json(self.to_dict()) + "\n"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the document in canonical JSON; white space and the order of keys do not change it."""
        return sha256_of(self.to_dict())

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """The inverse of `to_dict`; the bare JSON of a selection is taken as well."""
        try:
            if values["format"] != FORMAT:
                return cls(title="", made="", selection=Selection.from_dict(values))
            estimate = values["coefficients"]
            selection, tuned = choice_from_dict(values["selection"])
            return cls(
                title=values["title"],
                made=values["made"],
                selection=selection,
                tuned=tuned,
                coefficients=estimate_from_dict(estimate) if estimate else None,
            )
        except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as problem:
            if isinstance(problem, DataError):
                raise
            raise DataError("This is not a dpselect report: it lacks what a report must have, or was edited.") from None


def estimate_from_dict(values: dict[str, Any]) -> Coefficients | OddsRatios:
    """Coefficients or odds ratios, whichever the plain values are."""
    return OddsRatios.from_dict(values) if values["format"] == ODDS else Coefficients.from_dict(values)


def choice_from_dict(values: dict[str, Any]) -> tuple[Selection, TunedSelection | None]:
    """A selection, and the same with its bounds where they were bought."""
    if values["format"] != TUNED:
        return Selection.from_dict(values), None
    tuned = TunedSelection.from_dict(values)
    return tuned.selection, tuned
