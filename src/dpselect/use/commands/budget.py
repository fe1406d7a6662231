"""`dpselect budget`: what a ledger holds."""

from __future__ import annotations

from typing import Any

import click

from dpselect.use.shell.options import JSON, QUIET


@click.command(
    "budget",
    epilog="""\b
Example:
  dpselect budget people.csv --open --epsilon 3                # state the total, once
  dpselect budget people.csv                                   # what was spent since
  dpselect budget other.budget.db --json                       # a ledger in another place""",
)
@click.argument("file", metavar="DATA|LEDGER")
@click.option("--open", "opens", is_flag=True, help="Open a budget of --epsilon and --delta.")
@click.option("--epsilon", metavar="E", help="With --open: the privacy budget of the data set.")
@click.option(
    "--delta", metavar="D", default=None, help="With --open: the same for delta.  [default: 1e-6 for each 1 of epsilon]"
)
@JSON
@QUIET
def command(**options: Any) -> None:
    """Show the privacy budget of DATA: what was spent, when, on what and by whom. A ledger file may be given instead."""
    from dpselect.use.runs.budget import run_budget

    run_budget(**options)
