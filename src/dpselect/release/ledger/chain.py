"""Public. The chain of hashes that makes an edited, removed or moved record show.

The text of record i is canonical JSON that holds its own index; its hash is SHA-256 over the hash of record i-1, a line
feed and the text. Record 0 opens the ledger: it holds the totals. A *head*, kept beside the records, holds the number
of records and the last hash, so that a cut at the end shows as well. What one file cannot show is its replacement by an
older copy or by a chain made anew; a receipt kept elsewhere does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from dpselect.errors import LedgerError

T = TypeVar("T")
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """Public. One record as it is stored."""

    index: int
    body: str
    hash: str


@dataclass(frozen=True, slots=True)
class Contents:
    """Public. All that a ledger stores: the rows by index (row 0 opens it), and the head."""

    rows: Sequence[Row]
    count: int
    head: str


def link(previous: str, body: str) -> str:
    """The hash of a record, from the hash before it and its text."""
    return sha256(f"{previous}\n{body}".encode()).hexdigest()


def mark_of_data(label: str) -> str:
    """What the text of every record for the data set `label` contains, and hardly any other text."""
    return f'"data":{json.dumps(label)}'


def verify(contents: Contents, name: str, read: Callable[[Row, Values], T], known: int = 0) -> list[T]:
    """What `read` makes of each row; LedgerError names the first record of `name` that was edited, removed or moved.

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
            values = _values_in(row.body)
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


def _values_in(body: Any) -> Values:
    """What a record's text says; nothing if it is no text that this program could have written."""
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
    """What is said of a ledger whose record was tampered with."""
    which = "the opening record" if index == 0 else f"record {index}"
    return LedgerError(
        f"{name} cannot be trusted: {which} {how}; restore the file from a backup and check it against your receipts."
    )
