"""What `select` and `analyze` do: state, check, ask, spend and show; and `resume`, which hands over what was paid for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from dpselect.errors import BudgetExceeded, DataError, LedgerError, NotConfirmed, StudyError
from dpselect.gather.rows import has_rows_again
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.selection import Selection
from dpselect.report.page import analysis_lines
from dpselect.use.order import Order, order_analysis, order_selection
from dpselect.use.shell.confirm import confirm
from dpselect.use.shell.files import WAITS, report_files, require_apart, require_writable, write_release, write_report
from dpselect.use.shell.ledgers import LedgerOptions, ledger_place, not_enough
from dpselect.use.shell.options import parse_split
from dpselect.use.shell.sources import Rows, Settings, Stated
from dpselect.use.shell.terminal import answer_json, hint, show_answer, tell, visible
from dpselect.use.spend import Deliver, Released, resume, spend


def show_selection(selection: Selection, files: Sequence[Path], as_json: bool, quiet: bool) -> None:
    """Which variables were selected, in which direction, what that cost, and where it is kept."""
    if as_json:
        answer_json(selection.to_dict())
    elif quiet:
        click.echo(selection.formula)
    else:
        analysis = AnalysisRecord(title="", made="", selection=selection, coefficients=None)
        _show_lines(analysis)
        _show_files(files)
        if len(files) > 1:
            hint(f"dpselect verify {files[0]}")


def _show_files(files: Sequence[Path]) -> None:
    if files:
        both = " (both public)" if len(files) > 1 else " (public)"
        click.echo(f"Wrote {', '.join(map(str, files))}{both}.")


def _show_lines(analysis: AnalysisRecord) -> None:
    """Not by click, which writes UTF-8 where the locale says ASCII: labels may hold any letter."""
    print("\n".join(map(visible, analysis_lines(analysis))))


def show_report(analysis: AnalysisRecord, page: Path, as_json: bool, quiet: bool) -> None:
    """What was selected, how large each effect is, what that cost, and where the report is."""
    if as_json:
        answer_json(analysis.to_dict())
        return
    if quiet:
        click.echo(analysis.selection.formula)
        return
    _show_lines(analysis)
    _show_files([page, page.with_suffix(".json")])
    hint(f"dpselect verify {page}")


RESUMED = (
    "An earlier run paid for this and was stopped: it is handed over now, and nothing was spent. Run again for another."
)
NOTHING_SPENT = "Nothing was spent."


def run_select(
    places: tuple[str, ...], *, output: str | None, as_json: bool, quiet: bool, yes: bool, **options: Any
) -> None:
    """`dpselect select`: the answer is shown and kept in a page; a script, which takes it from the terminal, names its file."""
    if output is None and not (as_json or quiet):
        output = "selection.html"
    page = None if output is None or not _is_page(output) else Path(output)
    with _Run() as run:
        run.state(places, options, report_files(page) if page else [] if output is None else [Path(output)])
        if output is not None and page is None and Path(output).suffix != ".json":
            raise StudyError(f"{output!r} has no known ending. End it in .html for a report, or in .json.")
        settings = Settings(**options)
        run.order = order_selection(run.stated.study, settings.choice, settings.budget, source=run.rows.source)

        def deliver(released: Released) -> None:
            selection = released.selection
            assert selection is not None
            if page:
                write_report(released.analysis, page)
            else:
                write_release([(path, selection.to_json() + "\n") for path in run.files])
            otherwise = (
                f"It is in {output}." if output else WAITS
            )  # what is only shown has not arrived before it is seen
            show_answer(lambda: show_selection(selection, run.files, as_json, quiet), otherwise)

        run.spend(deliver, yes=yes, quiet=quiet)


def _is_page(output: str) -> bool:
    return Path(output).suffix in (".html", ".htm")


def _page(output: str) -> Path:
    if not _is_page(output):
        raise StudyError(f"The report {output!r} must end in .html; the JSON file beside it is named after it.")
    return Path(output)


def run_analyze(
    places: tuple[str, ...],
    *,
    split: str | None,
    level: float,
    family: Any,
    title: str,
    output: str,
    board: str | None,
    as_json: bool,
    quiet: bool,
    yes: bool,
    **options: Any,
) -> None:
    """`dpselect analyze`."""
    with _Run() as run:
        page = _page(output)
        run.state(places, options, report_files(page, board))
        settings = Settings(**options)
        run.order = order_analysis(
            run.stated.study,
            settings.choice,
            settings.budget,
            source=run.rows.source,
            split=parse_split(split),
            level=level,
            family=family,
            rows_again=has_rows_again(run.rows.table(run.stated.study)),
            title=title,
        )
        arrived: list[AnalysisRecord] = []

        def deliver(released: Released) -> None:
            write_report(released.analysis, page, board)
            arrived.append(released.analysis)

        resumed = run.spend(deliver, yes=yes, quiet=quiet)
        analysis = arrived[-1]
        show_answer(lambda: show_report(analysis, page, as_json, quiet), f"It is in {page}.")
        if resumed:
            tell(RESUMED)


def _entries(ledger: Ledger | None) -> int:
    return 0 if ledger is None else len(ledger.entries())


def run_resume(place: str, ledger: str | None, output: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """`dpselect resume`."""
    chosen = LedgerOptions(ledger or ledger_place(place))
    rows = None if chosen.path == place else Rows.from_options(place, options)
    page = _page(output)
    require_writable(*report_files(page))
    require_apart(report_files(page), [*chosen.files, *(rows.files if rows else [])])
    opened = chosen.existing()
    if opened is None:
        raise LedgerError(f"There is no ledger {chosen.shown!r}: name it with --ledger.")
    arrived: list[tuple[Released, Path]] = []

    def deliver(released: Released) -> None:
        # Of several that waited each has a page of its own: report.html, report-2.html, ...
        own = page if not arrived else page.with_stem(f"{page.stem}-{len(arrived) + 1}")
        write_report(released.analysis, own)
        arrived.append((released, own))

    count = resume(opened, None if rows is None else rows.source, deliver)
    if count == 0:
        if as_json:
            answer_json([])
        elif not quiet:
            click.echo(f"{chosen.shown}: nothing waits. Everything that was paid for has arrived.")
        return
    for each, own in arrived:
        analysis = each.analysis
        show_answer(lambda: show_report(analysis, own, as_json, quiet), f"It is in {own}.")  # noqa: B023


class _Run:
    """One run of a command that spends; a refusal says whether anything was spent."""

    stated: Stated
    ledger: LedgerOptions
    rows: Rows
    order: Order
    files: list[Path]

    def __init__(self) -> None:
        self._open = ExitStack()
        self._found: Ledger | None = None
        self._before: int | None = None

    def state(self, places: tuple[str, ...], options: dict[str, Any], files: list[Path]) -> None:
        """What is asked, of which rows, charged to which ledger and written where; the options about these are taken out."""
        self.files = files
        self.stated = Stated.from_options(places, options)
        self.ledger = LedgerOptions.from_options(self.stated.data, options)
        self.rows = Rows.from_options(self.stated.data, options)
        self._found = self.ledger.existing()
        if self._found is not None:
            self._open.enter_context(self._found.session())
        self._before = _entries(self._found)
        require_writable(*files)
        require_apart(files, [*self.stated.files, *self.ledger.files, *self.rows.files])

    def spend(self, deliver: Deliver, *, yes: bool, quiet: bool) -> bool:
        """Ask and spend, or hand over what an earlier run paid for; says whether it did the latter."""
        order, study, rows = self.order, self.order.study, self.rows
        account = self.ledger.account(self._found, order.budget, rows.label)
        request = order.request(rows.address, self.ledger.place)
        table = rows.table(study)
        if isinstance(account.ledger, Ledger) and resume(account.ledger, table, deliver, request=request):
            if order.estimating is None:
                tell(RESUMED)
            return True
        counted: list[int | None] = [None]

        def look() -> int | None:
            counted[0] = rows.count(order)
            return counted[0]

        def ask() -> None:
            confirm(
                order,
                self.ledger,
                account,
                yes=yes,
                proposal=self.stated.proposal,
                label=rows.label,
                rows=counted[0],
                quiet=quiet,
            )

        try:
            spend(
                order,
                table,
                account,
                request=request,
                look=look,
                confirm=ask,
                deliver=deliver,
                reading=lambda: rows.reading(study, quiet, order.work),
            )
        except BudgetExceeded:
            raise BudgetExceeded(not_enough(account, order.budget)) from None
        return False

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        """Say of a refusal that nothing was spent, where the ledger has no more entries than before."""
        with self._open:
            self._tell_what_was_spent(problem)

    def _tell_what_was_spent(self, problem: BaseException | None) -> None:
        if not isinstance(problem, StudyError | DataError | LedgerError | BudgetExceeded | NotConfirmed):
            return
        text = " ".join(str(problem).split())
        if NOTHING_SPENT in text or hasattr(problem, "__notes__"):
            return
        if self._before is None or self._as_before():
            end = "" if text.endswith((".", "?", "!")) else "."
            raise type(problem)(f"{text}{end} {NOTHING_SPENT}") from None

    def _as_before(self) -> bool:
        """Whether the ledger has no more entries than before; of one that cannot be read any more nothing is claimed."""
        try:
            return _entries(self._found or self.ledger.existing()) == self._before
        except LedgerError:
            return False
