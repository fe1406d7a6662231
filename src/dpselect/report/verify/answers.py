"""Public. What a verification finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """Public. One thing that was checked: what, whether it holds, and what was found."""

    what: str
    holds: bool
    found: str
