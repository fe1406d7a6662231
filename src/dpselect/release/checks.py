"""Public. What a verification finds, and what it does not check because another version made the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dpselect.release.account import software_version

Answer = Literal["ok", "failed", "not checked"]

PRICE_TOLERANCE = 1e-6
"""Prices are computed to more digits than that."""


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


def compared(what: str, same: bool, found: str, version: str, *, instead: str = "") -> Check:
    """What a release states beside what this version's public rule gives.

    What the rule of another version gave nobody here knows: there a difference is neither a failure nor a pass, and whoever states
    another version to evade a check gets no OK (`overall`).
    """
    if same or version == software_version():
        return Check(what, same, found)
    return Check(what, None, f"made with version {version}, and this is {software_version()}{instead}")


def overall(checks: Sequence[Check]) -> Answer:
    """OK only if everything is; one failure is a failure."""
    answers = {check.answer for check in checks}
    return "failed" if "failed" in answers or not answers else "not checked" if "not checked" in answers else "ok"
