"""Public. What a run has drawn, as the ledger keeps it until it is handed over, and what is handed over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from msgspec.structs import replace

from dpselect.assume.records import Public
from dpselect.errors import DataError
from dpselect.release.drawn import Drawn
from dpselect.release.estimate import Estimate, solved
from dpselect.release.ledger.entries import Receipt
from dpselect.release.selection import Selection
from dpselect.use.analysis import Analysis


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """Public. What a run gives: a choice, an estimate, or both."""

    title: str
    made: str
    selection: Selection | None
    coefficients: Estimate | None

    @property
    def analysis(self) -> Analysis:
        """What a report shows, and what Python has of it."""
        if self.selection is None:
            raise DataError(
                "This release is an estimate alone, which has no report: take it up in Python, by undelivered()."
            )
        return Analysis(title=self.title, made=self.made, selection=self.selection, coefficients=self.coefficients)


class Sealed(Public, frozen=True, kw_only=True, tag_field="format", tag="dpselect sealed 1"):
    """What was drawn so far, before the equations are solved, which takes longer than the draw.

    `estimate` is None if none was asked for, or if nothing could be drawn for the model that was chosen.
    """

    title: str
    made: str
    selection: Selection | None
    estimate: Drawn | None

    def with_receipts(self, receipts: Sequence[Receipt]) -> Self:
        """The same with the receipts of its charges: that of the choice first, then that of the estimate."""
        selection, estimate, rest = self.selection, self.estimate, receipts
        if selection is not None:
            selection, rest = selection.with_receipts(rest[:1]), rest[1:]
        return replace(self, selection=selection, estimate=estimate and estimate.with_receipts(rest[:1]))

    def solved(self) -> Released:
        """What is handed over; the same each time."""
        estimate = None if self.estimate is None else solved(self.estimate)
        return Released(title=self.title, made=self.made, selection=self.selection, coefficients=estimate)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The inverse of `to_json`."""
        try:
            return super().from_json(text)
        except DataError:
            raise DataError(
                "A release in the ledger was not sealed by this program: take it up in Python, by undelivered()."
            ) from None
