"""`dpselect verify`: verify a report independently."""

from __future__ import annotations

from typing import Any

import click

from dpselect.use.shell.options import JSON, QUIET


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
def command(**options: Any) -> None:
    """Verify a report independently: REPORT is the JSON or the HTML file.

    Every number and the privacy cost are computed again from the report itself. The answer is OK (exit code 0), FAILED, or
    not checked, where another version made the report (exit code 4).
    """
    from dpselect.use.runs.reports import run_verify

    run_verify(**options)
