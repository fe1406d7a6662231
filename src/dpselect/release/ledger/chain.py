"""Public. The chain of hashes that makes an edited, removed or moved entry show, and what a whole chain adds up to.

The text of entry i is canonical JSON that holds its own index; its hash is SHA-256 over the hash of entry i-1, a line feed and
the text. Entry 0 opens the ledger. A *head*, kept beside the entries, holds the number of entries and the last hash, so that a
cut at the end shows as well. What one file cannot show is its replacement by an older copy or by a chain made anew; a receipt
kept elsewhere does. Sealed releases are kept beside the chain and are no part of it: entries name them by their ids.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, TypeVar

from dpselect.assume.records import Public, canonical_json
from dpselect.errors import DpselectError, LedgerError
from dpselect.release.ledger.accounting import EntryPrice, price_of
from dpselect.release.ledger.entries import FORMAT, Entry, Opening

T = TypeVar("T")
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """Public. One entry as it is stored."""

    index: int
    body: str
    hash: str


@dataclass(frozen=True, slots=True)
class Contents:
    """Public. The chain as it is stored: the rows by index (row 0 opens it), and the head."""

    rows: Sequence[Row]
    count: int
    head: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """Public. One release as it is stored: which entry names it first, its text, and when it was handed over, if it was."""

    id: str
    entry: int
    time: str
    request: str
    text: str
    delivered: str | None = None


def row_of(entry: Public, index: int, previous: str) -> Row:
    """The row of an opening or an entry that follows the one with the hash `previous`."""
    body = canonical_json(entry.to_dict())
    return Row(index, body, link(previous, body))


def link(previous: str, body: str) -> str:
    """The hash of an entry, from the hash before it and its text."""
    return sha256(f"{previous}\n{body}".encode()).hexdigest()


def mark_of_data(label: str) -> str:
    """What the text of every entry for the data set `label` contains, and hardly any other text."""
    return f'"data":{json.dumps(label)}'


def verify(contents: Contents, name: str, read: Callable[[Row, Values], T], known: int = 0) -> list[T]:
    """What `read` makes of each row; LedgerError names the first entry of `name` that was edited, removed or moved.

    All hashes are computed, in one pass. Only the texts of the rows from `known` on are read: those before were read
    earlier, and a text that has the same hash is the same text.
    """
    if not contents.rows:
        raise broken(name, 0, "was removed")
    previous, found = "", []
    for place, row in enumerate(contents.rows):
        if row.index != place:
            raise broken(name, place, "was removed")
        if row.hash != link(previous, row.body):
            raise broken(name, place, "was edited, or the one before it was")
        if place >= known:
            values = values_in(row.body)
            if values.get("index") != place:
                raise broken(name, place, "was moved")
            found.append(read(row, values))
        previous = row.hash
    if contents.count != len(contents.rows):
        at = min(contents.count, len(contents.rows)) if isinstance(contents.count, int) else 0
        raise broken(name, at, "was removed or added by another hand")
    if contents.head != previous:
        raise broken(name, contents.count - 1, "was replaced by another")
    return found


def values_in(body: Any) -> Values:
    """What an entry's text says; nothing if it is no text that this program could have written."""
    try:
        values = _DECODER.decode(body)
    except (ValueError, TypeError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _finite(text: str) -> float | str:
    """A number; as it is written where no double is so large, for one such parameter must not make a ledger unreadable."""
    number = float(text)
    return number if math.isfinite(number) else text


_DECODER = json.JSONDecoder(parse_float=_finite)


def broken(name: str, index: int, how: str) -> LedgerError:
    """What is said of a ledger whose entry was tampered with."""
    which = "the opening entry" if index == 0 else f"entry {index}"
    return LedgerError(
        f"{name} cannot be trusted: {which} {how}; restore the file from a backup and check it against your receipts."
    )


def opening_of(values: Values, name: str) -> Opening:
    """The opening that the text of entry 0 states."""
    try:
        return Opening.from_dict(values)
    except DpselectError:
        raise LedgerError(
            f"{name} does not open with {FORMAT!r} and its totals; restore it from a backup, or open a new ledger."
        ) from None


def entry_of(row: Row, values: Values, name: str) -> Entry:
    """The entry that a row holds, whose text says `values`."""
    try:
        return Entry.from_dict(values | {"hash": row.hash})
    except DpselectError:
        raise _unreadable(row, name) from None


def _unreadable(row: Row, name: str) -> LedgerError:
    return LedgerError(f"{name} holds entry {row.index} in a form that this version cannot read; update dpselect.")


@dataclass(frozen=True, slots=True)
class Tally:
    """Public. The longest chain that was met: its length and last hash, what opens it, its prices and its data sets.

    `unit` and `neighbors` are what its entries are about, None as long as neither the opening nor an entry says.
    """

    count: int = 0
    head: str = ""
    opening: Opening | None = None
    prices: Counter[EntryPrice] = field(default_factory=Counter)
    labels: frozenset[str] = frozenset()
    unit: str | None = None
    neighbors: str | None = None

    def extended(self, contents: Contents, name: str) -> Tally:
        """The tally of contents that are whole and continue this chain; LedgerError if they are not or do not.

        Every hash is computed each time, in one pass; only entries that are new are read and priced.
        """
        continued = not self.count or (
            self.count <= len(contents.rows) and contents.rows[self.count - 1].hash == self.head
        )
        prices, labels = self.prices.copy(), set(self.labels)
        opening, unit, neighbors = self.opening, self.unit, self.neighbors

        def read(row: Row, values: Values) -> None:
            nonlocal opening, unit, neighbors
            if row.index == 0:
                opening = opening_of(values, name)
                unit, neighbors = opening.unit, opening.neighbors
                return
            entry = entry_of(row, values, name)
            try:
                prices[price_of(entry)] += 1
            except DpselectError:
                raise _unreadable(row, name) from None
            labels.add(entry.data)
            unit, neighbors = unit or entry.unit, neighbors or entry.neighbors
            if (entry.unit, entry.neighbors) != (unit, neighbors):
                raise broken(name, row.index, "is about another unit or relation than the others")

        verify(contents, name, read, self.count if continued else 0)
        if not continued:
            raise LedgerError(f"{name} was replaced by an older or another one since it was opened; restore it.")
        return Tally(contents.count, contents.head, opening, prices, frozenset(labels), unit, neighbors)


def now() -> str:
    """The time of an entry."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
