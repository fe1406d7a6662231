"""Public. The ledger that a command charges: which one it is, what it holds, and what would remain."""

from __future__ import annotations

import getpass
import math
import os
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import Any, Self

import click

from dpselect.assume.budget import DEFAULT_DELTA, EXACT, Budget, about, exact_delta, exact_epsilon, plain
from dpselect.errors import LedgerError, NoLedgerYet
from dpselect.gather.sources.source import data_place
from dpselect.release.account import Account, NewLedger
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.postgres import shown_address
from dpselect.release.ledger.sqlite import others_beside
from dpselect.release.ledger.store import is_address
from dpselect.use.shell.files import begins_with
from dpselect.use.shell.sources import ledger_beside
from dpselect.use.shell.terminal import tell


@dataclass(frozen=True, slots=True)
class LedgerOptions:
    """Public. Which ledger a command charges, whether it was named, and the totals it gets if it is new."""

    path: str
    named: bool = True
    total_epsilon: Decimal | None = None
    total_delta: Decimal | None = None

    @classmethod
    def from_options(cls, data: str | None, options: dict[str, Any]) -> Self:
        """From the options of a command, which are taken out: the ledger named, or the one that belongs to the data."""
        path, epsilon, delta = (options.pop(name) for name in ("ledger", "total_epsilon", "total_delta"))
        beside = "" if path else str(ledger_beside(data or options.get("moments") or ""))
        if not path and data and data_place(data) is None and not os.path.exists(beside):
            raise LedgerError(
                f"Rows on a server have no folder for a ledger to stand in. Name the ledger to open, such as --ledger {beside}."
            )
        return cls(
            path or beside,
            path is not None,
            None if epsilon is None else exact_epsilon(epsilon, "--total-epsilon"),
            None if delta is None else exact_delta(delta, "--total-delta"),
        )

    @property
    def shown(self) -> str:
        """The place without credentials."""
        return shown_address(self.path) if is_address(self.path) else self.path

    @property
    def place(self) -> str:
        """The place without credentials, by its full path: the same in whichever folder a command is given."""
        return self.shown if is_address(self.path) else os.path.abspath(self.path)

    @property
    def files(self) -> list[tuple[str, str]]:
        """The files of the ledger, those that SQLite keeps beside it too, for what is written to keep away from."""
        no_file = is_address(self.path) or os.path.isdir(self.path)  # a folder is refused where it is opened
        endings = () if no_file else ("", "-wal", "-shm", "-journal")
        return [(f"{self.path}{ending}", "the ledger's") for ending in endings]

    def existing(self) -> Ledger | None:
        """The ledger if there is one; what an interrupted creation left behind is none."""
        try:
            return Ledger(self.path, announce=tell)
        except NoLedgerYet:
            return None

    def account(self, ledger: Ledger | None, price: Budget, label: str) -> Account:
        """Who pays: the ledger that is there, or one that the first commit will open with what was stated, or with this price."""
        if ledger is None:
            self._require_only(label)
            self._require_folder()
            epsilon = price.epsilon if self.total_epsilon is None else self.total_epsilon
            # A budget for more than this run leaves room for the effects of each, which need a delta.
            usual = price.delta if self.total_epsilon is None else usual_total_delta(epsilon, price)
            delta = usual if self.total_delta is None else self.total_delta
            return Account(NewLedger(self.path, Budget(epsilon, delta), tell), label, analyst())
        for name, stated in (("epsilon", self.total_epsilon), ("delta", self.total_delta)):
            if stated is not None and stated != getattr(ledger, name):
                raise LedgerError(
                    f"{self.shown} already exists with {name} {plain(getattr(ledger, name))}. A budget cannot be changed once "
                    f"open: leave --total-{name} out."
                )
        return Account(ledger, label, analyst())

    def _require_only(self, label: str) -> None:
        """A second ledger for the same data is opened for those who name it, and for nobody by mistake."""
        others = [] if self.named or is_address(self.path) else others_beside(Path(self.path).absolute(), label)
        if others:
            raise LedgerError(
                f"{label!r} is charged to {others[0]!r} already: name that ledger with --ledger, or another one to open a second."
            )

    def _require_folder(self) -> None:
        """The ledger will be opened when its first release is committed; that it cannot be is said now."""
        folder = Path(self.path).absolute().parent
        if not is_address(self.path) and not (folder.is_dir() and os.access(folder, os.W_OK)):
            problem = "may not be written to" if folder.is_dir() else "does not exist"
            raise LedgerError(
                f"The folder {str(Path(self.path).parent)!r} {problem}: name another ledger with --ledger."
            )

    def afterwards(self, account: Account, price: Budget) -> str:
        """What becomes of the budget when this is spent; and which other ledgers beside this one the data is charged to."""
        others = [] if is_address(self.path) else others_beside(Path(self.path).absolute(), account.data)
        beside = (
            f". Also charged to {', '.join(Path(each).name for each in others)}: what they cost adds up"
            if others
            else ""
        )
        ledger = account.ledger
        if isinstance(ledger, NewLedger):
            after = EXACT.subtract(ledger.totals.epsilon, price.epsilon)
            larger = "" if self.total_epsilon is not None else " (a larger total must be set now: --total-epsilon)"
            total = f"opens {self.shown} with a total of epsilon {plain(ledger.totals.epsilon)}"
            if self.total_epsilon is not None and ledger.totals.delta:
                total = f"{total} (delta {plain(ledger.totals.delta)})"
            return f"{total}; {about(max(after, Decimal(0)))} remains afterwards{larger}{beside}"
        assert isinstance(ledger, Ledger)
        return f"{self.shown}: {remaining_text(ledger)} remains before this run{beside}"


def ledger_place(file: str) -> str:
    """The ledger that was named, or the one that belongs to the data that was."""
    if Path(file).suffix == ".toml":
        raise click.UsageError("A ledger belongs to data, not to a study file: give DATA, or the ledger itself.")
    named = is_address(file) or Path(file).suffix in LEDGER_ENDINGS or begins_with(Path(file), b"SQLite format 3")
    return file if named else str(ledger_beside(file))


LEDGER_ENDINGS = (".db", ".sqlite", ".sqlite3", ".ledger")


def spent_text(ledger: Ledger) -> str:
    """What all entries cost together, in few digits, never shown as less than it is."""
    spent = ledger.spent()
    return f"epsilon {about(spent.epsilon, ROUND_UP)}, delta {about(spent.delta, ROUND_UP)}"


def remaining_text(ledger: Ledger) -> str:
    """What remains, in few digits, never shown as more than it is."""
    rest = ledger.remaining()
    if ledger.spent().method == "zCDP" and not rest.delta:
        return f"epsilon {about(rest.epsilon)} (all of delta is reserved by zCDP accounting)"
    return f"epsilon {about(rest.epsilon)}, delta {about(rest.delta)}"


MAX_USUAL_DELTA = Decimal("1e-4")
"""A total delta that nobody has stated is at most this, or what one run asks for."""


def usual_total_delta(total: Decimal, run: Budget | None = None) -> Decimal:
    """The total delta of a new budget where none is stated: enough for as many such runs as its epsilon pays for."""
    each = max(Decimal(DEFAULT_DELTA), Decimal(0) if run is None else run.delta)
    runs = max(1, math.ceil(EXACT.divide(total, Decimal(1) if run is None else run.epsilon)))
    return max(each, min(EXACT.multiply(each, Decimal(runs)), MAX_USUAL_DELTA))


def not_enough(account: Account, price: Budget, *, command: bool = True) -> str:
    """That a run costs more than remains, and what would fit, as a `command` or as a form has it."""
    ledger = account.ledger
    rest = price if ledger is None else ledger.remaining()
    cost, left = f"epsilon {plain(price.epsilon)}", about(rest.epsilon)
    if price.delta > rest.delta and price.epsilon <= rest.epsilon:
        return (
            f"Not enough delta: this run costs {plain(price.delta)} and {about(rest.delta)} remains. Nothing was spent. "
            f"{'`dpselect select`' if command else 'A selection alone'} needs no delta."
        )
    if price.delta > rest.delta:
        cost, left = f"{cost}, delta {plain(price.delta)}", f"epsilon {left}, delta {about(rest.delta)}"
    fits = price.epsilon > rest.epsilon > 0
    most = f"epsilon {about(rest.epsilon)}"
    what = f" Use {f'`--{most}`' if command else most} or less." if fits else ""
    remains = f"{left} remains" if rest.epsilon > 0 else "nothing remains"
    return f"Not enough budget: this run costs {cost} and {remains}. Nothing was spent.{what}"


def analyst() -> str:
    """Who runs this, for the record."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
