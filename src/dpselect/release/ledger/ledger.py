"""Public. The ledger: a budget that cannot be overspent. Check and charge are one durable transaction."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any, Self, get_args

from dpselect.errors import AssumptionError, BudgetExceeded, LedgerError, NoLedgerYet, TwoLedgersWarning
from dpselect.release.ledger.accounting import RecordPrice, price_of, total_price
from dpselect.release.ledger.chain import Contents, Row, verify
from dpselect.release.ledger.entries import Composition, Tally, Terms, charge_row, opening_row, record_of
from dpselect.release.ledger.prices import DELTA_DIGITS, EPSILON_DIGITS, Amount, amounts, decimal_of
from dpselect.release.ledger.records import Charge, Left, Receipt, Record, Spent, total_units
from dpselect.release.ledger.stores.patience import Announce, Patience
from dpselect.release.ledger.stores.store import store_at


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
        self._store = store_at(path, patience)
        self._labels = {""}  # the data sets for which other ledgers were looked for
        self._tally = Tally()  # the longest chain that this object has met
        if epsilon is None and (delta or self._store.address() is None):
            raise AssumptionError("State epsilon as well, to create a ledger.")
        if composition not in get_args(Composition):
            raise AssumptionError(f"composition is {composition!r}; it must be 'smaller' or 'basic'.")
        wanted = None if epsilon is None else Terms(*total_units(epsilon, delta), composition)
        try:
            _, opened = self._read()
        except NoLedgerYet:
            if wanted is None:
                raise
            self._store.create(opening_row(wanted))
            _, opened = self._read()
        assert opened.terms is not None
        self._terms = opened.terms
        if wanted is not None and wanted != self._terms:
            raise LedgerError(
                f"{self._store.name} has the totals {self._terms}, not {wanted}; "
                "open it without totals, or give another path."
            )
        self._warn_of_others(opened.labels)

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
        price, before = price_of(record), self._tally
        found: list[Tally] = []

        def decide(contents: Contents) -> Row:
            found[:] = [before.extended(contents, self._store.name)]
            if not self._fits(found[0].prices + Counter([price])):
                raise _Refused
            return charge_row(record, contents.count, contents.head)

        try:
            row = self._store.append(decide)
        except _Refused:
            raise self._exceeded(f"{record.what} ({record.mechanism})", Counter([price]), found[0].prices) from None
        prices = found[0].prices + Counter([price])
        self._met(Tally(row.index + 1, row.hash, self._terms, prices, found[0].labels | {record.data}))
        return Receipt(
            index=row.index,
            hash=row.hash,
            epsilon=decimal_of(price.epsilon, EPSILON_DIGITS),
            delta=decimal_of(price.delta, DELTA_DIGITS),
            left=self._left(prices),
        )

    def check(self, *records: Charge) -> None:
        """Raise BudgetExceeded if these charges together would be refused as things stand; nothing is written.

        A first look before work of several steps. `charge` decides, as others may spend in between. LedgerError if nothing
        could be charged at all, since the ledger can only be read.
        """
        self._store.require_chargeable()
        prices, asked = self._read()[1].prices, Counter(price_of(record) for record in records)
        if not self._fits(prices + asked):
            raise self._exceeded(" and ".join(record.what for record in records), asked, prices)

    def spent(self) -> Spent:
        """What the records cost together."""
        total = total_price(self._read()[1].prices, self._terms.conversion_delta)
        return Spent(
            epsilon=decimal_of(total.epsilon, EPSILON_DIGITS),
            delta=decimal_of(total.delta, DELTA_DIGITS),
            method=total.method,
        )

    def left(self) -> Left:
        """What a charge may cost: a charge of at most this is accepted."""
        return self._left(self._read()[1].prices)

    def left_after(self, index: int) -> Left:
        """What was left when record `index` had just been charged; its receipt says the same."""
        contents, _ = self._read()
        rows = contents.rows[: index + 1]
        return self._left(Tally().extended(Contents(rows, len(rows), rows[-1].hash), self._store.name).prices)

    def records(self) -> tuple[Record, ...]:
        """All charges, the oldest first."""
        contents, _ = self._read()
        name = self._store.name
        return tuple(verify(contents, name, lambda row, values: record_of(row, values, name), known=1))

    def verify(self, receipt: Receipt | None = None) -> None:
        """Raise LedgerError that names the first record that was edited, removed or moved.

        With a receipt: also if the ledger no longer holds the record that the receipt is for. Only that shows that a
        whole ledger was replaced by an older copy or made anew.
        """
        contents, _ = self._read()
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

    def _warn_of_others(self, labels: AbstractSet[str]) -> None:
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

    def _read(self) -> tuple[Contents, Tally]:
        """All that is there now, verified, and its tally."""
        before = self._tally  # before the rows are read: another thread may add some in between
        contents = self._store.read()
        tally = before.extended(contents, self._store.name)
        self._met(tally)
        return contents, tally

    def _met(self, tally: Tally) -> None:
        """Remember the longest chain; another thread may have met a longer one in between."""
        if tally.count > self._tally.count:
            self._tally = tally

    def _fits(self, prices: Counter[RecordPrice]) -> bool:
        """Basic composition is looked at first: where it is enough, the lock is not held for a conversion."""
        if _sum(prices)[0] <= self._terms.epsilon and _sum(prices)[1] <= self._terms.delta:
            return True
        total = total_price(prices, self._terms.conversion_delta)
        return total.epsilon <= self._terms.epsilon and total.delta <= self._terms.delta

    def _exceeded(self, what: str, asked: Counter[RecordPrice], prices: Counter[RecordPrice]) -> BudgetExceeded:
        epsilon, delta = _sum(asked)
        verb = "ask" if asked.total() > 1 else "asks"
        return BudgetExceeded(
            f"{what} {verb} for {_amounts(epsilon, delta)}, but the ledger has {self._left(prices)} left of {self._terms}; "
            "ask for less, or have the data owner open a new ledger."
        )

    def _left(self, prices: Counter[RecordPrice]) -> Left:
        total = total_price(prices, self._terms.conversion_delta)
        epsilon = decimal_of(self._terms.epsilon - total.epsilon, EPSILON_DIGITS)
        return Left(epsilon=epsilon, delta=decimal_of(self._terms.delta - total.delta, DELTA_DIGITS))


class _Refused(Exception):
    """The charge does not fit; said in full outside the transaction."""


def _reopen(path: str, wait: float) -> Ledger:
    return Ledger(path, wait=wait)


def _sum(prices: Counter[RecordPrice]) -> tuple[int, int]:
    """Epsilon and delta by basic composition."""
    kinds = prices.items()
    return sum(each.epsilon * count for each, count in kinds), sum(each.delta * count for each, count in kinds)


def _amounts(epsilon: int, delta: int) -> str:
    return amounts(decimal_of(epsilon, EPSILON_DIGITS), decimal_of(delta, DELTA_DIGITS))
