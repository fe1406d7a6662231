"""Public. Noisy moments that are drawn and paid for, before the equations are solved, which takes longer than the draw."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any, Self

from dpselect.assume.models.budget import Guarantee
from dpselect.assume.study.assumptions import Assumptions
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.release.coefficients.coefficients import Coefficients, coefficients_from
from dpselect.release.coefficients.intervals import Intervals
from dpselect.release.coefficients.noisy_json import noisy_from_dict, noisy_to_dict, release_from_dict
from dpselect.release.ledger.records import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Public. All that `solved` needs: what was paid for is safe once this is on the disk."""

    columns: tuple[int, ...]
    noisy: NoisyMoments
    assumptions: Assumptions
    intervals: Intervals
    selected: bool
    guarantee: Guarantee
    receipt: Receipt | None
    version: str

    def solved(self) -> Coefficients:
        """The coefficients; the same each time."""
        return coefficients_from(
            self.noisy,
            self.columns,
            self.assumptions,
            level=self.intervals.level,
            intervals=self.intervals.kind,
            selected=self.selected,
            release={"guarantee": self.guarantee, "receipt": self.receipt, "version": self.version},
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "columns": list(self.columns),
            "noisy_moments": noisy_to_dict(self.noisy),
            "assumptions": self.assumptions.to_dict(),
            "level": self.intervals.level,
            "intervals": self.intervals.kind,
            "selected": self.selected,
            "guarantee": self.guarantee.to_dict(),
            "receipt": self.receipt.to_json() if self.receipt else None,
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        assumptions = Assumptions.from_dict(values["assumptions"])
        return cls(
            columns=tuple(map(index, values["columns"])),
            noisy=noisy_from_dict(values["noisy_moments"], assumptions),
            assumptions=assumptions,
            intervals=Intervals(values["level"], values["intervals"]),
            selected=values["selected"],
            **release_from_dict(values),
        )
