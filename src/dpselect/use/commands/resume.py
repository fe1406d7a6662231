"""`dpselect resume`: hand over what was paid for and did not arrive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpselect.errors import LedgerError, StudyError
from dpselect.use.commands.spending import show_report
from dpselect.use.shell.files import report_files, require_apart, require_writable, write_report
from dpselect.use.shell.ledgers import LedgerOptions, ledger_place
from dpselect.use.shell.options import CSV, JSON, QUIET
from dpselect.use.shell.sources import Rows
from dpselect.use.shell.terminal import answer_json, show_answer
from dpselect.use.spend import Released, resume


@click.command(
    "resume",
    epilog="""\b
Example:
  dpselect resume people.csv                          # from the ledger beside it, people.budget.db
  dpselect resume people.budget.db -o report.html""",
)
@click.argument("place", metavar="DATA|LEDGER")
@click.option("--ledger", metavar="FILE", default=None, help="The ledger, if it is not beside DATA.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="report.html",
    show_default=True,
    help="The page; report.json is written beside it.",
)
@CSV
@JSON
@QUIET
def command(place: str, ledger: str | None, output: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Hand over the releases that were paid for and did not arrive, because a run was stopped. Nothing is charged.

    Each becomes a report. A run that was stopped between the rounds of its coefficients needs DATA to go on.
    """
    chosen = LedgerOptions(ledger or ledger_place(place))
    rows = None if chosen.path == place else Rows.from_options(place, options)
    page = Path(output)
    if page.suffix not in (".html", ".htm"):
        raise StudyError(f"The report {output!r} must end in .html; the JSON file beside it is named after it.")
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
