"""The ledger that stands beside a study file, and the question before it is charged."""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

import click

from dpselect.assume.models.budget import Budget, exact_delta, exact_epsilon, plain
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.records import Charge
from dpselect.use.shell.terminal import on_terminal, tell

DEFAULT_EPSILON, DEFAULT_DELTA = Decimal(10), Decimal("1e-5")
"""What a ledger that nobody opened on purpose allows in all; more if the first charge is more."""


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
        return self.path.rsplit("@", 1)[-1].split("?")[0] if "://" in self.path else self.path

    @property
    def exists(self) -> bool:
        """Whether there is a ledger, as far as can be told without opening it."""
        return "://" in self.path or Path(self.path).exists()

    def totals(self, price: Budget) -> Budget:
        """What a new ledger allows in all."""
        epsilon = self.total_epsilon or max(DEFAULT_EPSILON, price.epsilon)
        return Budget(epsilon, self.total_delta or max(DEFAULT_DELTA, price.delta))

    def open(self, price: Budget) -> Ledger:
        """The ledger, created if there is none."""
        if self.exists and self.total_epsilon is None and self.total_delta is None:
            return Ledger(self.path, announce=tell)
        total = self.totals(price)
        return Ledger(self.path, epsilon=total.epsilon, delta=total.delta, announce=tell)

    def confirm(self, price: Budget, yes: bool, *charges: Charge) -> None:
        """Say what will be charged, and ask for a yes if there is a person to ask.

        A ledger that is there must open and have room for the charges: better refused now than after an hour of reading.
        """
        if self.exists:
            ledger = Ledger(self.path, announce=tell)
            ledger.check(*charges)
            state = f"which has {ledger.left()} left"
        else:
            state = f"a new ledger that will allow epsilon {plain(self.totals(price).epsilon)} in all"
        if yes or not on_terminal():
            return
        cost = f"epsilon {plain(price.epsilon)}" + (f" and delta {plain(price.delta)}" if price.delta else "")
        click.confirm(f"This charges {cost} to {self.shown}, {state}. Go on?", abort=True, err=True)


def beside(study: str) -> Path:
    """Where the ledger of a study file stands: study.toml has study.budget.db."""
    return Path(study).with_suffix(".budget.db")


def analyst() -> str:
    """Who runs this, for the record."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
