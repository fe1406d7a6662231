"""What `budget` does: open a ledger, or show what it holds."""

from __future__ import annotations

from typing import Any

import click

from dpselect.assume.budget import about, exact_delta, exact_epsilon, plain
from dpselect.errors import LedgerError
from dpselect.release.ledger.entries import STAGE, Entry
from dpselect.release.ledger.ledger import Ledger
from dpselect.use.shell.ledgers import LedgerOptions, ledger_place, remaining_text, spent_text, usual_total_delta
from dpselect.use.shell.terminal import answer_json, heading, pairs, show_table, tell

SPENT_ON = {
    "select": "selection and directions",
    "estimate": "coefficients and intervals",
    STAGE: "nothing more: a round of them",
}
"""What an entry was spent on, in words."""


def run_budget(file: str, opens: bool, epsilon: str | None, delta: str | None, as_json: bool, quiet: bool) -> None:
    """`dpselect budget`."""
    path = ledger_place(file)
    ledger = _opened(path, epsilon, delta) if opens else _existing(path, epsilon, delta)
    ledger.verify()
    records = ledger.entries()
    if as_json:
        answer_json(_values(ledger, records))
    elif quiet:
        click.echo(str(ledger.remaining()))
    else:
        _show(ledger, records, LedgerOptions(path).shown)


def _opened(path: str, epsilon: str | None, delta: str | None) -> Ledger:
    if epsilon is None:
        raise click.UsageError("--open needs --epsilon, the privacy budget of the data set.")
    if LedgerOptions(path).existing() is not None:
        raise LedgerError(f"{LedgerOptions(path).shown} already exists. A budget cannot be changed once open.")
    total = exact_epsilon(epsilon)
    return Ledger(path, epsilon=total, delta=exact_delta(delta) if delta else usual_total_delta(total), announce=tell)


def _existing(path: str, epsilon: str | None, delta: str | None) -> Ledger:
    if epsilon is not None or delta is not None:
        raise click.UsageError("--epsilon and --delta are those of a new budget: add --open.")
    ledger = LedgerOptions(path).existing()
    if ledger is None:
        raise LedgerError(
            f"There is no ledger {LedgerOptions(path).shown!r}. The first run opens it, or `dpselect budget DATA --open` does."
        )
    return ledger


def _values(ledger: Ledger, records: tuple[Entry, ...]) -> dict[str, Any]:
    return {
        "total": {"epsilon": str(ledger.epsilon), "delta": str(ledger.delta)},
        "spent": ledger.spent().to_dict(),
        "remaining": ledger.remaining().to_dict(),
        "entries": [record.to_dict() for record in records],
    }


def _show(ledger: Ledger, records: tuple[Entry, ...], where: str) -> None:
    rest = ledger.remaining()
    left = f"epsilon {about(rest.epsilon)} of {plain(ledger.epsilon)} remaining"
    delta = f" (delta {about(rest.delta)} of {plain(ledger.delta)})" if ledger.delta else ""
    click.echo(heading(f"{where}: {left}{delta}. Integrity OK."))
    if ledger.spent().method == "zCDP":
        click.echo(
            pairs(
                [
                    ("spent", f"{spent_text(ledger)} (zCDP composition of {len(records)} entries)"),
                    ("remaining", remaining_text(ledger)),
                ]
            )
        )
    if records:
        click.echo()
        show_table(
            ["entry", "when (UTC)", "spent on", "epsilon", "delta", "data", "by"],
            [
                [
                    str(record.index),
                    record.time[:16].replace("T", " "),
                    SPENT_ON.get(record.what, record.what) + (f" x{record.count}" if record.count > 1 else ""),
                    plain(record.epsilon),
                    plain(record.delta),
                    record.data,
                    record.analyst,
                ]
                for record in records
            ],
            numbers=(0, 1, 3, 4),
        )
