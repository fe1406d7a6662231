"""`dpselect verify`: verify a report independently."""

from __future__ import annotations

import click

from dpselect.errors import ProblemFound
from dpselect.release.checks import Answer, Check
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.form import report_schema
from dpselect.use.shell.options import JSON, QUIET
from dpselect.use.shell.terminal import answer_json, tell, visible
from dpselect.use.verify import A_REPORT, ANSWER_WORDS, verify


@click.command(
    "verify",
    epilog="""\b
Example:
  dpselect verify report.json
  dpselect verify report.html --ledger people.budget.db
  dpselect verify --schema > report.schema.json""",
)
@click.argument("report", metavar="REPORT", type=click.Path(), required=False)
@click.option("--ledger", metavar="FILE", default=None, help="Also check the ledger entries of the report.")
@click.option("--details", is_flag=True, help="Show every check, not only the main ones.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of report.json instead.")
@JSON
@QUIET
def command(report: str | None, ledger: str | None, details: bool, schema: bool, as_json: bool, quiet: bool) -> None:
    """Verify a report independently: REPORT is the JSON or the HTML file.

    Every number and the privacy cost are computed again from the report itself. The answer is OK (exit code 0), FAILED, or
    not checked, where another version made the report (exit code 4).
    """
    if schema:
        answer_json(report_schema())
        return
    if report is None:
        raise click.UsageError("Give the REPORT to verify, the JSON or the HTML file.")
    found = verify(report, Ledger(ledger, announce=tell) if ledger is not None else None)
    answer, count = found.answer, len(found.checks)
    if as_json:
        listed = [{"what": each.what, "answer": each.answer, "found": each.found} for each in found.checks]
        answer_json({"answer": answer, "checks": listed})
    elif found.problem is not None and found.problem.what == A_REPORT:
        click.echo(f"{report}: {_mark('failed')}")
    else:
        failed = sum(each.answer == answer for each in found.checks)
        of = f"{count} checks" if answer == "ok" else f"{failed} of {count} checks"
        click.echo(f"{report}: {_mark(answer)} ({of})")
        shown = [each for each in found.checks if details or each.answer != "ok" or each.what in MAIN_CHECKS]
        for each in shown if not quiet else ():
            click.echo(f"  {_mark(each.answer)}  {each.what}: {visible(each.found)}")
        if not quiet:
            click.echo("Not checkable from a report: that ranges and categories were stated before the data were read.")
            if ledger is None:
                click.echo("Not compared with the release: any consistent report passes. Add --ledger FILE.")
            if len(shown) < count:
                click.echo(f"Every one of the {count} checks: add --details.")
    if found.problem is not None:
        raise ProblemFound(_refusal(answer, found.problem))


MAIN_CHECKS = (
    "privacy cost",
    "sensitivity is sufficient",
    "noise scale matches the cost",
    "effects follow from the released sums",
    "report is the release in the ledger",
)
"""What an answer of OK is told with; all others are shown where they fail, or are asked for."""

_COLORS = {"ok": "green", "failed": "red", "not checked": "yellow"}


def _mark(answer: Answer) -> str:
    return click.style(ANSWER_WORDS[answer], fg=_COLORS[answer], bold=answer == "failed")


def _refusal(answer: Answer, which: Check) -> str:
    if which.what == A_REPORT:
        return visible(which.found)
    if answer == "not checked":
        return f"Not checked: {which.what} ({visible(which.found)})."
    if which.what.startswith(("ledger", "receipt")):
        return "This report does not match the ledger. Ask its publisher."
    return "This report was changed after its release. Ask its publisher."
