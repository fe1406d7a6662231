"""`dpselect analyze`: select variables, estimate their effects, write the public report."""

from __future__ import annotations

from typing import Any

import click

from dpselect.use.shell.help import DoorCommand, advanced
from dpselect.use.shell.options import (
    CSV,
    DEFAULT_DELTA,
    EPSILON,
    FAMILY_CHOICES,
    JSON,
    LEDGER,
    MODEL,
    MOMENTS,
    PLACES,
    QUIET,
    ROWS,
    SHARES,
    STATING,
    YES,
)


@click.command(
    "analyze",
    cls=DoorCommand,
    usage="DATA --response NAME --epsilon E [options]",
    epilog="""\b
Example:
  dpselect analyze people.csv --response income --epsilon 1
  dpselect analyze people.csv --study study.toml --epsilon 1 --yes
  dpselect verify report.html --ledger people.budget.db""",
)
@PLACES
@EPSILON
@click.option("--delta", default=DEFAULT_DELTA, show_default=True, metavar="D", help="Chance that the promise fails.")
@STATING
@ROWS
@MODEL
@SHARES
@advanced("--level", section="Model", type=float, default=0.95, show_default=True, help="Level of the intervals.")
@advanced(
    "--family",
    section="Model",
    type=click.Choice(FAMILY_CHOICES),
    default=None,
    help="gaussian: effects in the response's units; binomial: odds ratios; poisson: rate ratios.  [default: by the response]",
)
@advanced("--title", section="Output", default="", help="The report's headline.")
@LEDGER
@CSV
@MOMENTS
@click.option("-o", "--output", metavar="FILE", default="report.html", show_default=True, help="Report to write.")
@advanced(
    "--board",
    section="Output",
    metavar="FILE",
    default=None,
    help="Also write one page for an ethics board, made to be printed.",
)
@YES
@JSON
@QUIET
def command(**options: Any) -> None:
    """Select variables and estimate their effects, then write a public report.

    DATA is a file (CSV, Parquet, Excel, Stata, SPSS, SAS), a folder or a database address. --epsilon is the total privacy cost. By
    default 15-35% pays for the selection and the rest for the effects.
    """
    from dpselect.use.runs.spending import run_analyze

    run_analyze(**options)
