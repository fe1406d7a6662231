"""`dpselect verify`: check a report as a stranger would."""

from __future__ import annotations

import click

from dpselect.errors import ProblemFound
from dpselect.release.checks import Answer, Check
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.verify.form import report_schema
from dpselect.use.shell.options import JSON, QUIET
from dpselect.use.shell.terminal import answer_json, tell, visible
from dpselect.use.verify import A_REPORT, verify


@click.command(
    "verify",
    epilog="""\b
Example:
  dpselect verify report.json
  dpselect verify report.html --ledger people.budget.db
  dpselect verify --schema > report.schema.json""",
)
@click.argument("report", metavar="REPORT", type=click.Path(), required=False)
@click.option("--ledger", metavar="FILE", default=None, help="Also check that this ledger still holds the charge.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of report.json instead.")
@JSON
@QUIET
def command(report: str | None, ledger: str | None, schema: bool, as_json: bool, quiet: bool) -> None:
    """Check REPORT (the JSON or the HTML file): its form, its hashes, its model, its price, and its place in the ledger.

    Everything is computed anew from the public statements in the report. The answer is yes (exit code 0), no, or not
    checked, where another version made what this one cannot know (exit code 4).
    """
    if schema:
        answer_json(report_schema())
        return
    if report is None:
        raise click.UsageError("Give the REPORT to verify, the JSON or the HTML file.")
    found = verify(report, Ledger(ledger, announce=tell) if ledger is not None else None)
    answer = found.answer
    if as_json:
        listed = [
            {"what": each.what, "answer": each.answer, "holds": each.holds, "found": each.found}
            for each in found.checks
        ]
        answer_json({"holds": answer == "yes", "answer": answer, "checks": listed})
    elif not quiet:
        for each in found.checks:
            click.echo(f"{_MARKS[each.answer]()}  {each.what}: {visible(each.found)}")
    if found.problem is not None:
        raise ProblemFound(_refusal(report, answer, found.problem))
    if not as_json:
        more = "" if ledger is not None else " (its receipts were not looked up: --ledger does that)"
        click.echo(f"{report} verifies{'' if quiet else more}.")


_MARKS = {
    "yes": lambda: click.style("holds", fg="green"),
    "no": lambda: click.style("FAILS", fg="red", bold=True),
    "not checked": lambda: click.style("not checked", fg="yellow"),
}


def _refusal(report: str, answer: Answer, which: Check) -> str:
    if answer == "not checked":
        return f"{report!r} holds as far as it was checked, but not checked is whether {which.what}: {visible(which.found)}."
    if which.what == A_REPORT:
        return f"{report!r} does not verify: {visible(which.found)}"
    return f"{report!r} does not verify: it is not true that {which.what}. Ask its publisher."
