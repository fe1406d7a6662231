"""`dpselect verify`: check a report as a stranger would."""

from __future__ import annotations

from pathlib import Path

import click

from dpselect.errors import DataError
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.verify.verify import check_report
from dpselect.use.shell.options import JSON, QUIET
from dpselect.use.shell.terminal import answer_json, tell, visible


@click.command(
    "verify",
    epilog="""\b
Example:
  dpselect verify report.json
  dpselect verify report.html --ledger study.budget.db""",
)
@click.argument("report", metavar="REPORT", type=click.Path())
@click.option("--ledger", metavar="FILE", default=None, help="Also check that this ledger still holds the charge.")
@JSON
@QUIET
def command(report: str, ledger: str | None, as_json: bool, quiet: bool) -> None:
    """Check REPORT (the JSON or the HTML file): its hashes, its model, its price, and its place in the ledger.

    Everything is computed anew from the public statements in the report. Exit code 0 if all holds, 2 if not.
    """
    try:
        text = Path(report).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{report!r} is not text: give the JSON or the HTML file of a report.") from None
    checks = check_report(text, Ledger(ledger, announce=tell) if ledger is not None else None)
    failed = [check for check in checks if not check.holds]
    if as_json:
        answer_json(
            {
                "holds": not failed,
                "checks": [{"what": each.what, "holds": each.holds, "found": each.found} for each in checks],
            }
        )
    elif not quiet:
        for each in checks:
            mark = click.style("holds", fg="green") if each.holds else click.style("FAILS", fg="red", bold=True)
            click.echo(f"{mark}  {each.what}: {visible(each.found)}")
    if failed:
        raise DataError(f"{report!r} does not verify: it is not true that {failed[0].what}. Ask its publisher.")
    if not as_json:
        click.echo(f"{report} verifies.")
