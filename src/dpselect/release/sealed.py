"""Public. What a run has drawn, as the ledger keeps it: a line for what was committed, and one for each round that came later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from msgspec.structs import replace

from dpselect.assume.records import Public
from dpselect.errors import DataError, LedgerError
from dpselect.randomize.rounds_noise import Answered
from dpselect.release.drawn import Drawn, is_done
from dpselect.release.families import kind_of
from dpselect.release.ledger.entries import Receipt
from dpselect.release.selection import Selection


class Stage(Public, frozen=True, kw_only=True, tag_field="format", tag="dpselect stage 1"):
    """What one more round has answered, of the estimate of one of the parts of a release."""

    part: int
    answered: tuple[Answered, ...]


class Sealed(Public, frozen=True, kw_only=True, tag_field="format", tag="dpselect sealed 1"):
    """What was drawn so far, before the equations are solved, which takes longer than the draw.

    `estimate` is None if none was asked for, or if nothing could be drawn for the model that was chosen. `rows` is a hash of where
    the rows are (`rows_address`), where rounds are left to draw: no other rows may answer them. `beside` is what was drawn
    together with it, about other responses.
    """

    title: str
    made: str
    selection: Selection | None
    estimate: Drawn | None
    rows: str = ""
    beside: tuple[Sealed, ...] = ()

    @property
    def parts(self) -> tuple[Sealed, ...]:
        """Each response by itself."""
        return (replace(self, beside=()), *self.beside)

    @property
    def response(self) -> str:
        """What it is about."""
        release = self.estimate if self.selection is None else self.selection
        return "" if release is None else release.study.response.name

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to draw."""
        return all(part.estimate is None or is_done(part.estimate) for part in self.parts)

    def with_receipts(self, receipts: Sequence[Receipt]) -> Self:
        """The same with the receipts of its charges: of each response that of the choice first, then that of the estimate.

        All responses have as many charges, also where an estimate could not be drawn.
        """
        own, rest = divmod(len(receipts), 1 + len(self.beside))
        if rest or own < max((each.selection is not None) + (each.estimate is not None) for each in self.parts):
            raise LedgerError(
                "A release in the ledger has other parts than were charged: restore the ledger from a backup."
            )
        selection, estimate, mine = self.selection, self.estimate, receipts[:own]
        if selection is not None:
            selection, mine = selection.with_receipts(mine[:1]), mine[1:]
        others = [each.with_receipts(receipts[own * k : own * (k + 1)]) for k, each in enumerate(self.beside, start=1)]
        return replace(
            self,
            selection=selection,
            estimate=estimate and estimate.with_receipts(mine[:1]),
            beside=tuple(others),
        )

    @classmethod
    def from_text(cls, text: str) -> Sealed:
        """What was committed, with all rounds that were kept since; without receipts."""
        first, *later = text.split("\n")
        parts = list(cls.from_json(first).parts)
        stages = [Stage.from_json(line) for line in later]
        for place, part in enumerate(parts):
            if answered := [stage.answered for stage in stages if stage.part == place]:
                parts[place] = replace(part, estimate=_with_rounds(part.estimate, answered))
        return joined(parts)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The inverse of `to_json`."""
        try:
            return super().from_json(text)
        except DataError:
            raise DataError(
                "A release in the ledger was not sealed by this program: take it up in Python, by undelivered()."
            ) from None


def _with_rounds(drawn: Drawn | None, answered: Sequence[tuple[Answered, ...]]) -> Drawn:
    """An estimate with the rounds that were kept."""
    if drawn is None:
        raise DataError("A release in the ledger has rounds of an estimate that was never begun.")
    kind = kind_of(drawn)
    return replace(drawn, released=kind.with_rounds(drawn.released, kind.planned(drawn), *answered))


def joined(parts: Sequence[Sealed]) -> Sealed:
    """What was drawn together, as one record: the inverse of `Sealed.parts`."""
    return replace(parts[0], beside=tuple(parts[1:]))
