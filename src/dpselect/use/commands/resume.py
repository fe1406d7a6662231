"""`dpselect resume`: hand over what was paid for and did not arrive."""

from __future__ import annotations

from typing import Any

import click

from dpselect.use.shell.options import CSV, JSON, QUIET


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
def command(**options: Any) -> None:
    """Hand over the releases that were paid for and did not arrive, because a run was stopped. Nothing is charged.

    Each becomes a report. A run that was stopped between the rounds of its coefficients needs DATA to go on.
    """
    from dpselect.use.runs.spending import run_resume

    run_resume(**options)
