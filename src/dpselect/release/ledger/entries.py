"""Public. What the text of a record holds, how it is read back, and what the records met so far cost.

The opening record: format, id, time, epsilon_units, delta_units, composition. A charge: its fields, with epsilon and delta as whole
numbers of units (1e-12 and 1e-18), and its index and time.
"""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, get_args

from dpselect.errors import DpselectError, LedgerError
from dpselect.release.ledger.accounting import PRICED_BY, RecordPrice, price_of
from dpselect.release.ledger.chain import Contents, Row, Values, link, verify
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


def terms_of(values: Values, name: str) -> Terms:
    """The terms that the opening record states."""
    totals: list[Any] = [values.get("epsilon_units"), values.get("delta_units")]
    composition: Any = values.get("composition")
    if values.get("format") != FORMAT or composition not in get_args(Composition):
        raise LedgerError(f"{name} does not open with its totals; restore it from a backup.")
    if not all(type(units) is int and units >= 0 for units in totals):
        raise LedgerError(f"{name} does not open with totals that are whole numbers; restore it from a backup.")
    return Terms(totals[0], totals[1], composition)


def record_of(row: Row, values: Values, name: str) -> Record:
    """The record that a row holds, whose text says `values`."""
    fields = dict(values)
    try:
        fields["epsilon"] = decimal_of(fields.pop("epsilon_units"), EPSILON_DIGITS)
        fields["delta"] = decimal_of(fields.pop("delta_units"), DELTA_DIGITS)
        return Record(**fields, hash=row.hash)
    except (DpselectError, ArithmeticError, KeyError, TypeError, ValueError):
        raise _unreadable(values, name) from None


def price_in(values: Values, name: str) -> RecordPrice:
    """The price of the record that a row's text holds, from the facts that decide it and no others."""
    try:
        parameters = values["parameters"]
        facts = (values["mechanism"], values["epsilon_units"], values["delta_units"], values["count"])
        return _price(*facts, *(parameters.get(each) for each in PRICED_BY))
    except (DpselectError, ArithmeticError, KeyError, TypeError, ValueError, AttributeError):
        raise _unreadable(values, name) from None


@lru_cache(maxsize=10_000, typed=True)
def _price(mechanism: str, epsilon_units: int, delta_units: int, count: int, *priced_by: Any) -> RecordPrice:
    """Records are many and their kinds are few: a kind is priced once."""
    charge = Charge(
        what="",
        mechanism=mechanism,
        epsilon=decimal_of(epsilon_units, EPSILON_DIGITS),
        delta=decimal_of(delta_units, DELTA_DIGITS),
        parameters={name: value for name, value in zip(PRICED_BY, priced_by, strict=True) if value is not None},
        count=count,
    )
    return price_of(charge)


def _unreadable(values: Values, name: str) -> LedgerError:
    return LedgerError(
        f"{name} holds record {values.get('index')} in a form that this version cannot read; update dpselect."
    )


@dataclass(frozen=True, slots=True)
class Tally:
    """Public. The longest chain that was met: its length and last hash, its terms, its prices, its data sets."""

    count: int = 0
    head: str = ""
    terms: Terms | None = None
    prices: Counter[RecordPrice] = field(default_factory=Counter)
    labels: frozenset[str] = frozenset()

    def extended(self, contents: Contents, name: str) -> Tally:
        """The tally of contents that are whole and continue this chain; LedgerError if they are not or do not.

        Every hash is computed each time, in one pass; only records that are new are read and priced.
        """
        continued = not self.count or (
            self.count <= len(contents.rows) and contents.rows[self.count - 1].hash == self.head
        )
        prices, labels, terms = self.prices.copy(), set(self.labels), self.terms

        def read(row: Row, values: Values) -> None:
            nonlocal terms
            if row.index == 0:
                terms = terms_of(values, name)
            else:
                prices[price_in(values, name)] += 1
                labels.add(str(values.get("data", "")))

        verify(contents, name, read, self.count if continued else 0)
        if not continued:
            raise LedgerError(f"{name} was replaced by an older or another one since it was opened; restore it.")
        return Tally(contents.count, contents.head, terms, prices, frozenset(labels))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
