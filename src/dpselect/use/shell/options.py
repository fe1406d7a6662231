"""Options that several commands share, so that one word means one thing in all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from dpselect.assume.models.choice import MECHANISMS, METHODS

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]

STUDY = click.argument("study", metavar="STUDY", type=click.Path())
DATA = click.argument("data", metavar="DATA")
JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="The answer alone, in one line.")
YES = click.option("-y", "--yes", is_flag=True, help="Do not ask before charging.")
EPSILON = click.option("--epsilon", required=True, metavar="E", help="The whole price of this run; 0.1 to 10 is usual.")
DELTA = click.option("--delta", default=None, metavar="D", help="Only for pcpl and for Gaussian noise; 1e-6 is usual.")
METHOD = click.option(
    "--method", type=click.Choice(METHODS), default="votes", show_default=True, help="How models are scored."
)
MECHANISM = click.option(
    "--mechanism",
    type=click.Choice(MECHANISMS),
    default="permute-and-flip",
    show_default=True,
    help="How the choice is drawn.",
)
PENALTY = click.option(
    "--penalty",
    metavar="PHI",
    default=None,
    help="What a column costs: a number, aic or bic. By default a public formula decides.",
)
MAX_SIZE = click.option(
    "--max-size",
    type=click.IntRange(min=0),
    metavar="K",
    default=None,
    help="At most K columns besides those always in.",
)
LEDGER = click.option(
    "--ledger",
    metavar="FILE",
    default=None,
    help="The ledger to charge. By default it stands beside the study file: study.toml has study.budget.db.",
)


def together(*decorators: Decorator[Any]) -> Decorator[Command]:
    """Several options as one, in reading order."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


CSV = together(
    click.option(
        "--delimiter", metavar="C", default=None, help="CSV: what stands between cells (a comma unless stated)."
    ),
    click.option(
        "--encoding", metavar="NAME", default=None, help="CSV: such as latin-1 or cp1252 (utf-8 unless stated)."
    ),
    click.option("--decimal", metavar="C", default=None, help="CSV: the decimal point (a point unless stated)."),
)
"""How a text file is written."""

MOMENTS = click.option(
    "--moments",
    metavar="FILE",
    default=None,
    help="Instead of DATA: the answer to the query of `dpselect sql`, as CSV.",
)
OPTIONAL_DATA = click.argument("data", metavar="[DATA]", required=False)

MODEL = together(METHOD, MECHANISM, PENALTY, MAX_SIZE)
"""What decides which model wins, price apart."""

TUNE = click.option(
    "--tune",
    is_flag=True,
    help="With --method pcls: buy bounds for the response first, for a small share of epsilon, and choose within them.",
)

TOTALS = together(
    click.option(
        "--total-epsilon", metavar="E", default=None, help="What a new ledger allows in all (10 unless stated)."
    ),
    click.option(
        "--total-delta", metavar="D", default=None, help="What a new ledger allows in all (1e-5 unless stated)."
    ),
)


def penalty_of(text: str | None) -> float | str | None:
    """A penalty as `select` takes it."""
    if text is None or text in ("aic", "bic"):
        return text
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number nor aic nor bic.", param_hint="'--penalty'") from None
