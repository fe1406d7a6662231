"""Public. Where the records of a ledger are kept: what every such place can do, and which one a path means."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from dpselect.errors import AssumptionError
from dpselect.release.ledger.chain import Contents, Row
from dpselect.release.ledger.stores.patience import Patience
from dpselect.release.ledger.stores.postgres import PostgresStore, is_address
from dpselect.release.ledger.stores.sqlite import SqliteStore


class Store(Protocol):
    """Public. Where the records of a ledger are kept; it keeps rows and knows nothing of their meaning."""

    name: str  # opens a sentence: "The ledger 'budget.db'"
    patience: Patience

    def address(self) -> str | None:
        """Where the ledger is, for people; None if in memory."""

    def key(self) -> str:
        """What opens the same ledger in another process; LedgerError if nothing may."""

    def create(self, opening: Row) -> None:
        """Make the ledger with its opening row, unless there is one already."""

    def append(self, decide: Callable[[Contents], Row]) -> Row:
        """Let `decide` make the next row from all rows, and write it, in one exclusive and durable transaction."""

    def read(self) -> Contents:
        """Everything as of one moment, without being in a writer's way."""

    def require_chargeable(self) -> None:
        """LedgerError if nothing can be charged whatever it costs, as far as can be told without writing."""

    def others_with(self, label: str) -> list[str]:
        """Other ledgers nearby that hold records for the data set `label`."""


def store_at(path: str | os.PathLike[str] | None, patience: Patience) -> Store:
    """The place that a path, a URL or None means."""
    if path is None or path == ":memory:":
        return SqliteStore(None, patience)
    if not isinstance(path, str | os.PathLike):
        raise AssumptionError(f"The path of a ledger must be text or a path, not a {type(path).__name__}.")
    if isinstance(path, str) and is_address(path):
        return PostgresStore(path, patience)
    if "\0" in os.fspath(path):
        raise AssumptionError("The path of a ledger has a character that no file's name may have; give another.")
    return SqliteStore(Path(path).absolute(), patience)
