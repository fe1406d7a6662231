"""`dpselect select`: which variables explain the response, and in which direction."""

from __future__ import annotations

from typing import Any

import click

from dpselect.use.shell.help import DoorCommand
from dpselect.use.shell.options import (
    CSV,
    DELTA,
    EPSILON,
    JSON,
    LEDGER,
    MODEL,
    MOMENTS,
    PLACES,
    QUIET,
    ROWS,
    STATING,
    YES,
)


@click.command(
    "select",
    cls=DoorCommand,
    usage="DATA --response NAME --epsilon E [options]",
    epilog="""\b
Example:
  dpselect select people.csv --response income --epsilon 1
  dpselect select people.csv --response income --predictors age,school --categories sex=m,f --epsilon 1 --yes
  dpselect select people.csv --study study.toml --epsilon 1""",
)
@PLACES
@EPSILON
@STATING
@ROWS
@DELTA
@MODEL
@LEDGER
@CSV
@MOMENTS
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default=None,
    help="Report to write (.html), or its JSON alone.  [default: selection.html; none with --json or --quiet]",
)
@YES
@JSON
@QUIET
def command(**options: Any) -> None:
    """Select the variables that explain the response, and their directions.

    DATA is a file (CSV, Parquet, Excel, Stata, SPSS, SAS), a folder or a database address. The answer is public, and is kept in
    a report. No ranges are needed: without a study file you confirm what the columns hold.
    """
    from dpselect.use.runs.spending import run_select

    run_select(**options)
