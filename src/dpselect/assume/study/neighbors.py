"""Public. Which two tables must look alike: the relation that every guarantee is stated for."""

from __future__ import annotations

from typing import Literal

from dpselect.assume.study.names import shown
from dpselect.errors import AssumptionError

Neighbors = Literal["replace-one", "add-remove-one"]
NEIGHBORS: tuple[Neighbors, ...] = ("replace-one", "add-remove-one")


def check_neighbors(neighbors: object) -> None:
    """Refuse a relation that no lemma covers."""
    if neighbors not in NEIGHBORS:
        raise AssumptionError(f"neighbors is {shown(neighbors)}; it must be one of {', '.join(map(repr, NEIGHBORS))}.")
