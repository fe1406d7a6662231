"""`dpselect select`: one private choice, charged and shown."""

from __future__ import annotations

import click

from dpselect.assume.models import Subsets
from dpselect.assume.recipe import Recipe, make_recipe
from dpselect.release.selection import Selection
from dpselect.report.text import selection_text
from dpselect.use.analysis import gather, select
from dpselect.use.commands.files import require_writable, write_text
from dpselect.use.commands.ledgers import analyst, confirm_charge, ledger_path, must_ask, open_ledger
from dpselect.use.commands.options import (
    DATA,
    DELTA,
    EPSILON,
    JSON,
    LEDGER,
    MODEL,
    QUIET,
    STUDY,
    TOTALS,
    YES,
    penalty_of,
)
from dpselect.use.commands.sources import label, open_source
from dpselect.use.commands.study import read_study
from dpselect.use.commands.terminal import waiting


@click.command(
    "select",
    epilog="""\b
Example:
  dpselect select study.toml people.csv --epsilon 1
  dpselect select study.toml people.csv --epsilon 1 --method pcpl --delta 1e-6 --yes --json""",
)
@STUDY
@DATA
@EPSILON
@DELTA
@MODEL
@LEDGER
@TOTALS
@click.option("-o", "--output", metavar="FILE", help="Also write the release as JSON, for `dpselect verify`.")
@JSON
@QUIET
@YES
def command(
    study: str,
    data: str,
    epsilon: str,
    delta: str | None,
    method: str,
    mechanism: str,
    penalty: str | None,
    max_size: int | None,
    ledger: str | None,
    total_epsilon: str | None,
    total_delta: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
    yes: bool,
) -> None:
    """Choose a model for STUDY from the rows in DATA, and charge the ledger.

    What comes out may be published: the chosen variables, the price, the assumptions. The rows, their number where it
    is secret, and the losses of the models stay inside.
    """
    assumptions = read_study(study)
    settings = {
        "epsilon": epsilon,
        "delta": delta or 0,
        "method": method,
        "mechanism": mechanism,
        "candidates": Subsets(max_size=max_size),
        "penalty": penalty_of(penalty),
    }
    # All that can be refused is refused here, before a row is read and before anything is charged.
    make_recipe(assumptions, rows=1, **settings)
