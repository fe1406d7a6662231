"""What lies beside a study, its ledger and its reports, and what is ordered from them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from dpselect.assume.models.budget import Budget, Guarantee, about, exact_delta, exact_epsilon, plain
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DpselectError, LedgerError
from dpselect.gather.sources.open import ColumnType
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.records import Record
from dpselect.report.public.choice_facts import facts_of
from dpselect.report.public.document import Document
from dpselect.report.public.facts import Facts
from dpselect.report.public.svg import element, picture
from dpselect.use.shell.code import python_code
from dpselect.use.shell.ledgers import beside, left_text, spent_text
from dpselect.use.shell.sources import Rows, label, source_of

LARGEST_REPORT = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Public. Where the rows are, as it was stated, and what its columns are called. The address may hold a password."""

    address: str = field(repr=False)
    form: tuple[tuple[str, str], ...]
    columns: tuple[ColumnType, ...]

    @property
    def label(self) -> str:
        """What the ledger calls the data: no folder, no host, no password."""
        return label(self.address)

    @property
    def shown(self) -> str:
        """The address without its password."""
        if "://" not in self.address:
            return self.address
        parts = urlsplit(self.address)
        host = parts.netloc.rpartition("@")
        user = host[0].partition(":")[0]
        return urlunsplit(parts._replace(netloc=f"{user}@{host[2]}" if user else host[2]))

    def rows(self) -> Rows:
        """As the commands read it."""
        return Rows(source_of(self.address, dict(self.form)), self.label)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Public. One release: of what, from where, for how much, into which report."""

    study: Path
    source: Source
    assumptions: Assumptions
    budget: Budget
    coefficients: bool
    title: str
    number: int

    @property
    def guarantee(self) -> Guarantee:
        """What it promises."""
        return Guarantee(epsilon=self.budget.epsilon, delta=self.budget.delta, neighbors=self.assumptions.neighbors)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFacts:
    """Public. What a ledger holds, and the charges for which no report in the study's folder has the receipt."""

    place: str
    epsilon: str
    delta: str
    spent: str
    left: str
    method: str
    share: float
    records: tuple[Record, ...]
    holders: dict[str, str]

    @property
    def bar(self) -> str:
        """How much is spent, as a drawing."""
        parts = [element("rect", x=0, y=0, width=width, height=14, rx=3, class_=kind) for width, kind in self._parts]
        return picture(720, 14, f"{self.share:.0%} of epsilon {self.epsilon} is spent.", parts, "bar")

    @property
    def _parts(self) -> tuple[tuple[float, str], ...]:
        return (720, "whole"), (720 * min(self.share, 1.0), "gone")

    @property
    def alone(self) -> tuple[Record, ...]:
        """Charges that stand without a release."""
        return tuple(record for record in self.records if record.hash not in self.holders)


def open_ledger(study: Path, epsilon: str, delta: str) -> None:
    """State the totals of the ledger beside the study, once."""
    path = beside(str(study))
    if path.exists():
        raise LedgerError("The budget is open already; its totals are stated once and never changed.")
    Ledger(path, epsilon=exact_epsilon(epsilon), delta=exact_delta(delta))


def ledger_of(study: Path) -> Ledger | None:
    """The ledger beside the study, if one was opened."""
    path = beside(str(study))
    return Ledger(path) if path.exists() else None


def ledger_line(study: Path) -> str:
    """What is left, in a few words."""
    try:
        ledger = ledger_of(study)
    except DpselectError:
        return "the ledger cannot be read"
    if ledger is None:
        return "no budget yet"
    return f"epsilon {about(ledger.left().epsilon)} of {plain(ledger.epsilon)} left"


def ledger_facts(study: Path) -> LedgerFacts | None:
    """All that the budget's screen shows."""
    ledger = ledger_of(study)
    if ledger is None:
        return None
    ledger.verify()
    spent = ledger.spent()
    return LedgerFacts(
        place=beside(str(study)).name,
        epsilon=plain(ledger.epsilon),
        delta=plain(ledger.delta),
        spent=spent_text(ledger),
        left=left_text(ledger),
        method=spent.method,
        share=float(spent.epsilon / ledger.epsilon),
        records=ledger.records(),
        holders={mark: path.name for path in sorted(study.parent.glob("*.json")) for mark in _receipts(path)},
    )


def _receipts(path: Path) -> Iterator[str]:
    """The hashes of the ledger's records that a report holds; none if the file is no report."""
    try:
        if path.stat().st_size > LARGEST_REPORT:
            return
        values = json.loads(path.read_text(encoding="utf-8"))
        parts = [values, values.get("selection"), values.get("coefficients")]
        for part in parts:
            receipt = part.get("receipt") if isinstance(part, dict) else None
            if isinstance(receipt, dict):
                yield str(receipt.get("hash"))
    except (OSError, ValueError, AttributeError, RecursionError):
        return


def report_files(study: Path, number: int) -> tuple[Path, Path]:
    """The page and the JSON file of a report."""
    base = study.parent / f"{study.stem}.report-{number}"
    return base.with_name(base.name + ".html"), base.with_name(base.name + ".json")


def reports(study: Path) -> list[int]:
    """The numbers of the reports beside a study."""
    found = (path.stem.rpartition("-")[2] for path in study.parent.glob(f"{study.stem}.report-*.json"))
    return sorted(int(number) for number in found if number.isdecimal())


def report_facts(study: Path, number: int) -> Facts:
    """What a report says."""
    return facts_of(Document.from_dict(json.loads(report_text(study, number))))


def report_text(study: Path, number: int, *, page: bool = False) -> str:
    """A report as it lies on the disk."""
    path = report_files(study, number)[0 if page else 1]
    if number not in reports(study):
        raise DpselectError(f"There is no report of this number beside {study.name}.")
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DpselectError(f"The page of report {number} was removed from beside {study.name}.") from None


def past_order(study: Path, number: int, source: Source | None) -> Order:
    """The order of a report from before this studio was started, as far as the report tells."""
    document = Document.from_dict(json.loads(report_text(study, number)))
    return Order(
        study=study,
        assumptions=document.stated,
        source=source or Source(address="DATA", form=(), columns=()),
        budget=Budget(document.guarantee.epsilon, document.guarantee.delta),
        coefficients=document.coefficients is not None,
        title=document.title,
        number=number,
    )


def same_command(order: Order) -> str:
    """What to type for the same release in a shell."""
    said = _options(order)
    words = ["dpselect", _verb(order), said["study"], said["data"], "--epsilon", said["epsilon"]]
    for name in ("delta", "title", "delimiter", "encoding", "decimal"):
        words += [f"--{name}", said[name]] if said.get(name) else []
    return " ".join(map(shlex.quote, [*words, "-o", said["output"]]))


def same_python(order: Order) -> str:
    """What to write for the same release in Python: what the command shows with --show-code."""
    return python_code(_verb(order), _options(order))


def _verb(order: Order) -> str:
    return "analyze" if order.coefficients else "select"


def _options(order: Order) -> dict[str, Any]:
    """The options of the command that does the same; None where the usual will do."""
    names = ("moments", "ledger", "total_epsilon", "total_delta", "max_size", "penalty", "split", "board")
    page, values = report_files(order.study, 1 + max(reports(order.study), default=0))  # no report is overwritten
    return {
        **dict.fromkeys((*names, "delimiter", "encoding", "decimal")),
        **{"method": "votes", "mechanism": "permute-and-flip", "level": 0.95, "intervals": "plain"},
        **{"scale": "response", "tune": False},
        **dict(order.source.form),
        "study": _here(order.study),
        "data": order.source.shown,
        "epsilon": plain(order.budget.epsilon),
        "delta": plain(order.budget.delta) if order.coefficients else None,
        "title": order.title if order.coefficients else "",
        "output": _here(page if order.coefficients else values),
    }


def _here(path: Path) -> str:
    """A path as one would type it in the folder where the studio was started."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
