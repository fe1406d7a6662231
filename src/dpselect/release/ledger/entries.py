"""Public. What the text of a record holds, and how it is read back.

The opening record: format, id, time, epsilon_units, delta_units, composition. A charge: its fields, with epsilon and delta as whole
numbers of units (1e-12 and 1e-18), and its index and time.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

from dpselect.errors import DpselectError, LedgerError
from dpselect.release.ledger.accounting import Price, price_of
from dpselect.release.ledger.chain import Row, link
from dpselect.release.ledger.prices import DELTA_DIGITS, EPSILON_DIGITS, amounts, decimal_of
from dpselect.release.ledger.records import Charge, Record, canonical

FORMAT = "dpselect ledger"


Composition = Literal["smaller", "basic"]


@dataclass(frozen=True, slots=True)
class Terms:
    """Public. What a ledger is opened with: its totals in units, and how its records are added up."""

    epsilon: int
    delta: int
    composition: Composition = "smaller"

    def __str__(self) -> str:
        totals = amounts(decimal_of(self.epsilon, EPSILON_DIGITS), decimal_of(self.delta, DELTA_DIGITS))
        return totals if self.composition == "smaller" else f"{totals}, basic composition"

    @property
    def conversion_delta(self) -> int:
        """The delta at which zCDP may be converted: none under basic composition."""
        return self.delta if self.composition == "smaller" else 0


def opening_row(terms: Terms) -> Row:
    """Record 0, which holds the terms; its id makes two ledgers' chains differ from the start."""
    values = {
        "index": 0,
        "format": FORMAT,
        "id": secrets.token_hex(16),
        "time": _now(),
        "epsilon_units": terms.epsilon,
        "delta_units": terms.delta,
        "composition": terms.composition,
    }
    body = canonical(values)
    return Row(0, body, link("", body))


def charge_row(charge: Charge, index: int, previous: str) -> Row:
    """The row of a charge that follows the record with hash `previous`."""
    values = charge.to_json() | {
        "index": index,
        "time": _now(),
        "epsilon_units": charge.epsilon_units,
        "delta_units": charge.delta_units,
    }
    del values["epsilon"], values["delta"]
    body = canonical(values)
    return Row(index, body, link(previous, body))


def terms_of(row: Row, name: str) -> Terms:
    """The terms that the opening record states."""
    values = json.loads(row.body)
    if values.get("format") != FORMAT:
        raise LedgerError(f"{name} does not open with its totals; restore it from a backup.")
    return Terms(values["epsilon_units"], values["delta_units"], values["composition"])


@lru_cache(maxsize=100_000)
def priced_record(row: Row, name: str) -> tuple[Record, Price]:
    """The record of a row, and its price."""
    values = json.loads(row.body)
    try:
        values["epsilon"] = decimal_of(values.pop("epsilon_units"), EPSILON_DIGITS)
        values["delta"] = decimal_of(values.pop("delta_units"), DELTA_DIGITS)
        record = Record(**values, hash=row.hash)
        return record, price_of(record)
    except (DpselectError, ArithmeticError, KeyError, TypeError):
        raise LedgerError(
            f"{name} holds record {row.index} in a form that this version cannot read; update dpselect."
        ) from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
