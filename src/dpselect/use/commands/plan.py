"""`dpselect plan`: what to expect, from public facts alone."""

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
    METHOD,
    PLACES,
    QUIET,
    RUN,
    SHARES,
    STATING,
)


@click.command(
    "plan",
    cls=DoorCommand,
    usage="DATA --response NAME --rows N --epsilon E [options]",
    epilog="""\b
Example:
  dpselect plan people.csv --response income --rows 5000 --epsilon 1
  dpselect plan people.csv --study study.toml --rows 5000 --epsilon 1 --r2 0.2 -o plan
  dpselect plan people.csv --study study.toml --rows 5000 --epsilon 1 --method pcls --effects 10,5,0 --deviation 8""",
)
@PLACES
@STATING
@CSV
@click.option(
    "--rows", type=click.IntRange(min=2), metavar="N", help="About how many rows there are, unless the study says so."
)
@EPSILON
@METHOD
@click.option(
    "--r2",
    type=float,
    metavar="R2",
    help="About what the variables explain of the variance, as in reports on similar data.",
)
@RUN
@click.option("--delta", metavar="D", default=DEFAULT_DELTA, show_default=True, help="Chance that the promise fails.")
@SHARES
@advanced(
    "--family",
    section="Model",
    type=click.Choice(FAMILY_CHOICES),
    default=None,
    help="gaussian, binomial or poisson, as in `analyze`.  [default: by the response]",
)
@advanced(
    "--effects",
    section="Method",
    metavar="A,B,...",
    help="pcls, pcpl: supposed effects of the variables, each scaled to [-1, 1].",
)
@advanced(
    "--deviation",
    section="Method",
    type=float,
    metavar="S",
    help="pcls, pcpl: supposed standard deviation of the noise.",
)
@click.option("--details", is_flag=True, help="Every scenario, other numbers of rows and other values of epsilon.")
@click.option("-o", "--output", metavar="NAME", help="Also draw the curves: NAME.png and NAME.svg.")
@JSON
@QUIET
def command(**options: Any) -> None:
    """Estimate what a run would find, without reading the data; DATA may be left out.

    It says how much of the variance the selected model should explain, the smallest detectable effect, and the length of intervals.
    """
    from dpselect.use.runs.plan import run_plan

    run_plan(**options)
