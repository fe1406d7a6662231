"""The ledger that stands beside a study file, and the question before it is charged."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import Any, Self

import click

from dpselect.assume.models.budget import Budget, about, exact_delta, exact_epsilon, plain
from dpselect.errors import BudgetExceeded, NoLedgerYet
from dpselect.release.account import Account
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.records import Charge, Receipt
from dpselect.release.ledger.stores.postgres import is_address, shown_address
from dpselect.report.public.words import weaknesses
from dpselect.use.shell.terminal import on_terminal, tell

DEFAULT_EPSILON, DEFAULT_DELTA = Decimal(10), Decimal("1e-5")
"""What a ledger that nobody opened on purpose allows in all."""


@dataclass(frozen=True, slots=True)
class Till:
    """Public. Where a command charges: a ledger's place, and the totals it gets if it is new."""

    path: str
    total_epsilon: Decimal | None = None
    total_delta: Decimal | None = None

    @classmethod
    def from_options(cls, study: str, options: dict[str, Any]) -> Self:
        """From the options of a command, which are taken out: the ledger named, or the one beside the study file."""
        path = options.pop("ledger") or str(beside(study))
        epsilon, delta = options.pop("total_epsilon"), options.pop("total_delta")
        return cls(
            path,
            None if epsilon is None else exact_epsilon(epsilon, "--total-epsilon"),
            None if delta is None else exact_delta(delta, "--total-delta"),
        )

    @property
    def shown(self) -> str:
        """The place without credentials."""
        return shown_address(self.path) if is_address(self.path) else self.path

    @property
    def place(self) -> str:
        """The same, wherever a command is given."""
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

    @property
    def totals(self) -> Budget:
        """What a new ledger allows in all: as stated, or the default, whatever is asked of it first."""
        epsilon = DEFAULT_EPSILON if self.total_epsilon is None else self.total_epsilon
        return Budget(epsilon, DEFAULT_DELTA if self.total_delta is None else self.total_delta)

    def open(self) -> Ledger:
        """The ledger, created if there is none; one that is there must have the totals that were stated."""
        if self.total_epsilon is None and self.total_delta is None:
            ledger = self.existing()
            if ledger is not None:
                return ledger
        return Ledger(self.path, epsilon=self.totals.epsilon, delta=self.totals.delta, announce=tell)

    def confirm(self, price: Budget, yes: bool, *charges: Charge) -> None:
        """Say what will be charged, and ask for a yes if there is a person to ask.

        A ledger that is there must open and have room for the charges: better refused now than after an hour of reading.
        """
        ledger = self.existing()
        if ledger is not None:
            ledger.check(*charges)
            state = f"which has {left_text(ledger)} left"
        else:
            self._require_room(price)
            state = f"a new ledger that will allow epsilon {plain(self.totals.epsilon)} in all"
        for weakness in weaknesses(price.epsilon, price.delta):
            tell(weakness)
        if yes or not on_terminal():
            return
        cost = f"epsilon {plain(price.epsilon)}" + (f" and delta {plain(price.delta)}" if price.delta else "")
        click.confirm(f"This charges {cost} to {self.shown}, {state}. Go on?", abort=True, err=True)

    def _require_room(self, price: Budget) -> None:
        """A budget that grows to whatever is asked first is no budget."""
        total = self.totals
        for name, asked, allowed in (
            ("epsilon", price.epsilon, total.epsilon),
            ("delta", price.delta, total.delta),
        ):
            if not asked <= allowed:
                raise BudgetExceeded(
                    f"This asks for {name} {plain(asked)}, but the new ledger {self.shown} would allow {plain(allowed)} in all: "
                    f"ask for less, or state what all releases together may cost with --total-{name}."
                )


@dataclass(frozen=True, slots=True)
class HeldAccount(Account):
    """Public. An account whose first charge makes signals wait until what was paid for is written; `note` is told of each."""

    hold: Callable[[], None] = lambda: None
    note: Callable[[str], None] = lambda charge: None

    def charge(self, charge: Charge) -> Receipt | None:
        """The receipt, once the charge is on disk. `note` hears "charging" before it, then "charged" or "refused"."""
        self.hold()
        self.note("charging")
        try:
            receipt = Account.charge(self, charge)
        except BudgetExceeded:
            self.note("refused")
            raise
        self.note("charged")
        return receipt


def spent_text(ledger: Ledger) -> str:
    """What all records cost together, in few digits, never shown as less than it is."""
    spent = ledger.spent()
    return f"epsilon={about(spent.epsilon, ROUND_UP)}, delta={about(spent.delta, ROUND_UP)}"


def left_text(ledger: Ledger) -> str:
    """What is left, in few digits, never shown as more than it is."""
    left = ledger.left()
    if ledger.spent().method == "zCDP" and not left.delta:
        return (
            f"epsilon={about(left.epsilon)} (zCDP puts all of delta to use; a charge with a delta may fit all the same)"
        )
    return f"epsilon={about(left.epsilon)}, delta={about(left.delta)}"


def beside(study: str) -> Path:
    """Where the ledger of a study file stands: study.toml has study.budget.db."""
    return Path(study).with_suffix(".budget.db")


def analyst() -> str:
    """Who runs this, for the record."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
