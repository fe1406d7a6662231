"""`dpselect verify`: check a report as a stranger would."""

from __future__ import annotations

from pathlib import Path

import click

from dpselect.errors import DataError
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.verify.answers import Answer, Check, overall
from dpselect.report.verify.form import LARGEST, schema_text
from dpselect.report.verify.verify import DISGUISED, check_report, is_disguised
from dpselect.use.shell.options import JSON, QUIET
from dpselect.use.shell.terminal import answer_json, tell, visible


@click.command(
    "verify",
    epilog="""\b
Example:
  dpselect verify report.json
  dpselect verify report.html --ledger study.budget.db
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
    checked, where another version made what this one cannot know (exit code 2).
    """
    if schema:
        click.echo(schema_text(), nl=False)
        return
    if report is None:
        raise click.UsageError("Give the REPORT to verify, the JSON or the HTML file.")
    checks = _checks(report, Ledger(ledger, announce=tell) if ledger is not None else None)
    answer = overall(checks)
    if as_json:
        listed = [
            {"what": each.what, "answer": each.answer, "holds": each.holds, "found": each.found} for each in checks
        ]
        answer_json({"holds": answer == "yes", "answer": answer, "checks": listed})
    elif not quiet:
        for each in checks:
            click.echo(f"{_MARKS[each.answer]()}  {each.what}: {visible(each.found)}")
    if answer != "yes":
        raise DataError(_refusal(report, answer, checks))
    if not as_json:
        more = "" if ledger is not None else " (its receipts were not looked up: --ledger does that)"
        click.echo(f"{report} verifies{'' if quiet else more}.")


_MARKS = {
    "yes": lambda: click.style("holds", fg="green"),
    "no": lambda: click.style("FAILS", fg="red", bold=True),
    "not checked": lambda: click.style("not checked", fg="yellow"),
}


def _checks(report: str, ledger: Ledger | None) -> list[Check]:
    """What is found; a text that is no report at all is one no."""
    what = "this is a report"
    if Path(report).is_file() and Path(report).stat().st_size > 4 * LARGEST:
        return [Check(what, False, "This is far too long for a dpselect report.")]
    try:
        text = Path(report).read_text(encoding="utf-8")
        if Path(report).suffix.lower() != ".json" and is_disguised(text):
            return [Check(what, False, DISGUISED)]
        return check_report(text, ledger)
    except UnicodeDecodeError:
        return [Check(what, False, "This is not text: give the JSON or the HTML file of a report.")]
    except DataError as problem:
        return [Check(what, False, str(problem))]


def _refusal(report: str, answer: Answer, checks: list[Check]) -> str:
    which = next(each for each in checks if each.answer == answer)
    if answer == "not checked":
        return f"{report!r} holds as far as it was checked, but not checked is whether {which.what}: {visible(which.found)}."
    if which.what == "this is a report":
        return f"{report!r} does not verify: {visible(which.found)}"
    return f"{report!r} does not verify: it is not true that {which.what}. Ask its publisher."
