"""The ledger that stands beside a study file, and the question before it is charged."""

from __future__ import annotations

import getpass
from decimal import Decimal
from pathlib import Path

import click

from dpselect.assume.budget import exact_delta, exact_epsilon, plain
from dpselect.release.ledger import Ledger
from dpselect.use.commands.terminal import on_terminal, tell

DEFAULT_EPSILON, DEFAULT_DELTA = Decimal(10), Decimal("1e-5")
"""What a ledger that nobody opened on purpose allows in all; more if the first charge is more."""


def ledger_path(study: str, ledger: str | None) -> str:
    """The ledger that was named, or the one beside the study file."""
    return ledger if ledger is not None else str(Path(study).with_suffix(".budget.db"))


def open_ledger(path: str, price: tuple[Decimal, Decimal], totals: tuple[str | None, str | None]) -> Ledger:
    """The ledger at a path; a new one gets the stated totals, or the default ones."""
    epsilon, delta = totals
    if epsilon is None and delta is None and _exists(path):
        return Ledger(path, announce=tell)
    whole = exact_epsilon(epsilon) if epsilon is not None else max(DEFAULT_EPSILON, price[0])
    slack = exact_delta(delta) if delta is not None else max(DEFAULT_DELTA, price[1])
    return Ledger(path, epsilon=whole, delta=slack, announce=tell)


def _exists(path: str) -> bool:
    return path.startswith(("postgresql://", "postgres://")) or Path(path).exists()


def confirm_charge(path: str, price: tuple[Decimal, Decimal], totals: tuple[str | None, str | None]) -> None:
    """Say what will be charged and ask for a yes; called where there is a person to ask."""
    epsilon, delta = price
    cost = f"epsilon {plain(epsilon)}" + (f" and delta {plain(delta)}" if delta else "")
    if _exists(path):
        left = Ledger(path, announce=tell).left()
        state = f"which has {left} left"
    else:
        total = plain(exact_epsilon(totals[0])) if totals[0] else plain(max(DEFAULT_EPSILON, epsilon))
        state = f"a new ledger that will allow epsilon {total} in all"
    click.confirm(f"This charges {cost} to {shown(path)}, {state}. Go on?", abort=True, err=True)


def must_ask(yes: bool) -> bool:
    """Whether there is a person to ask who has not said yes already."""
    return not yes and on_terminal()


def shown(path: str) -> str:
    """A ledger's place without credentials."""
    return path if "://" not in path else f"the ledger on {path.rsplit('@', 1)[-1].split('?')[0]}"


def analyst() -> str:
    """Who runs this, for the record."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
