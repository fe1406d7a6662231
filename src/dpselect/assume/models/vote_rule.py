"""Public. How block votes are held: blocks, partitions, dead zone, ridge, threshold and price, from public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from dpselect.errors import AssumptionError

MOST_BYTES = 400 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRule:
    """Public. In each of `partitions` every row goes to one of `blocks`; there each column votes.

    A column's vote counts when its statistic leaves the `dead_zone`; `ridge` is added to the unit diagonal of a block's scaled
    Gram; a term whose agreement exceeds `threshold` is likely to be chosen; each term costs `price` nats.
    """

    blocks: int
    partitions: int
    dead_zone: float
    ridge: float
    threshold: int
    price: float

    def __post_init__(self) -> None:
        for name in ("blocks", "partitions", "threshold"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
                raise AssumptionError(f"{name} of a rule for votes is {value!r}; it must be a whole number from 0.")
        if not (self.blocks >= 1 and self.partitions >= 1):
            raise AssumptionError("A rule for votes needs at least one block and one partition.")
        for name in ("dead_zone", "ridge", "price"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e6:
                raise AssumptionError(f"{name} of a rule for votes is {value!r}; it must be between 0 and 1e6.")
            object.__setattr__(self, name, float(value))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name) for name in self.__slots__}


def vote_rule(rows: int, columns: int, terms: int, epsilon: float) -> VoteRule:
    """The rule for so many rows, columns fitted in a block (the intercept too), terms to choose from, and epsilon."""
    few = min(math.sqrt(terms), terms / 2)
    price = max(math.log((terms - few) / few), 0.0) if terms > 1 else 0.0
    nats = terms * math.log1p(math.exp(-price)) + few * price
    size = max(2 * columns + 5, 8)
    blocks = max(rows // size, 1)
    partitions = 16 if rows < 20_000 else 4 if rows < 10**6 else 1
    spread = math.sqrt(0.16 * max(size - columns, 1) / rows + 0.25 / (blocks * partitions))
    z = max(NormalDist().inv_cdf(1 - 0.05 / (2 * columns)), math.sqrt(math.log(max(rows, 2))))
    share = 0.5 + min(z * spread + (nats + 1) / (epsilon * blocks), 0.4)
    return VoteRule(
        blocks=blocks,
        partitions=partitions,
        dead_zone=0.0,
        ridge=0.0,
        threshold=round(share * blocks * partitions),
        price=price,
    )
