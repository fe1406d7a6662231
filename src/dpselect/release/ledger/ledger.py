"""Public. The ledger: a budget that cannot be overspent. Check and charge are one durable transaction."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, Self, get_args

from dpselect.errors import AssumptionError, BudgetExceeded, LedgerError
from dpselect.release.ledger.accounting import Price, price_of, total_price
from dpselect.release.ledger.chain import Contents, NoLedgerYet, Row, verify
from dpselect.release.ledger.entries import Composition, Terms, charge_row, opening_row, priced_record, terms_of
from dpselect.release.ledger.patience import Announce, Patience
from dpselect.release.ledger.postgres import PostgresStore
from dpselect.release.ledger.prices import DELTA_DIGITS, EPSILON_DIGITS, Amount, amounts, decimal_of
from dpselect.release.ledger.records import Charge, Left, Receipt, Record, Spent, total_units
from dpselect.release.ledger.sqlite import SqliteStore


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

    def others_with(self, label: str) -> list[str]:
        """Other ledgers nearby that hold records for the data set `label`."""


class TwoLedgersWarning(UserWarning):
    """One data set is charged to two ledgers: together they may promise more than either allows."""


class Ledger:
    """Public. The privacy budget of one data set: totals that are fixed, and the charges against them.

        ledger = Ledger("budget.db", epsilon=3, delta="1e-6")     # opens or creates
        receipt = ledger.charge(Charge(what="select", mechanism="permute-and-flip", epsilon=1))
        ledger.left()

    `path` is a file, or None (or ":memory:") for a ledger that lives and dies with this process, or a URL that starts
    with postgresql:// for a team's ledger on a server. Without `epsilon` an existing ledger is opened; with it, one that
    exists must have the same totals. A busy ledger is waited for, `wait` seconds at most; the wait is announced after
    two seconds, by a warning of the logger "dpselect.ledger" or by `announce`.

    Records are added up by the smaller of basic and zCDP composition; a new ledger with composition="basic" keeps to the
    former, whose proof also covers prices that are chosen in view of earlier releases (see docs/LEDGER.md).

    Formal guarantee: whatever processes and threads share a ledger, and whenever they are killed, the records it holds cost
    (`total_price`) no more than its totals, and a charge that was returned is on the disk.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        epsilon: Amount | None = None,
        delta: Amount = 0,
        composition: Composition = "smaller",
        wait: float = 60.0,
        announce: Announce | None = None,
    ) -> None:
        patience = Patience(limit=wait) if announce is None else Patience(limit=wait, announce=announce)
        self._store = _store(path, patience)
        self._labels = {""}  # the data sets for which other ledgers were looked for
        self._seen = (0, "")  # the longest chain that this object has met: number of records, last hash
        if epsilon is None and (delta or self._store.address() is None):
            raise AssumptionError("State epsilon as well, to create a ledger.")
        if composition not in get_args(Composition):
            raise AssumptionError(f"composition is {composition!r}; it must be 'smaller' or 'basic'.")
        wanted = None if epsilon is None else Terms(*total_units(epsilon, delta), composition)
        try:
            opened = self._contents()
        except NoLedgerYet:
            if wanted is None:
                raise
            self._store.create(opening_row(wanted))
            opened = self._contents()
        self._terms = terms_of(opened.rows[0], self._store.name)
        if wanted is not None and wanted != self._terms:
            raise LedgerError(
                f"{self._store.name} has the totals {self._terms}, not {wanted}; "
                "open it without totals, or give another path."
            )
        self._warn_of_others({record.data for record in self.records()})

    @property
    def path(self) -> str | None:
        """Where the ledger is kept; None if in memory."""
        return self._store.address()

    @property
    def epsilon(self) -> Decimal:
        """The total epsilon."""
        return decimal_of(self._terms.epsilon, EPSILON_DIGITS)

    @property
    def delta(self) -> Decimal:
        """The total delta."""
        return decimal_of(self._terms.delta, DELTA_DIGITS)

    def charge(self, record: Charge) -> Receipt:
        """Check and charge. When this returns, the record is on the disk; when it raises, nothing has changed.

        Raises:
            BudgetExceeded: all records and this one would cost more than the totals.
            LedgerError: the ledger cannot be read, written or trusted.
        """
        self._warn_of_others({record.data})
        price, seen = price_of(record), self._seen
        prices: list[Price] = []

        def decide(contents: Contents) -> Row:
            prices[:] = [each for _, each in self._trusted(contents, seen)]
            if not self._fits([*prices, price]):
                raise _Refused
            return charge_row(record, contents.count, contents.head)

        try:
            row = self._store.append(decide)
        except _Refused:
            raise self._exceeded(f"{record.what} ({record.mechanism})", [price], prices) from None
        self._seen = (row.index + 1, row.hash)
        return Receipt(
            index=row.index,
            hash=row.hash,
            epsilon=decimal_of(price.epsilon, EPSILON_DIGITS),
            delta=decimal_of(price.delta, DELTA_DIGITS),
            left=self._left([*prices, price]),
        )

    def check(self, *records: Charge) -> None:
        """Raise BudgetExceeded if these charges together would be refused as things stand; nothing is written.

        A first look before work of several steps. `charge` decides, as others may spend in between.
        """
        prices, asked = [price for _, price in self._records()], [price_of(record) for record in records]
        if not self._fits([*prices, *asked]):
            raise self._exceeded(" and ".join(record.what for record in records), asked, prices)

    def spent(self) -> Spent:
        """What the records cost together."""
        total = total_price([price for _, price in self._records()], self._terms.conversion_delta)
        return Spent(
            epsilon=decimal_of(total.epsilon, EPSILON_DIGITS),
            delta=decimal_of(total.delta, DELTA_DIGITS),
            method=total.method,
        )

    def left(self) -> Left:
        """What a charge may cost: a charge of at most this is accepted."""
        return self._left([price for _, price in self._records()])

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
        return f"<{self._store.name}: {self._terms}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopen, (self._store.key(), self._store.patience.limit))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def _warn_of_others(self, labels: set[str]) -> None:
        """Warn, once for each label, of another ledger that holds records for the same data set."""
        for label in sorted(labels - self._labels):
            self._labels.add(label)
            for other in self._store.others_with(label):
                warnings.warn(
                    f"The data set {label!r} is also charged to {other!r}: the two ledgers know nothing of each other, "
                    "and what they promise adds up.",
                    TwoLedgersWarning,
                    stacklevel=4,
                )

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

    def _fits(self, prices: list[Price]) -> bool:
        """Basic composition is looked at first: where it is enough, the lock is not held for a conversion."""
        if sum(price.epsilon for price in prices) <= self._terms.epsilon:
            if sum(price.delta for price in prices) <= self._terms.delta:
                return True
        total = total_price(prices, self._terms.conversion_delta)
        return total.epsilon <= self._terms.epsilon and total.delta <= self._terms.delta

    def _exceeded(self, what: str, asked: list[Price], prices: list[Price]) -> BudgetExceeded:
        epsilon, delta = sum(price.epsilon for price in asked), sum(price.delta for price in asked)
        verb = "ask" if len(asked) > 1 else "asks"
        return BudgetExceeded(
            f"{what} {verb} for {_amounts(epsilon, delta)}, but the ledger has {self._left(prices)} left of {self._terms}; "
            "ask for less, or have the data owner open a new ledger."
        )

    def _left(self, prices: list[Price]) -> Left:
        total = total_price(prices, self._terms.conversion_delta)
        return Left(
            epsilon=decimal_of(self._terms.epsilon - total.epsilon, EPSILON_DIGITS),
            delta=decimal_of(self._terms.delta - total.delta, DELTA_DIGITS),
        )


class _Refused(Exception):
    """The charge does not fit; said in full outside the transaction."""


def _store(path: str | os.PathLike[str] | None, patience: Patience) -> Store:
    if path is None or path == ":memory:":
        return SqliteStore(None, patience)
    if isinstance(path, str) and path.startswith(("postgresql://", "postgres://")):
        return PostgresStore(path, patience)
    return SqliteStore(Path(path).absolute(), patience)


def _reopen(path: str, wait: float) -> Ledger:
    return Ledger(path, wait=wait)


def _amounts(epsilon: int, delta: int) -> str:
    return amounts(decimal_of(epsilon, EPSILON_DIGITS), decimal_of(delta, DELTA_DIGITS))
