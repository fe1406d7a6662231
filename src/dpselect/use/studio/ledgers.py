"""The ledger of the rows: opened once, shown in a line and on the screen of the budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpselect.assume.budget import about, exact_delta, exact_epsilon, plain
from dpselect.errors import DpselectError, LedgerError
from dpselect.release.ledger.entries import Entry, Undelivered
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.figure import element, picture
from dpselect.use.shell.ledgers import remaining_text, spent_text
from dpselect.use.studio.sources import Source

MAX_REPORT_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFacts:
    """Public. What a ledger holds, which reports of the study's folder have the receipts, and what waits to be handed over."""

    place: str
    epsilon: str
    delta: str
    spent: str
    left: str
    method: str
    share: float
    records: tuple[Entry, ...]
    holders: dict[str, str]
    waiting: tuple[Undelivered, ...]

    @property
    def bar(self) -> str:
        """How much is spent, as a drawing."""
        parts = [element("rect", x=0, y=0, width=width, height=14, rx=3, class_=kind) for width, kind in self._parts]
        return picture(720, 14, f"{self.share:.0%} of epsilon {self.epsilon} is spent.", parts, "bar")

    @property
    def _parts(self) -> tuple[tuple[float, str], ...]:
        return (720, "whole"), (720 * min(self.share, 1.0), "gone")


def open_ledger(source: Source, epsilon: str, delta: str) -> None:
    """State the totals of the ledger of these rows, once."""
    if source.ledger.exists():
        raise LedgerError(f"{source.ledger.name} already exists. A budget cannot be changed once open.")
    Ledger(source.ledger, epsilon=exact_epsilon(epsilon), delta=exact_delta(delta))


_LEDGERS: dict[tuple[str, int, int], Ledger] = {}
"""The ledgers that this studio has met, by their place and by the number of the file that stood there."""


def ledger_of(source: Source | None) -> Ledger | None:
    """The ledger of these rows, if one was opened. What it holds is read anew each time it is asked."""
    if source is None:
        return None
    try:
        status = source.ledger.stat()
    except FileNotFoundError:
        return None
    file = str(source.ledger.absolute()), status.st_dev, status.st_ino
    if file not in _LEDGERS:
        _LEDGERS[file] = Ledger(source.ledger)
    return _LEDGERS[file]


def ledger_line(source: Source | None) -> str:
    """What remains, in a few words."""
    try:
        ledger = ledger_of(source)
        if ledger is None:
            return "no budget yet"
        return f"epsilon {about(ledger.remaining().epsilon)} of {plain(ledger.epsilon)} remaining"
    except DpselectError:
        _LEDGERS.clear()  # one that was restored from a backup is met anew
        return "the ledger cannot be read"


def ledger_facts(study_file: Path, source: Source | None) -> LedgerFacts | None:
    """All that the budget's screen shows."""
    ledger = ledger_of(source)
    if ledger is None or source is None:
        return None
    with ledger.session():
        return _facts_of(ledger, study_file, source)


def _facts_of(ledger: Ledger, study_file: Path, source: Source) -> LedgerFacts:
    ledger.verify()
    spent = ledger.spent()
    return LedgerFacts(
        place=source.ledger.name,
        epsilon=plain(ledger.epsilon),
        delta=plain(ledger.delta),
        spent=spent_text(ledger),
        left=remaining_text(ledger),
        method=spent.method,
        share=float(spent.epsilon / ledger.epsilon),
        records=ledger.entries(),
        holders={mark: path.name for path in sorted(study_file.parent.glob("*.json")) for mark in _receipts(path)},
        waiting=ledger.undelivered(),
    )


def _receipts(path: Path) -> Iterator[str]:
    """The hashes of the ledger's records that a report holds; none if the file is no report."""
    try:
        if path.stat().st_size > MAX_REPORT_BYTES:
            return
        values = json.loads(path.read_text(encoding="utf-8"))
        parts = [values, values.get("selection"), values.get("coefficients")]
        for part in parts:
            receipt = part.get("receipt") if isinstance(part, dict) else None
            if isinstance(receipt, dict):
                yield str(receipt.get("hash"))
    except (OSError, ValueError, AttributeError, RecursionError):
        return
