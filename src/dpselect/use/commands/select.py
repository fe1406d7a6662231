"""`dpselect select`: one private choice, charged and shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpselect.assume.models.recipe import make_recipe
from dpselect.release.select import selection_charge
from dpselect.release.selection import Selection
from dpselect.report.public.text import selection_lines
from dpselect.use.analysis_plan import rows_to_suppose
from dpselect.use.gathering import gather_for
from dpselect.use.select import choose_from
from dpselect.use.shell.delivery import deliver, names
from dpselect.use.shell.files import require_writable
from dpselect.use.shell.ledgers import HeldAccount, Till, analyst
from dpselect.use.shell.options import (
    CSV,
    DELTA,
    EPSILON,
    JSON,
    LEDGER,
    MODEL,
    MOMENTS,
    OPTIONAL_DATA,
    QUIET,
    STUDY,
    TOTALS,
    YES,
)
from dpselect.use.shell.settings import Settings
from dpselect.use.shell.signals import held
from dpselect.use.shell.sources import Rows
from dpselect.use.shell.study import read_study
from dpselect.use.shell.terminal import answer_json, heading, pairs, waiting


@click.command(
    "select",
    epilog="""\b
Example:
  dpselect select study.toml people.csv --epsilon 1
  dpselect select study.toml people.csv --epsilon 1 --method pcpl --delta 1e-6 --yes --json""",
)
@STUDY
@OPTIONAL_DATA
@EPSILON
@DELTA
@MODEL
@LEDGER
@TOTALS
@CSV
@MOMENTS
@click.option("-o", "--output", metavar="FILE", help="Also write the release as JSON, for `dpselect verify`.")
@JSON
@QUIET
@YES
def command(
    study: str, data: str | None, output: str | None, as_json: bool, quiet: bool, yes: bool, **options: Any
) -> None:
    """Choose a model for STUDY from the rows in DATA, and charge the ledger.

    What comes out may be published: the chosen variables, the price and the assumptions. The rows and everything that was
    computed from them stay inside.
    """
    assumptions = read_study(study)
    till, rows = Till.from_options(study, options), Rows.from_options(data, options)
    settings = Settings(**options)
    choice, budget = settings.choice, settings.budget
    supposed = rows_to_suppose(assumptions, choice)
    recipe = make_recipe(assumptions, choice, rows=supposed, epsilon=budget.epsilon, delta=budget.delta)
    spare = Path(study).with_suffix(".selection.json")
    if output is not None:
        require_writable(output)
    rows.check(assumptions)
    till.confirm(budget, yes, selection_charge(recipe))
    with rows.reading(assumptions, quiet) as progress:
        table = gather_for(rows.table(assumptions), assumptions, choice, budget, progress=progress)
    files = [] if output is None else [Path(output)]
    with held(lambda: f"Stopped; what was paid for is {f'in {names(files)}' if files else 'shown above'}.") as hold:
        account = HeldAccount(till.open(), rows.label, analyst(), hold)
        with waiting("Choosing", quiet):
            selection = choose_from(table, account)
        deliver(
            [(path, lambda: selection.to_json() + "\n") for path in files],
            lambda: _show(selection, till, as_json, quiet),
            selection.to_json,
            spare=spare,
        )


def _show(selection: Selection, till: Till, as_json: bool, quiet: bool) -> None:
    if as_json:
        answer_json(selection.to_dict())
    elif quiet:
        click.echo(selection.formula)
    else:
        click.echo(heading(selection.formula))
        click.echo(pairs([*selection_lines(selection), ("ledger", till.shown)]))
