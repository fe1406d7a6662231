"""Public. The ledger: a budget that cannot be overspent. Check and charge are one durable transaction."""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, Self

from dpselect.errors import AssumptionError, BudgetExceeded, LedgerError
from dpselect.release.accounting import Price, Total, price_of, total_price
from dpselect.release.chain import Contents, Row, verify
from dpselect.release.entries import charge_row, opening_row, priced_record, totals_of
from dpselect.release.patience import Announce, Patience
from dpselect.release.records import Charge, Left, Receipt, Record, Spent, total_units
from dpselect.release.sqlite_ledger import SqliteStore
from dpselect.release.units import DELTA_DIGITS, EPSILON_DIGITS, Amount, decimal_of


class Store(Protocol):
    """Public. Where the records of a ledger are kept; it keeps rows and knows nothing of their meaning."""

    name: str  # opens a sentence: "The ledger 'budget.db'"
    patience: Patience

    def address(self) -> str | None:
        """What opens the same ledger in another process; None if nothing does."""

    def create(self, opening: Callable[[], Row]) -> None:
        """Make the ledger with its opening row, unless there is one already."""

    def append(self, decide: Callable[[Contents], Row]) -> Row:
        """Let `decide` make the next row from all rows, and write it, in one exclusive and durable transaction."""

    def read(self) -> Contents:
        """Everything as of one moment, without being in a writer's way."""


class Ledger:
    """Public. The privacy budget of one data set: totals that are fixed, and the charges against them.

        ledger = Ledger("budget.db", epsilon=3, delta="1e-6")     # opens or creates
        receipt = ledger.charge(Charge(what="select", mechanism="permute-and-flip", epsilon=1))
        ledger.left()

    `path` is a file, or None (or ":memory:") for a ledger that lives and dies with this process, or a URL that starts
    with postgresql:// for a team's ledger on a server. Without `epsilon` an existing ledger is opened; with it, one that
    exists must have the same totals. A busy ledger is waited for, `wait` seconds at most; the wait is announced after
    two seconds, by a warning of the logger "dpselect.ledger" or by `announce`.

    Formal guarantee: whatever processes and threads share a ledger, and whenever they are killed, the records it holds cost
    (`total_price`) no more than its totals, and a charge that was returned is on the disk.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        epsilon: Amount | None = None,
        delta: Amount = 0,
        wait: float = 60.0,
        announce: Announce | None = None,
    ) -> None:
        patience = Patience(limit=wait) if announce is None else Patience(limit=wait, announce=announce)
        self._store = _store(path, patience)
        self._seen = (0, "")  # the longest chain that this object has met: number of records, last hash
        if epsilon is None and (delta or self._store.address() is None):
            raise AssumptionError("State epsilon as well, to create a ledger.")
        if epsilon is not None:
            wanted = total_units(epsilon, delta)
            self._store.create(lambda: opening_row(*wanted))
        self._totals = totals_of(self._contents().rows[0], self._store.name)
        if epsilon is not None and self._totals != wanted:
            raise LedgerError(
                f"{self._store.name} has the totals {_amounts(*self._totals)}, not {_amounts(*wanted)}; "
                "open it without totals, or give another path."
            )

    @property
    def path(self) -> str | None:
        """Where the ledger is kept; None if in memory."""
        return self._store.address()

    @property
    def epsilon(self) -> Decimal:
        """The total epsilon."""
        return decimal_of(self._totals[0], EPSILON_DIGITS)

    @property
    def delta(self) -> Decimal:
        """The total delta."""
        return decimal_of(self._totals[1], DELTA_DIGITS)

    def charge(self, record: Charge) -> Receipt:
        """Check and charge. When this returns, the record is on the disk; when it raises, nothing has changed.

        Raises:
            BudgetExceeded: all records and this one would cost more than the totals.
            LedgerError: the ledger cannot be read, written or trusted.
        """
        price, seen = price_of(record), self._seen
        totals: list[Total] = []

        def decide(contents: Contents) -> Row:
            records = self._trusted(contents, seen)
            with_this = self._price([*(price for _, price in records), price])
            if not self._within(with_this):
                left = self._left(self._price([price for _, price in records]))
                raise BudgetExceeded(
                    f"{record.what} ({record.mechanism}) asks for {_amounts(price.epsilon, price.delta)}, but the ledger "
                    f"has {left} left of {_amounts(*self._totals)}; "
                    "ask for less, or have the data owner open a new ledger."
                )
            totals.append(with_this)
            return charge_row(record, contents.count, contents.head)

        row = self._store.append(decide)
        self._seen = (row.index + 1, row.hash)
        return Receipt(
            index=row.index,
            hash=row.hash,
            epsilon=decimal_of(price.epsilon, EPSILON_DIGITS),
            delta=decimal_of(price.delta, DELTA_DIGITS),
            left=self._left(totals[-1]),
        )

    def spent(self) -> Spent:
        """What the records cost together."""
        total = self._price([price for _, price in self._records()])
        return Spent(
            epsilon=decimal_of(total.epsilon, EPSILON_DIGITS),
            delta=decimal_of(total.delta, DELTA_DIGITS),
            method=total.method,
        )

    def left(self) -> Left:
        """What a charge may cost: a charge of at most this is accepted."""
        return self._left(self._price([price for _, price in self._records()]))

    def records(self) -> tuple[Record, ...]:
        """All charges, the oldest first."""
        return tuple(record for record, _ in self._records())

    def verify(self, receipt: Receipt | None = None) -> None:
        """Raise LedgerError that names the first record that was edited, removed or moved.

        With a receipt: also if the ledger no longer holds the record that the receipt is for. Only that shows that a
        whole ledger was replaced by an older copy or made anew.
        """
        contents = self._contents()
        if receipt is None:
            return
        if not (0 < receipt.index < contents.count and contents.rows[receipt.index].hash == receipt.hash):
            raise LedgerError(
                f"{self._store.name} does not hold the record of receipt {receipt.index}: it was replaced by an older "
                "copy or made anew; restore it from a backup."
            )

    def __repr__(self) -> str:
        return f"<{self._store.name}: {_amounts(*self._totals)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            raise LedgerError("A ledger in memory stays in the process that made it; use a file to share one.")
        return (_reopen, (self.path, self._store.patience.limit))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def _contents(self) -> Contents:
        seen = self._seen
        contents = self._store.read()
        self._trusted(contents, seen)
        self._seen = (contents.count, contents.head)
        return contents

    def _records(self) -> list[tuple[Record, Price]]:
        return [priced_record(row, self._store.name) for row in self._contents().rows[1:]]

    def _trusted(self, contents: Contents, seen: tuple[int, str]) -> list[tuple[Record, Price]]:
        """The records and prices of contents that are whole and continue what this object has seen before."""
        name, (count, head) = self._store.name, seen
        verify(contents, name)
        if count > contents.count or (count and contents.rows[count - 1].hash != head):
            raise LedgerError(f"{name} was replaced by an older or another one since it was opened; restore it.")
        return [priced_record(row, name) for row in contents.rows[1:]]

    def _price(self, prices: list[Price]) -> Total:
        return total_price(prices, self._totals[1])

    def _within(self, total: Total) -> bool:
        return total.epsilon <= self._totals[0] and total.delta <= self._totals[1]

    def _left(self, total: Total) -> Left:
        epsilon, delta = self._totals
        return Left(
            epsilon=decimal_of(epsilon - total.epsilon, EPSILON_DIGITS),
            delta=decimal_of(delta - total.delta, DELTA_DIGITS),
        )


def _store(path: str | os.PathLike[str] | None, patience: Patience) -> Store:
    if path is None or path == ":memory:":
        return SqliteStore(None, patience)
    return SqliteStore(Path(path).absolute(), patience)


def _reopen(path: str, wait: float) -> Ledger:
    return Ledger(path, wait=wait)


def _amounts(epsilon: int, delta: int) -> str:
    return str(Left(epsilon=decimal_of(epsilon, EPSILON_DIGITS), delta=decimal_of(delta, DELTA_DIGITS)))
