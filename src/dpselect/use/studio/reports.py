"""What lies beside a study and its rows, and all that the studio asks of the rest of dpselect. No number is made here."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from dpselect.assume.budget import EXACT, Budget, Guarantee, about, exact_delta, exact_epsilon, plain
from dpselect.assume.queries import FamilyName
from dpselect.assume.recipe import Choice
from dpselect.assume.records import sha256_of
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary
from dpselect.errors import BudgetExceeded, DataError, DpselectError, LedgerError, StudyError
from dpselect.gather.formats import COMPRESSIONS, FORMATS
from dpselect.gather.sources.open import ColumnType
from dpselect.rehearse.planning.outlook import Outlook, percent
from dpselect.release.account import Account
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.checks import Check
from dpselect.release.ledger.entries import Entry, Undelivered
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.confidential import curve_chart
from dpselect.report.facts import Facts, facts_of
from dpselect.report.figure import element, picture
from dpselect.report.phrases import promise
from dpselect.use.check import Rehearsal, look_at
from dpselect.use.init import named_columns
from dpselect.use.order import Order, order_analysis, order_selection
from dpselect.use.plan import plan
from dpselect.use.shell.code import python_code
from dpselect.use.shell.files import require_writable, write_report
from dpselect.use.shell.ledgers import analyst, not_enough, remaining_text, spent_text
from dpselect.use.shell.sources import Rows, guessed_form, label, ledger_beside, source_of
from dpselect.use.shell.terminal import together
from dpselect.use.spend import Released, resume, spend
from dpselect.use.studio.forms import stated
from dpselect.use.verify import A_REPORT, verify_text

MAX_REPORT_BYTES = 4 << 20
MAX_FILES = 60
"""Files of a folder that are offered, at most."""


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

    @property
    def ledger(self) -> Path:
        """Where the ledger of these rows stands, or will."""
        return ledger_beside(self.address)

    def rows(self) -> Rows:
        """As the commands read it."""
        return Rows(source_of(self.address, dict(self.form)), self.label)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlan:
    """Public. One release: of what, from where, for how much, into which report; `order` is what is run, None if it was."""

    study_file: Path
    source: Source
    study: Study
    budget: Budget
    coefficients: bool
    title: str
    number: int
    family: FamilyName | None = None
    order: Order | None = None

    @property
    def guarantee(self) -> Guarantee:
        """What it promises."""
        return Guarantee(epsilon=self.budget.epsilon, delta=self.budget.delta, neighbors=self.study.neighbors)


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


def report_files(study_file: Path, number: int) -> tuple[Path, Path]:
    """The page and the JSON file of a report."""
    base = study_file.parent / f"{study_file.stem}.report-{number}"
    return base.with_name(base.name + ".html"), base.with_name(base.name + ".json")


def reports(study_file: Path) -> list[int]:
    """The numbers of the reports beside a study."""
    found = (path.stem.rpartition("-")[2] for path in study_file.parent.glob(f"{study_file.stem}.report-*.json"))
    return sorted(int(number) for number in found if number.isdecimal())


def report_facts(study_file: Path, number: int) -> Facts:
    """What a report says."""
    return facts_of(AnalysisRecord.from_json(report_text(study_file, number)))


def report_text(study_file: Path, number: int, *, page: bool = False) -> str:
    """A report as it lies on the disk."""
    path = report_files(study_file, number)[0 if page else 1]
    if number not in reports(study_file):
        raise DpselectError(f"There is no report of this number beside {study_file.name}.")
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DpselectError(f"The page of report {number} was removed from beside {study_file.name}.") from None


def past_report(study_file: Path, number: int, source: Source | None) -> ReportPlan:
    """The plan of a report from before this studio was started, as far as the report tells."""
    analysis = AnalysisRecord.from_json(report_text(study_file, number))
    return ReportPlan(
        study_file=study_file,
        study=analysis.selection.study,
        source=source or Source(address="DATA", form=(), columns=()),
        budget=Budget(analysis.guarantee.epsilon, analysis.guarantee.delta),
        coefficients=analysis.coefficients is not None,
        title=analysis.title,
        number=number,
        family=None if analysis.coefficients is None else analysis.coefficients.family,
    )


def same_command(plan: ReportPlan) -> str:
    """What to type for the same release in a shell."""
    options = _options(plan)
    words = ["dpselect", _verb(plan), options["data"], "--study", options["study"], "--epsilon", options["epsilon"]]
    for name in ("delta", "title", "delimiter", "encoding", "decimal"):
        words += [f"--{name}", options[name]] if options.get(name) else []
    words += ["--family", plan.family] if plan.family is not None else []
    return " ".join(map(shlex.quote, [*words, "-o", options["output"]]))


def same_python(plan: ReportPlan) -> str:
    """What to write for the same release in Python: what the command shows with --show-code."""
    return python_code(_verb(plan), _options(plan))


def _verb(plan: ReportPlan) -> str:
    return "analyze" if plan.coefficients else "select"


def _options(plan: ReportPlan) -> dict[str, Any]:
    """The options of the command that does the same; None where the usual will do."""
    names = ("moments", "ledger", "total_epsilon", "total_delta", "max_size", "penalty", "split", "board")
    page, values = report_files(
        plan.study_file, 1 + max(reports(plan.study_file), default=0)
    )  # no report is overwritten
    return {
        **dict.fromkeys((*names, "delimiter", "encoding", "decimal")),
        **{"method": "votes", "mechanism": "permute-and-flip", "level": 0.95, "family": plan.family},
        **dict(plan.source.form),
        "study": _here(plan.study_file),
        "places": [plan.source.shown],
        "data": plan.source.shown,
        "epsilon": plain(plan.budget.epsilon),
        "delta": plain(plan.budget.delta) if plan.coefficients else None,
        "title": plan.title if plan.coefficients else "",
        "output": _here(page if plan.coefficients else values),
    }


def _here(path: Path) -> str:
    """A path as one would type it in the folder where the studio was started."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """Public. What a plan says; no row was read for it."""

    rows: int
    epsilon: str
    r_squared: str
    mark: str
    verdict: str
    facts: tuple[tuple[str, str], ...]
    charts: tuple[tuple[str, str, str], ...]
    table: tuple[tuple[str, ...], ...]


def data_files(folder: Path) -> list[str]:
    """The files of a folder that hold rows, by their names, the latest first; neither studies nor reports nor ledgers."""
    found = []
    try:
        for path in folder.iterdir():
            bare = path.name.removesuffix(path.suffix) if path.name.endswith(COMPRESSIONS) else path.name
            if path.is_file() and Path(bare).suffix.lower() in FORMATS and not path.name.startswith("."):
                found.append(path)
        found.sort(key=lambda path: (-path.stat().st_mtime, path.name))
    except OSError:
        return []
    return [str(path) if folder != Path.cwd() else path.name for path in found[:MAX_FILES]]


def is_binary(study_file: Path) -> bool:
    """Whether the response of a study is yes or no."""
    try:
        return isinstance(stated(study_file).response, Binary)
    except DpselectError:
        return False


def study_mark(study_file: Path, source: Source | None) -> str:
    """A mark of the study and of where the data are, by which a page about them is known to be stale."""
    text = study_file.read_text(encoding="utf-8") if study_file.exists() else ""
    return sha256_of([text, source.address if source else "", list(source.form) if source else []])


def open_source(address: str, form: dict[str, str]) -> Source:
    """Look at a table's head: the names and types of its columns, and how a text file is written; nothing else."""
    whole = guessed_form(address, form)
    columns = tuple(named_columns(source_of(address, whole)))
    return Source(address=address, form=tuple(whole.items()), columns=columns)


def plan_facts(study: Study, rows: int, epsilon: str, r_squared: str, mark: str) -> PlanFacts:
    """What to expect, from public facts alone; `mark` is that of the study."""
    share = float(r_squared)
    if not 0 < share < 1:
        raise StudyError(f"The expected R² is {r_squared}; it must be between 0 and 1, such as 0.3.")
    price, planned = float(exact_epsilon(epsilon)), plan(study, rows=rows, epsilon=epsilon, delta="1e-6", r2=share)
    found = planned.found
    assert isinstance(found, Outlook)
    charts = []
    for name, points, now in (("epsilon", found.by_epsilon, price), ("rows", found.by_rows, float(rows))):
        settings, kept = [float(x) for x, _ in points], [[each] for _, each in points]
        draw = partial(curve_chart, name, settings, kept, now, what="Share of the R² that is kept")
        wide, narrow = (draw(narrow=small) for small in (False, True))
        charts.append((name, wide, narrow))
    effects = tuple((f"Smallest effect found: {name}", words) for name, words in together(found.units))
    lengths = () if planned.intervals is None else planned.intervals.words(study)
    intervals = tuple((f"Length of its 95% interval: {name}", words) for name, words in together(lengths))
    directions = (("Directions", planned.directions),) if planned.directions else ()
    return PlanFacts(
        rows=rows,
        epsilon=epsilon,
        r_squared=r_squared,
        mark=mark,
        verdict=found.verdict,
        facts=(("Scenarios", _scenarios(found.usual)), *effects, *intervals, *directions),
        charts=tuple(charts),
        table=tuple(
            (f"{e:.3g}", percent(one), f"{n:,}", percent(other))
            for (e, one), (n, other) in zip(found.by_epsilon, found.by_rows, strict=False)
        ),
    )


def _scenarios(lines: Sequence[str]) -> str:
    """The scenarios of a plan in one cell; what all of them begin with is said once."""
    heads = {line.partition(", ")[0] for line in lines}
    if len(heads) != 1:
        return "; ".join(lines)
    return f"{heads.pop()}: {'; '.join(line.partition(', ')[2] for line in lines)}"


def check_page(study: Study, source: Source, epsilon: str, delta: str) -> str:
    """The custodian's page: what the rows are like, and what a release at this price would choose. Not for release."""
    rows, rehearsal = source.rows(), None
    if epsilon:
        rehearsal = Rehearsal(study, Choice(), Budget(exact_epsilon(epsilon), exact_delta(delta)))
    rows.require_rows()
    return look_at(rows.source, study, rehearsal).page()


def plan_report(study_file: Path, source: Source, asked: dict[str, str]) -> ReportPlan:
    """A release that could be afforded as things stand; nothing is charged."""
    ledger = ledger_of(source)
    if ledger is None:
        raise LedgerError("There is no budget yet. Open it first, on the page Budget.")
    both, study, choice = asked.get("what") != "choice", stated(study_file), Choice()
    budget = Budget(exact_epsilon(asked.get("epsilon", "")), exact_delta(asked.get("delta", "") if both else 0))
    title = asked.get("title", "")
    family = cast(FamilyName | None, (both and asked.get("family")) or None)  # the order refuses what is none
    rows = source.rows().source
    if both:
        order = order_analysis(study, choice, budget, source=rows, title=title, family=family)
    else:
        order = order_selection(study, choice, budget, source=rows, title=title)
    try:
        ledger.check(*order.charges)
    except BudgetExceeded:
        raise BudgetExceeded(not_enough(Account(ledger), order.budget, command=False)) from None
    return ReportPlan(
        study_file=study_file,
        source=source,
        study=study,
        budget=budget,
        coefficients=both,
        title=title,
        number=1 + max(reports(study_file), default=0),
        family=family,
        order=order,
    )


def consequences(plan: ReportPlan) -> tuple[str, str]:
    """What a release promises to a person, and what it leaves in the ledger at least."""
    ledger = ledger_of(plan.source)
    rest = ledger.remaining().epsilon if ledger else Decimal(0)
    words = promise(plan.guarantee, plan.study.max_rows_per_person, person=plan.study.person is not None)
    return words, plain(max(EXACT.subtract(rest, plan.budget.epsilon), Decimal(0)))


def release(plan: ReportPlan, tell: Tell) -> None:
    """Spend, and write the report to the disk; only then can a page show it."""
    page, values = report_files(plan.study_file, plan.number)
    if page.exists() or values.exists():
        raise DpselectError(f"{page.name} exists already; ask for the cost again.")
    require_writable(page, values)
    order, rows = plan.order, plan.source.rows()
    assert order is not None
    account = Account(ledger_of(plan.source), plan.source.label, analyst())
    tell("The study, the privacy cost and the place for the report were checked. Now the rows are read.")

    def deliver(released: Released) -> None:
        tell("The release was drawn, and is in the ledger together with its charge.")
        write_report(released.analysis, page)

    request = order.request(rows.address, str(plan.source.ledger.absolute()))
    spend(
        order,
        rows.table(order.study),
        account,
        request=request,
        look=lambda: rows.count(order),
        deliver=deliver,
    )
    tell("The report was written to the disk.")


def hand_over_waiting(study_file: Path, source: Source, tell: Tell) -> None:
    """Write a report of each release that was paid for and did not arrive; nothing is charged."""
    ledger = ledger_of(source)

    def deliver(released: Released) -> None:
        write_report(released.analysis, report_files(study_file, 1 + max(reports(study_file), default=0))[0])

    count = 0 if ledger is None else resume(ledger, source.rows().source, deliver)
    tell("Nothing waits." if count == 0 else "What was paid for was written to the disk. Nothing was charged.")


def check_text(text: str, source: Source | None) -> tuple[Check, ...]:
    """Check a report as anybody can, and against the ledger of the rows if there is one."""
    ledger = ledger_of(source)
    with nullcontext() if ledger is None else ledger.session():
        found = verify_text(text, ledger)
    if found.problem is not None and found.problem.what == A_REPORT:
        raise DataError(found.problem.found)
    return found.checks
