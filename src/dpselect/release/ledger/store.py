"""Public. The chain of hashes that makes an edited, removed or moved entry show, what a chain adds up to, and where it is kept.

The text of entry i is canonical JSON that holds its own index; its hash is SHA-256 over the hash of entry i-1, a line feed and
the text. Entry 0 opens the ledger. A *head*, kept beside the entries, holds the number of entries and the last hash, so that a
cut at the end shows as well. What one file cannot show is its replacement by an older copy or by a chain made anew; a receipt
kept elsewhere does. Sealed releases are kept beside the chain and are no part of it: entries name them by their ids.

A store is any place that can keep such a chain; whoever finds it busy waits, within bounds, and says so.
"""

from __future__ import annotations

import json
import logging
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from numbers import Real
from typing import Any, Protocol, TypeVar

from dpselect.assume.records import Public, canonical_json
from dpselect.errors import DpselectError, LedgerError, StudyError
from dpselect.release.ledger.accounting import EntryPrice, price_of
from dpselect.release.ledger.entries import FORMAT, Entry, Opening

T = TypeVar("T")
Values = dict[str, Any]
Announce = Callable[[str], None]
_STORED = "SELECT id, entry, time, request, text, delivered FROM outbox"  # the fields of `Stored`, in order
log = logging.getLogger("dpselect.ledger")


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
class Stored:
    """Public. One release as it is stored: which entry names it first, its text, and when it was handed over, if it was.

    The text has a line for what was committed, and one for each later stage; the entries that name it hold their hashes.
    """

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


def query_of(id: str | None, waiting: bool, mark: str) -> tuple[str, tuple[str, ...]]:
    """The query for one release, those that wait, or all, and its values; `mark` is how the driver marks a value."""
    where = "" if id is None and not waiting else " WHERE delivered IS NULL" if id is None else f" WHERE id = {mark}"
    return f"{_STORED}{where} ORDER BY entry", () if id is None else (id,)


def mark_of_data(label: str) -> str:
    """What the text of every entry for the data set `label` contains, and hardly any other text."""
    return f'"data":{json.dumps(label)}'


def mark_of_release(id: str) -> str:
    """What the text of every entry about a release contains, and hardly any other text."""
    return f'"release":{json.dumps(id)}'


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


Addition = tuple[Sequence[Row], Stored | None]
"""What one transaction adds: rows that follow the last one, and the release that they are about, as it is then."""


class Store(Protocol):
    """Public. Where a ledger is kept; it keeps rows and texts and knows nothing of their meaning."""

    name: str  # opens a sentence: "The ledger 'budget.db'"
    patience: Patience

    def address(self) -> str | None:
        """Where the ledger is, for people; None if in memory."""

    def key(self) -> str:
        """What opens the same ledger in another process; LedgerError if nothing may."""

    def create(self, opening: Row) -> None:
        """Make the ledger with its opening row, unless there is one already."""

    def append(self, decide: Callable[[Contents, Stored | None], Addition], id: str = "") -> None:
        """Let `decide` make the next rows from all, and write them and the release, in one exclusive and durable transaction.

        It is told the release with this `id` too, if there is one, and what it says of that one replaces its text.
        """

    def read(self) -> Contents:
        """The whole chain as of one moment, without being in a writer's way."""

    def releases(self, *, id: str | None = None, waiting: bool = False) -> tuple[Contents, list[Stored]]:
        """The chain, and the releases of the same moment, the oldest first: all, those that wait, or the one with an id."""

    def change(self, id: str, decide: Callable[[Stored | None], Stored]) -> None:
        """Let `decide` say when a release was handed over, and write it, in one exclusive transaction.

        It comes after all that was written before it, and may be lost when the machine stops.
        """

    def hold(self) -> None:
        """Keep what is costly to open until `let_go`; calls may be nested."""

    def let_go(self) -> None:
        """End what `hold` began."""

    def close(self) -> None:
        """Let go of everything that is open; a ledger in memory ends here."""

    def require_chargeable(self) -> None:
        """LedgerError if nothing can be charged whatever it costs, as far as can be told without writing."""

    def others_with(self, label: str) -> list[str]:
        """Other ledgers nearby that hold entries for the data set `label`."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Public. How long to wait for a busy ledger, after how long to say so, and to whom.

    The default announcement is a warning of the logger "dpselect.ledger", which Python prints on standard error.
    """

    limit: float = 60.0
    quiet: float = 2.0
    announce: Announce = log.warning

    def __post_init__(self) -> None:
        if not isinstance(self.limit, int | float | Real) or not self.limit >= 0:
            raise StudyError(f"wait is {self.limit!r}; it must be a number of seconds, at least 0.")

    def attempts(self, name: str) -> Iterator[float]:
        """Yield the seconds left, once for each attempt, with short random pauses between; LedgerError at the end."""
        start, announced, pause = time.monotonic(), False, 0.002
        while True:
            yield max(0.0, self.limit - (time.monotonic() - start))
            passed = time.monotonic() - start
            if passed >= self.limit:
                raise LedgerError(
                    f"{name} was busy for {self.limit:g} s and nothing was charged; try again when others have finished."
                )
            if passed >= self.quiet and not announced:
                announced = True
                self.announce(
                    f"Waiting for {name[0].lower()}{name[1:]}, which others are using (for at most {self.limit:g} s)."
                )
            # No release depends on this randomness: it only keeps waiting processes from marching in step.
            time.sleep(min(random.uniform(0.5, 1) * pause, self.limit - passed))
            pause = min(2 * pause, 0.1)


def require_version(name: str, version: int, here: int) -> None:
    """Refuse a ledger whose tables are those of another version; nothing was published that would have to be brought up to date."""
    if version > here:
        raise LedgerError(f"{name} was written by a newer dpselect (schema {version}, here {here}); update dpselect.")
    if version < here:
        raise LedgerError(
            f"{name} was made by an earlier dpselect (schema {version}, here {here}), whose chain did not hold its releases: open "
            "a new ledger, and state as its totals what this one has left."
        )


def is_address(path: str) -> bool:
    """Whether a ledger's path is the URL of a server."""
    return path.startswith(("postgresql://", "postgres://"))
