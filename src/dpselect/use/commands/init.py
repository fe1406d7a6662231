"""`dpselect init`: a study file to fill in."""

from __future__ import annotations

from typing import Any

import click

from dpselect.use.shell.help import DoorCommand, advanced
from dpselect.use.shell.options import CSV, QUIET


@click.command(
    "init",
    cls=DoorCommand,
    usage="DATA --response NAME [options]",
    epilog="""\b
Example:
  dpselect init people.csv --response income
  dpselect init people.sav --response income --codebook book.csv
  dpselect init --from selection.json""",
)
@click.argument("data", metavar="DATA", required=False)
@click.option("--response", metavar="NAME", help="The variable to explain.")
@click.option(
    "--codebook", metavar="FILE", help="A CSV file: name, lower, upper, categories (a; b), label, unit, reason."
)
@click.option("--from", "selected", metavar="FILE", help="Only the variables of this selection.json or report.json.")
@click.option(
    "-o", "--output", metavar="FILE", default="study.toml", show_default=True, help="The study file to write."
)
@click.option("--force", is_flag=True, help="Overwrite an existing study file.")
@advanced("--schema", section="Output", is_flag=True, help="Print the JSON Schema of study files, for editors.")
@CSV
@QUIET
def command(**options: Any) -> None:
    """Write a study file for DATA: labels, units, ranges, categories. Optional: a selection needs none.

    Names and types are all that is looked at. Ranges and categories are never read from the rows; a code book may state them.
    """
    from dpselect.use.runs.study import run_init

    run_init(**options)
