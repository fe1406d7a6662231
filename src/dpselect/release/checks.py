"""Public. What a verification finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Answer = Literal["ok", "failed", "not checked"]


@dataclass(frozen=True, slots=True)
class Check:
    """Public. One thing that was looked at: what, whether it holds (None: it could not be checked), and what was found."""

    what: str
    holds: bool | None
    found: str

    @property
    def answer(self) -> Answer:
        """In words."""
        return "not checked" if self.holds is None else "ok" if self.holds else "failed"


def overall(checks: Sequence[Check]) -> Answer:
    """OK only if everything is; one failure is a failure."""
    answers = {check.answer for check in checks}
    return "failed" if "failed" in answers or not answers else "not checked" if "not checked" in answers else "ok"
