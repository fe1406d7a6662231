"""Public. The chain of hashes that makes an edited, removed or moved record show.

The text of record i is canonical JSON that holds its own index; its hash is SHA-256 over the hash of record i-1, a line
feed and the text. Record 0 opens the ledger: it holds the totals. A *head*, kept beside the records, holds the number
of records and the last hash, so that a cut at the end shows as well. What one file cannot show is its replacement by an
older copy or by a chain made anew; a receipt kept elsewhere does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from dpselect.errors import LedgerError


class NoLedgerYet(LedgerError):
    """There is nothing where the ledger should be; with totals it can be made."""


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


def verify(contents: Contents, name: str) -> None:
    """Raise LedgerError that names the first record of ledger `name` that was edited, removed or moved."""
    if not contents.rows:
        raise _broken(name, 0, "was removed")
    previous = ""
    for place, row in enumerate(contents.rows):
        if row.index != place:
            raise _broken(name, place, "was removed")
        if row.hash != link(previous, row.body):
            raise _broken(name, place, "was edited, or the one before it was")
        if _index_in(row.body) != place:
            raise _broken(name, place, "was moved")
        previous = row.hash
    if contents.count != len(contents.rows):
        raise _broken(name, min(contents.count, len(contents.rows)), "was removed or added by another hand")
    if contents.head != previous:
        raise _broken(name, contents.count - 1, "was replaced by another")


def _index_in(body: str) -> Any:
    try:
        values = json.loads(body)
    except ValueError:
        return None
    return values.get("index") if isinstance(values, dict) else None


def _broken(name: str, index: int, how: str) -> LedgerError:
    which = "the opening record" if index == 0 else f"record {index}"
    return LedgerError(
        f"{name} cannot be trusted: {which} {how}; restore the file from a backup and check it against your receipts."
    )
