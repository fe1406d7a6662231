"""Public. What a verification finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Answer = Literal["yes", "no", "not checked"]


@dataclass(frozen=True, slots=True)
class Check:
    """Public. One thing that was looked at: what, whether it holds (None: it could not be checked), and what was found."""

    what: str
    holds: bool | None
    found: str

    @property
    def answer(self) -> Answer:
        """In words."""
        return "not checked" if self.holds is None else "yes" if self.holds else "no"


def overall(checks: Sequence[Check]) -> Answer:
    """Yes only if everything holds; one no is a no."""
    answers = {check.answer for check in checks}
    return "no" if "no" in answers or not answers else "not checked" if "not checked" in answers else "yes"
