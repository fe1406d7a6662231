"""Public. The facts that a ledger keeps. A record says what was done; what it costs is computed elsewhere.

Because a record holds facts and not a verdict, a better theorem can price old records anew. Fields are only ever added
(with a default), and their meaning never changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Self

from dpselect.errors import AssumptionError
from dpselect.release.ledger.prices import (
    DELTA_DIGITS,
    EPSILON_DIGITS,
    Amount,
    amount,
    amounts,
    decimal_of,
    units_down,
    units_up,
)

Plain = None | bool | int | float | str | list[Any] | dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Public. One request to the ledger: what is about to be done to the data, with all that prices it.

    `epsilon` and `delta` are the guarantee of one such act, rounded up to a unit (1e-12 and 1e-18); `count` acts alike
    are one record. `parameters` are plain public values: a Gaussian release adds `rho`, its zCDP price; PCPL adds
    `bound_epsilon`, the part of its epsilon that pays for the bound. `assumptions` is the hash of the assumptions,
    `data` the label of the data set.
    """

    what: str
    mechanism: str
    epsilon: Decimal
    delta: Decimal = Decimal(0)
    parameters: Mapping[str, Plain] = field(default_factory=dict, hash=False)
    assumptions: str = ""
    data: str = ""
    analyst: str = ""
    count: int = 1

    def __post_init__(self) -> None:
        epsilon, delta = amount(self.epsilon, "epsilon"), amount(self.delta, "delta")
        object.__setattr__(self, "epsilon", decimal_of(units_up(epsilon, EPSILON_DIGITS), EPSILON_DIGITS))
        object.__setattr__(self, "delta", decimal_of(units_up(delta, DELTA_DIGITS), DELTA_DIGITS))
        object.__setattr__(self, "parameters", MappingProxyType(plain_mapping(self.parameters)))
        if isinstance(self.count, bool) or not isinstance(self.count, int) or not self.count >= 1:
            raise AssumptionError(f"count must be a whole number of at least 1, not {self.count!r}.")
        for name in ("what", "mechanism", "assumptions", "data", "analyst"):
            if not isinstance(getattr(self, name), str):
                raise AssumptionError(f"{name} of a charge must be text, not {getattr(self, name)!r}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return (_from_json, (type(self), self.to_json()))  # a mapping proxy does not pickle by itself

    @property
    def epsilon_units(self) -> int:
        """Epsilon of one act in units of 1e-12."""
        return units_up(self.epsilon, EPSILON_DIGITS)

    @property
    def delta_units(self) -> int:
        """Delta of one act in units of 1e-18."""
        return units_up(self.delta, DELTA_DIGITS)

    def to_json(self) -> dict[str, Any]:
        """The record as plain values; `from_json` reads it back."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "parameters": dict(self.parameters),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The record that `to_json` wrote."""
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Charge):
    """Public. A charge as the ledger holds it: its place, its time (UTC, ISO 8601) and its link in the chain of hashes."""

    index: int
    time: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Public. What the records of a ledger cost together, and which theorem says so ("basic" or "zCDP")."""

    epsilon: Decimal
    delta: Decimal
    method: str = "basic"

    def __str__(self) -> str:
        return amounts(self.epsilon, self.delta)

    def to_json(self) -> dict[str, str]:
        """The amounts as decimal text."""
        return {"epsilon": str(self.epsilon), "delta": str(self.delta), "method": self.method}


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Public. Total minus spent: a charge of at most this is always accepted; a little more may be."""

    epsilon: Decimal
    delta: Decimal

    def __str__(self) -> str:
        return amounts(self.epsilon, self.delta)

    def to_json(self) -> dict[str, str]:
        """The amounts as decimal text."""
        return {"epsilon": str(self.epsilon), "delta": str(self.delta)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Public. Proof of one charge: kept outside the ledger, it shows later that the ledger still holds the record.

    `epsilon` and `delta` are those of the whole record (its `count` acts together, added up).
    """

    index: int
    hash: str
    epsilon: Decimal
    delta: Decimal
    left: Left

    def to_json(self) -> dict[str, Any]:
        """The receipt as plain values; `from_json` reads it back."""
        return {
            "index": self.index,
            "hash": self.hash,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "left": self.left.to_json(),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The receipt that `to_json` wrote."""
        left = {name: Decimal(text) for name, text in values["left"].items()}
        amounts = {name: Decimal(values[name]) for name in ("epsilon", "delta")}
        if type(values["index"]) is not int:
            raise TypeError("The place of a record is a whole number.")
        return cls(index=values["index"], hash=values["hash"], left=Left(**left), **amounts)


def canonical(values: Mapping[str, Any]) -> str:
    """One text for one value: sorted keys, no spaces, ASCII only. Hashes are taken over it."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def total_units(epsilon: Amount, delta: Amount) -> tuple[int, int]:
    """The totals of a ledger in units, rounded down."""
    return (
        units_down(amount(epsilon, "epsilon"), EPSILON_DIGITS),
        units_down(amount(delta, "delta"), DELTA_DIGITS),
    )


def plain_mapping(values: Mapping[str, Any]) -> dict[str, Plain]:
    """A copy of `values` made of what JSON can hold; a Decimal becomes its text."""
    text = {name: str(value) if isinstance(value, Decimal) else value for name, value in values.items()}
    try:
        copy: dict[str, Plain] = json.loads(canonical(text))
    except (TypeError, ValueError) as problem:
        raise AssumptionError(f"The parameters of a charge must be plain finite values, but: {problem}.") from None
    return copy


def _from_json(kind: type[Charge], values: dict[str, Any]) -> Charge:
    return kind.from_json(values)
