"""Public. The private choices that a person may ask for, by name."""

from __future__ import annotations

from typing import Literal

Mechanism = Literal["permute-and-flip", "exponential", "laplace"]
MECHANISMS: tuple[Mechanism, ...] = ("permute-and-flip", "exponential", "laplace")
