"""`dpselect check`: whether the data fit, and what a run would select; confidential."""

from __future__ import annotations

from typing import Any

import click

from dpselect.use.shell.help import DoorCommand, advanced
from dpselect.use.shell.options import CSV, JSON, MODEL, PLACES, QUIET, ROWS, RUN, SHARES, STATING


@click.command(
    "check",
    cls=DoorCommand,
    usage="DATA --response NAME --epsilon E [options]",
    epilog="""\b
Example:
  dpselect check people.csv --response income --epsilon 1 --run select
  dpselect check people.csv --study study.toml --epsilon 1 -o confidential.html
  dpselect check people.csv --study study.toml --epsilon 1 --model age+income""",
)
@PLACES
@click.option("--epsilon", metavar="E", default=None, help="Also preview a run at this privacy cost.")
@STATING
@ROWS
@advanced(
    "--delta",
    section="Privacy",
    default=None,
    metavar="D",
    help="Chance that the promise fails.  [default: 1e-6 with --run analyze, none with --run select]",
)
@RUN
@SHARES
@advanced(
    "--model",
    "models",
    section="Output",
    metavar="A+B",
    multiple=True,
    help="Also show the chance of this model; may be repeated.",
)
@MODEL
@CSV
@click.option("-o", "--output", metavar="FILE", help="Write the confidential page, HTML. Do not publish it.")
@JSON
@QUIET
def command(**options: Any) -> None:
    """Check the data and preview the result (confidential; spends nothing).

    With --epsilon it previews what `analyze` with the same options would select, or `select` with --run select. The answer is
    computed from the rows without noise. Do not publish it. Change ranges only for reasons that do not come from this page.
    """
    from dpselect.use.runs.check import run_check

    run_check(**options)
