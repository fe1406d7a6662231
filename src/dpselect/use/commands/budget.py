"""`dpselect budget`: what a ledger holds."""

from __future__ import annotations

from typing import Any

import click

from dpselect.assume.budget import about, exact_delta, exact_epsilon, plain
from dpselect.errors import LedgerError
from dpselect.release.ledger.entries import Entry
from dpselect.release.ledger.ledger import Ledger
from dpselect.use.shell.options import JSON, QUIET, LedgerOptions, ledger_place, remaining_text, spent_text
from dpselect.use.shell.terminal import answer_json, heading, pairs, show_table, tell


@click.command(
    "budget",
    epilog="""\b
Example:
  dpselect budget people.csv --open --epsilon 3 --delta 1e-6   # state the totals, once
  dpselect budget people.csv                                   # what was spent since
  dpselect budget other.budget.db --json                       # a ledger that stands elsewhere""",
)
@click.argument("file", metavar="DATA|LEDGER")
@click.option("--open", "opens", is_flag=True, help="Create the ledger with the totals given by --epsilon and --delta.")
@click.option("--epsilon", metavar="E", help="With --open: what all releases together may cost.")
@click.option("--delta", metavar="D", default=None, help="With --open: likewise; 0 unless stated.")
@JSON
@QUIET
def command(file: str, opens: bool, epsilon: str | None, delta: str | None, as_json: bool, quiet: bool) -> None:
    """Show what was spent: when, on what and by whom. FILE is a ledger, or DATA that has one beside it."""
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
        raise click.UsageError("--open needs --epsilon, the total that all releases together may cost.")
    if LedgerOptions(path).existing() is not None:
        raise LedgerError(
            f"{LedgerOptions(path).shown!r} exists already; a ledger's totals are stated once and never changed."
        )
    return Ledger(path, epsilon=exact_epsilon(epsilon), delta=exact_delta(delta or 0), announce=tell)


def _existing(path: str, epsilon: str | None, delta: str | None) -> Ledger:
    if epsilon is not None or delta is not None:
        raise click.UsageError("--epsilon and --delta state the totals of a new ledger: add --open.")
    ledger = LedgerOptions(path).existing()
    if ledger is None:
        raise LedgerError(
            f"There is no ledger {LedgerOptions(path).shown!r}; the first release makes one, or `dpselect budget FILE --open`."
        )
    return ledger


def _values(ledger: Ledger, records: tuple[Entry, ...]) -> dict[str, Any]:
    return {
        "total": {"epsilon": str(ledger.epsilon), "delta": str(ledger.delta)},
        "spent": ledger.spent().to_dict(),
        "left": ledger.remaining().to_dict(),
        "records": [record.to_dict() for record in records],
    }


def _show(ledger: Ledger, records: tuple[Entry, ...], where: str) -> None:
    click.echo(heading(f"{where}: epsilon {about(ledger.remaining().epsilon)} of {plain(ledger.epsilon)} left"))
    method = f"{ledger.spent().method} composition of {len(records)} record{'s'[: len(records) != 1]}"
    click.echo(
        pairs(
            [
                ("spent", f"{spent_text(ledger)} ({method})"),
                ("left", remaining_text(ledger)),
                ("chain", "whole: no record was edited, removed or moved"),
            ]
        )
    )
    if records:
        click.echo()
        show_table(
            ["no.", "when (UTC)", "what", "epsilon", "delta", "data", "by"],
            [
                [
                    str(record.index),
                    record.time[:16].replace("T", " "),
                    f"{record.what} ({record.mechanism})" + (f" x{record.count}" if record.count > 1 else ""),
                    plain(record.epsilon),
                    plain(record.delta),
                    record.data,
                    record.analyst,
                ]
                for record in records
            ],
            numbers=(0, 1, 3, 4),
        )
