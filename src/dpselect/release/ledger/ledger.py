"""Public. The ledger: a budget that cannot be overspent and releases that cannot be lost, both written in one transaction."""

from __future__ import annotations

import os
import secrets
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, Self, get_args

from dpselect.assume.budget import DELTA_DIGITS, EPSILON_DIGITS, Neighbors, Price
from dpselect.errors import BudgetExceeded, LedgerError, NoLedgerYet, StudyError, TwoLedgersWarning
from dpselect.release.ledger.accounting import EntryPrice, price_of, total_price
from dpselect.release.ledger.entries import (
    FORMAT,
    PERSON,
    ROW,
    Charge,
    Commitment,
    Composition,
    Entry,
    Opening,
    Receipt,
    Remaining,
    Spent,
    Undelivered,
    amounts,
    decimal_of,
)
from dpselect.release.ledger.postgres import PostgresStore
from dpselect.release.ledger.sqlite import SqliteStore
from dpselect.release.ledger.store import (
    Addition,
    Announce,
    Contents,
    Patience,
    Row,
    Store,
    Stored,
    Tally,
    entry_of,
    is_address,
    mark_of_release,
    now,
    row_of,
    values_in,
    verify,
)

Prices = Counter[EntryPrice]


class Ledger:
    """Public. The privacy budget of one data set: totals that are fixed, the charges against them, and the releases they paid for.

    Without `epsilon` an existing ledger is opened; with it, one that exists must have the same totals.

    A ledger is about one unit of protection ("row", or "person:" and the column of persons) and one relation between neighbouring
    tables, as stated when it is opened, or else as the first charge has them; all other charges are refused.

    Entries are added up. With composition="zcdp" a new ledger takes the smaller of that and zCDP composition, whose proof covers
    only prices that are fixed beforehand, and not those that are chosen in view of earlier releases (see docs/LEDGER.md).

    Formal guarantee: whatever processes and threads share a ledger, and whenever they are killed, the entries it holds cost
    (`total_price`) no more than its totals, all charges of a commit are there or none, and so is the release that they pay for.

    Parameters
    ----------
    path : str or path, optional
        A file; or a URL that starts with postgresql:// for a team's ledger on a server; or None (or ":memory:") for a ledger that
        lives and dies with this process.
    epsilon, delta : number or str, optional
        The totals, which never change.
    composition : "basic" or "zcdp", optional
        How entries are added up; see above.
    unit : str, optional
        "row", or "person:" and the column of persons.
    neighbors : "replace-one" or "add-remove-one", optional
        The relation that its promises are about.
    wait : float, optional
        Seconds that a busy ledger is waited for, at most.
    announce : callable, optional
        Told after two seconds of waiting; without it the logger "dpselect.ledger" is.

    Examples
    --------
    >>> ledger = Ledger(epsilon=3, delta="1e-6")
    >>> str(ledger.remaining().epsilon)
    '3'
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        epsilon: Price | None = None,
        delta: Price = 0,
        composition: Composition = "basic",
        unit: str | None = None,
        neighbors: Neighbors | None = None,
        wait: float = 60.0,
        announce: Announce | None = None,
    ) -> None:
        patience = Patience(limit=wait) if announce is None else Patience(limit=wait, announce=announce)
        self._store = _store_at(path, patience)
        self._labels = {""}  # the data sets for which other ledgers were looked for
        self._tally = Tally()  # the longest chain that this object has met
        if epsilon is None and (delta or self._store.address() is None):
            raise StudyError("State epsilon as well, to create a ledger.")
        if composition not in get_args(Composition):
            raise StudyError(f"composition is {composition!r}; it must be 'basic' or 'zcdp'.")
        about: dict[str, Any] = {"unit": unit, "neighbors": neighbors}
        wanted = None if epsilon is None else _opening(epsilon, delta, composition=composition, **about)
        try:
            _, opened = self._read()
        except NoLedgerYet:
            if wanted is None:
                raise
            self._store.create(row_of(wanted, 0, ""))
            _, opened = self._read()
        assert opened.opening is not None
        self._opening = opened.opening
        self._require_as_opened(wanted, opened, about)
        self._warn_of_others(opened.labels)

    @property
    def path(self) -> str | None:
        """Where the ledger is kept; None if in memory."""
        return self._store.address()

    @property
    def id(self) -> str:
        """What tells this ledger from every other, one made anew in its place too: drawn when it was opened."""
        return self._opening.id

    @property
    def epsilon(self) -> Decimal:
        """The total epsilon."""
        return self._opening.epsilon

    @property
    def delta(self) -> Decimal:
        """The total delta."""
        return self._opening.delta

    @property
    def unit(self) -> str | None:
        """What its promises protect: "row", or "person:" and a column; None as long as nothing was charged or stated."""
        return self._read()[1].unit

    @property
    def neighbors(self) -> str | None:
        """The relation that its promises are about; None as long as nothing was charged or stated."""
        return self._read()[1].neighbors

    def commit(self, charges: Sequence[Charge], text: str, *, request: str = "") -> Commitment:
        """Charge for a release that is drawn and not yet seen, and keep it, in one exclusive and durable transaction.

        In it the chain is read and verified, all charges together are checked, and their entries are appended; the first of them
        holds the hash of the text. When this returns, all of it is on the disk, and the release may be shown; mark
        it as `delivered` when it is. When this raises, nothing of the release may be shown. Nothing was written then, unless the
        disk or the connection failed in the middle of the commit itself: if the charges stand all the same, `undelivered` has the
        release.

        Parameters
        ----------
        charges : sequence of Charge
            What the release costs, part by part; at least one.
        text : str
            The release, in one line. It is without the receipts, which follow from the entries (`receipts`).
        request : str, optional
            A public text, a hash of all that was asked for, by which the same request finds its release again.

        Returns
        -------
        Commitment
            The receipts, and the name of the release.

        Raises
        ------
        BudgetExceeded
            All entries and these charges would cost more than the totals.
        StudyError
            A charge is about another unit or relation than this ledger.
        LedgerError
            The ledger cannot be read, written or trusted.
        """
        if not charges:
            raise StudyError("A release is committed with at least one charge.")
        return self._commit(tuple(charges), _line(text), request)

    def charge(self, charge: Charge) -> Receipt:
        """Check and charge, with no release to keep. When this returns, the entry is on the disk; else see `commit`.

        Parameters
        ----------
        charge : Charge
            What was done, and its price.

        Returns
        -------
        Receipt
        """
        return self._commit((charge,), None, "").receipts[0]

    def check(self, *charges: Charge) -> None:
        """Raise BudgetExceeded if these charges together would be refused as things stand; nothing is written.

        A first look before work of several steps. `commit` decides, as others may spend in between. LedgerError if nothing
        could be charged at all, since the ledger can only be read.

        Parameters
        ----------
        *charges : Charge
            What would be charged.
        """
        self._store.require_chargeable()
        tally = self._read()[1]
        self._require_about(tally, charges)
        self._require_room(tally.prices, charges)

    def undelivered(self, request: str | None = None) -> tuple[Undelivered, ...]:
        """The releases that were committed and not yet handed over, the oldest first. To hand them over costs nothing.

        LedgerError if the text of one is not what its entries say, so that it may not be handed over.

        Parameters
        ----------
        request : str, optional
            Only those of this request.

        Returns
        -------
        tuple of Undelivered
        """
        contents, waiting = self._releases(waiting=True)
        waiting = [each for each in waiting if request in (None, each.request) and self._naming(contents, each)]
        for each in waiting:
            self._require_as_charged(contents, each)
        return tuple(Undelivered(id=each.id, time=each.time, request=each.request, text=each.text) for each in waiting)

    def receipts(self, id: str) -> tuple[Receipt, ...]:
        """The receipts of the charges that paid for a release, in their order; the same as its commitment gave.

        Parameters
        ----------
        id : str
            The name of the release.

        Returns
        -------
        tuple of Receipt
        """
        contents, found = self._releases(id=id)
        naming = self._naming(contents, self._require_sealed(found, id))
        paid = [*naming[:1], *(each for each in naming[1:] if not each.sealed)]
        return tuple(_receipt(each, price_of(each), self.remaining_after(each.index)) for each in paid)

    def keep(self, id: str, text: str, *, after: int) -> None:
        """Append a later stage to a release that waits, and an entry with its hash, in one durable transaction.

        For a release of many rounds: the price of all is charged at the start, and what a round has drawn is kept before it is used
        or seen. If anybody has gone on with the same release meanwhile, this raises LedgerError, and what was drawn here must not
        be used: a round that is paid for once is drawn once, as far as anybody can see. Who draws says what the draw follows on:
        no look at the ledger by others, on this object or another, can make it seem newer than it is.

        Parameters
        ----------
        id : str
            The name of the release, from its commitment or from `undelivered`.
        text : str
            What this stage adds, in one line.
        after : int
            How many lines the text of the release had when this stage was drawn.
        """
        line, before = _line(text), self._tally
        done: Tally | None = None

        def decide(contents: Contents, found: Stored | None) -> Addition:
            nonlocal done
            tally = before.extended(contents, self._store.name)
            sealed = self._require_sealed([found] if found else [], id)
            if sealed.delivered is not None:
                raise LedgerError(
                    f"{self._store.name} has handed over the release {id} already; it does not change any more."
                )
            stages = self._require_as_charged(contents, sealed)
            if stages != after:
                raise LedgerError(
                    f"{self._store.name} holds the release {id} at another stage than this program has seen, for another has gone "
                    "on with it: take it up again from there; nothing more was released."
                )
            entry = self._naming(contents, sealed)[0].stage(index=contents.count, time=now(), sealed=_hash(line))
            row = row_of(entry, contents.count, contents.head)
            prices = tally.prices + Counter([price_of(entry)])
            done = replace(tally, count=row.index + 1, head=row.hash, prices=prices)
            return [row], replace(sealed, text=f"{sealed.text}\n{line}")

        self._store.append(decide, id)
        assert done is not None
        self._met(done)

    def delivered(self, id: str) -> None:
        """Note that a release was handed over. Its text stays in the ledger (`release`); to note it twice does nothing.

        Nobody waits for the disk here: a note that is lost with the machine's power costs nothing but a second delivery.

        Parameters
        ----------
        id : str
            The name of the release, from its commitment or from `undelivered`.
        """

        def decide(sealed: Stored | None) -> Stored:
            found = self._require_sealed([sealed] if sealed else [], id)
            return found if found.delivered is not None else replace(found, delivered=now())

        self._store.change(id, decide)

    def release(self, id: str) -> str:
        """The text of a release that was committed here, handed over or not: a line for what was committed, and one a later stage.

        LedgerError if it is not what its entries say.

        Parameters
        ----------
        id : str
            The name of the release, from its commitment or from `undelivered`.

        Returns
        -------
        str
        """
        contents, found = self._releases(id=id)
        sealed = self._require_sealed(found, id)
        self._require_as_charged(contents, sealed)
        return sealed.text

    def spent(self) -> Spent:
        """What the entries cost together."""
        total = total_price(self._read()[1].prices, self._opening.conversion_delta_units)
        return Spent(
            epsilon=decimal_of(total.epsilon, EPSILON_DIGITS),
            delta=decimal_of(total.delta, DELTA_DIGITS),
            method=total.method,
        )

    def remaining(self) -> Remaining:
        """What a charge may cost: a charge of at most this is accepted."""
        return self._remaining(self._read()[1].prices)

    def remaining_after(self, index: int) -> Remaining:
        """What remained when an entry had just been charged; its receipt says the same.

        Parameters
        ----------
        index : int
            The place of the entry, from 1 on.

        Returns
        -------
        Remaining
        """
        contents, _ = self._read()
        rows = contents.rows[: index + 1]
        return self._remaining(Tally().extended(Contents(rows, len(rows), rows[-1].hash), self._store.name).prices)

    def entries(self) -> tuple[Entry, ...]:
        """All charges, the oldest first."""
        contents, _ = self._read()
        name = self._store.name
        return tuple(verify(contents, name, lambda row, values: entry_of(row, values, name), known=1))

    def verify(self, receipt: Receipt | None = None) -> None:
        """Raise LedgerError that names the first entry that was edited, removed or moved, or a release that is not as charged.

        Parameters
        ----------
        receipt : Receipt, optional
            Raise also if the ledger no longer holds the entry that this is for. Only that shows that a whole ledger was replaced
            by an older copy or made anew.
        """
        contents, releases = self._releases()
        for each in releases:
            self._require_as_charged(contents, each)
        if receipt is None:
            return
        if not (0 < receipt.index < contents.count and contents.rows[receipt.index].hash == receipt.hash):
            raise LedgerError(
                f"{self._store.name} does not hold the entry of receipt {receipt.index}: it was replaced by an older "
                "copy or made anew; restore it from a backup."
            )

    @contextmanager
    def session(self) -> Iterator[Self]:
        """Keep the ledger's file open for several operations; nothing is locked in between. Sessions may be nested."""
        self._store.hold()
        try:
            yield self
        finally:
            self._store.let_go()

    def close(self) -> None:
        """Close what is open. A ledger in memory ends with it; any other is opened again when it is needed."""
        self._store.close()

    def __enter__(self) -> Self:
        self._store.hold()
        return self

    def __exit__(self, *problem: object) -> None:
        self._store.let_go()
        self.close()

    def __repr__(self) -> str:
        return f"<{self._store.name}: {self._opening}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopen, (self._store.key(), self._store.patience.limit))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def _commit(self, charges: tuple[Charge, ...], text: str | None, request: str) -> Commitment:
        self._warn_of_others({charge.data for charge in charges})
        release, before = "" if text is None else secrets.token_hex(16), self._tally
        done: tuple[Commitment, Tally] | None = None

        def decide(contents: Contents, found: Stored | None) -> Addition:
            nonlocal done
            tally = before.extended(contents, self._store.name)
            self._require_about(tally, charges)
            self._require_room(tally.prices, charges)
            time, head, prices = now(), contents.head, tally.prices.copy()
            rows: list[Row] = []
            receipts: list[Receipt] = []
            for index, charge in enumerate(charges, contents.count):
                facts = {name: getattr(charge, name) for name in Charge.__struct_fields__}
                sealed = "" if text is None or rows else _hash(f"{request}\n{text}")
                rows.append(row_of(Entry(**facts, index=index, time=time, release=release, sealed=sealed), index, head))
                head = rows[-1].hash
                prices[price_of(charge)] += 1
                receipts.append(_receipt(rows[-1], price_of(charge), self._remaining(prices)))
            labels = tally.labels | {charge.data for charge in charges}
            about = charges[0].unit, charges[0].neighbors
            after = Tally(rows[-1].index + 1, head, self._opening, prices, labels, *about)
            done = Commitment(receipts=tuple(receipts), id=release), after
            return rows, None if text is None else Stored(release, rows[0].index, time, request, text)

        self._store.append(decide)
        assert done is not None
        commitment, after = done
        self._met(after)
        return commitment

    def _require_as_opened(self, wanted: Opening | None, opened: Tally, about: dict[str, Any]) -> None:
        """What was stated must be what the ledger has."""
        fixed = ("epsilon", "delta", "composition")
        if wanted is not None and any(getattr(wanted, each) != getattr(self._opening, each) for each in fixed):
            raise LedgerError(
                f"{self._store.name} has the totals {self._opening}, not {wanted}; "
                "open it without totals, or give another path."
            )
        for name, stated in about.items():
            if stated is not None and stated != getattr(opened, name):
                found = getattr(opened, name)
                has = f"has {name} {found!r}" if found else f"was opened without {name}"
                raise LedgerError(f"{self._store.name} {has}, not {stated!r}; leave {name} out, or give another path.")

    def _require_about(self, tally: Tally, charges: Sequence[Charge]) -> None:
        """All charges of a ledger are about one unit and one relation: promises about different things do not add up."""
        for charge in charges:
            unit, neighbors = tally.unit or charges[0].unit, tally.neighbors or charges[0].neighbors
            if (charge.unit, charge.neighbors) != (unit, neighbors):
                raise StudyError(
                    f"{self._store.name} adds up promises about {_about(unit, neighbors)}, and {charge.what} makes one about "
                    f"{_about(charge.unit, charge.neighbors)}: state person and neighbors in the study as the ledger has them, or "
                    "charge a ledger of its own."
                )

    def _require_room(self, prices: Prices, charges: Sequence[Charge]) -> None:
        """BudgetExceeded unless all entries and these charges cost no more than the totals."""
        asked = Counter(price_of(charge) for charge in charges)
        total, opening = total_price(prices + asked, self._opening.conversion_delta_units), self._opening
        if total.epsilon <= opening.epsilon_units and total.delta <= opening.delta_units:
            return
        verb = "ask" if len(charges) > 1 else "asks"
        sums = [sum(getattr(each, name) * times for each, times in asked.items()) for name in ("epsilon", "delta")]
        price = amounts(decimal_of(sums[0], EPSILON_DIGITS), decimal_of(sums[1], DELTA_DIGITS))
        left = self._remaining(prices)
        if not left.epsilon:
            raise BudgetExceeded(f"Not enough budget: this run costs {price} and nothing remains of {opening}.")
        raise BudgetExceeded(
            f"{' and '.join(charge.what for charge in charges)} {verb} for {price}, but the ledger has "
            f"{left} left of {opening}. Ask for less."
        )

    def _remaining(self, prices: Prices) -> Remaining:
        total, opening = total_price(prices, self._opening.conversion_delta_units), self._opening
        return Remaining(
            epsilon=decimal_of(opening.epsilon_units - total.epsilon, EPSILON_DIGITS),
            delta=decimal_of(opening.delta_units - total.delta, DELTA_DIGITS),
        )

    def _require_sealed(self, found: Sequence[Stored], id: str) -> Stored:
        if not found:
            raise LedgerError(f"{self._store.name} holds no release {id!r}; see undelivered().")
        return found[0]

    def _naming(self, contents: Contents, sealed: Stored) -> list[Entry]:
        """The entries that name a release; none if another hand put its text there, for which nobody has paid."""
        mark, name = mark_of_release(sealed.id), self._store.name
        rows = contents.rows[sealed.entry :] if 0 < sealed.entry < len(contents.rows) else ()
        found = [entry_of(row, values_in(row.body), name) for row in rows if mark in row.body]
        found = [each for each in found if each.release == sealed.id]
        return found if found and found[0].index == sealed.entry else []

    def _require_as_charged(self, contents: Contents, sealed: Stored) -> int:
        """How many stages a release has; LedgerError unless its lines are those whose hashes its entries hold, one for one.

        The first line is hashed after the request, by which the release is found.

        So a text that was put back to an earlier stage is refused too: a round that was drawn once is not drawn again.
        """
        entries = self._naming(contents, sealed)
        if not entries:
            raise LedgerError(
                f"{self._store.name} cannot be trusted: no entry has paid for its release {sealed.id}; restore it from a backup."
            )
        seals = [each.sealed for each in entries if each.sealed]
        first, *later = sealed.text.split("\n")
        if seals != list(map(_hash, (f"{sealed.request}\n{first}", *later))):
            raise LedgerError(
                f"{self._store.name} cannot be trusted: the text of its release {sealed.id} was edited, or put back to an earlier "
                "stage; restore it from a backup."
            )
        return len(seals)

    def _warn_of_others(self, labels: AbstractSet[str]) -> None:
        """Warn, once for each label, of other ledgers that hold entries for the same data set."""
        for label in sorted(labels - self._labels):
            self._labels.add(label)
            if others := self._store.others_with(label):
                warnings.warn(
                    f"The data set {label!r} is also charged to {' and '.join(map(repr, others))}. The ledgers do not know of each "
                    "other, and their privacy costs add up.",
                    TwoLedgersWarning,
                    stacklevel=4,
                )

    def _releases(self, *, id: str | None = None, waiting: bool = False) -> tuple[Contents, list[Stored]]:
        """The releases as of one moment, or those that wait, or one; and the chain of the same moment, verified."""
        before = self._tally
        contents, found = self._store.releases(id=id, waiting=waiting)
        self._met(before.extended(contents, self._store.name))
        return contents, found

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


def _store_at(path: str | os.PathLike[str] | None, patience: Patience) -> Store:
    """The place that a path, a URL or None means."""
    if path is None or path == ":memory:":
        return SqliteStore(None, patience)
    if not isinstance(path, str | os.PathLike):
        raise StudyError(f"The path of a ledger must be text or a path, not a {type(path).__name__}.")
    if isinstance(path, str) and is_address(path):
        return PostgresStore(path, patience)
    if "\0" in os.fspath(path):
        raise StudyError("The path of a ledger has a character that no file's name may have; give another.")
    return SqliteStore(Path(path).absolute(), patience)


def _opening(epsilon: Price, delta: Price, **more: Any) -> Opening:
    totals: dict[str, Any] = {"epsilon": epsilon, "delta": delta}  # made exact by the record
    return Opening(index=0, format=FORMAT, id=secrets.token_hex(16), time=now(), **totals, **more)


def _receipt(entry: Row | Entry, price: EntryPrice, remaining: Remaining) -> Receipt:
    return Receipt(
        index=entry.index,
        hash=entry.hash,
        epsilon=decimal_of(price.epsilon, EPSILON_DIGITS),
        delta=decimal_of(price.delta, DELTA_DIGITS),
        remaining=remaining,
    )


def _reopen(path: str, wait: float) -> Ledger:
    return Ledger(path, wait=wait)


def _about(unit: str, neighbors: str) -> str:
    column = unit.removeprefix(PERSON)
    return f"{'a row' if unit == ROW else f'a person (by {column!r})'} under {neighbors}"


def _line(text: object) -> str:
    """What is sealed, if it is one line of text: each has a hash of its own in the chain."""
    if not isinstance(text, str) or "\n" in text:
        raise StudyError(f"A release is sealed as one line of text, not as {type(text).__name__} of another form.")
    return text


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
