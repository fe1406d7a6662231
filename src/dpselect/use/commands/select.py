"""`dpselect select`: one private choice, charged and shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpselect.assume.models.budget import Budget
from dpselect.assume.models.choice import Choice
from dpselect.assume.models.recipe import make_recipe
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import AssumptionError
from dpselect.release.account import Account
from dpselect.release.ledger.records import Charge
from dpselect.release.select import selection_charge
from dpselect.release.selection import Selection
from dpselect.release.tune import Tuned
from dpselect.release.tuned_selection import TunedSelection
from dpselect.report.public.text import selection_lines
from dpselect.use.analysis_plan import rows_to_suppose
from dpselect.use.gathering import gather_for
from dpselect.use.select import choose_from
from dpselect.use.select_tuned import tune_and_choose, tuning_charges
from dpselect.use.shell.delivery import deliver, names
from dpselect.use.shell.files import require_apart, require_writable
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
    TUNE,
    YES,
)
from dpselect.use.shell.paid import bounds_text
from dpselect.use.shell.settings import Settings
from dpselect.use.shell.signals import held
from dpselect.use.shell.sources import Rows
from dpselect.use.shell.terminal import answer_json, heading, pairs, tell, waiting
from dpselect.use.statement.study import read_study


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
@TUNE
@click.option("-o", "--output", metavar="FILE", help="Also write the release as JSON, for `dpselect verify`.")
@JSON
@QUIET
@YES
def command(
    study: str, data: str | None, tune: bool, output: str | None, as_json: bool, quiet: bool, yes: bool, **options: Any
) -> None:
    """Choose a model for STUDY from the rows in DATA, and charge the ledger.

    What comes out may be published: the chosen variables, the price and the assumptions. The rows and everything that was
    computed from them stay inside.
    """
    assumptions = read_study(study)
    till, rows = Till.from_options(study, options), Rows.from_options(data, options)
    settings = Settings(**options)
    choice, budget = settings.choice, settings.budget
    charges = _charges(assumptions, choice, budget, tune)
    spare = Path(study).with_suffix(".selection.json")
    files = [] if output is None else [Path(output)]
    require_writable(*files)
    for place in (spare, *files):
        require_apart([place], [(study, "the study"), *till.files, *rows.files])
    rows.check(assumptions)
    till.confirm(budget, yes, *charges)
    if not tune:
        with rows.reading(assumptions, quiet) as progress:
            table = gather_for(rows.table(assumptions), assumptions, choice, budget, progress=progress)
    with held(lambda: f"Stopped; what was paid for is {f'in {names(files)}' if files else 'shown above'}.") as hold:
        account = HeldAccount(till.open(), rows.label, analyst(), hold)
        release: Selection | TunedSelection
        with waiting("Choosing", quiet):
            release = _tuned(rows, assumptions, choice, budget, account, spare) if tune else choose_from(table, account)
        deliver(
            [(path, lambda: release.to_json() + "\n") for path in files],
            lambda: _show(release, till, as_json, quiet),
            release.to_json,
            spare=spare,
        )


def _charges(assumptions: Assumptions, choice: Choice, budget: Budget, tune: bool) -> list[Charge]:
    """What the ledger will be asked for; refused here if the settings cannot be run."""
    supposed = rows_to_suppose(assumptions, choice)
    if not tune:
        recipe = make_recipe(assumptions, choice, rows=supposed, epsilon=budget.epsilon, delta=budget.delta)
        return [selection_charge(recipe)]
    if choice.method != "pcls" or budget.delta or choice.penalty is not None:
        raise AssumptionError(
            "--tune buys bounds for pcls, at a pure price and with the default penalty: add --method pcls, and leave --delta and "
            "--penalty out."
        )
    return [*tuning_charges(assumptions, choice, budget.epsilon, supposed)]


def _tuned(
    rows: Rows, assumptions: Assumptions, choice: Choice, budget: Budget, account: Account, spare: Path
) -> TunedSelection:
    """Buy bounds and choose. Bounds that are paid for are delivered alone if the choice fails after them."""
    bought: list[Tuned] = []
    try:
        source = rows.table(assumptions)
        return tune_and_choose(source, assumptions, choice, budget.epsilon, account, keep=bought.append)
    except BaseException:
        if bought:
            text = bounds_text(bought[0])
            deliver([(spare, lambda: text)], lambda: None, lambda: text, spare=spare)
            tell(f"The bounds were bought and are paid for: {bought[0]}, in {spare}; no model was chosen.")
        raise


def _show(release: Selection | TunedSelection, till: Till, as_json: bool, quiet: bool) -> None:
    selection = release.selection if isinstance(release, TunedSelection) else release
    if as_json:
        answer_json(release.to_dict())
    elif quiet:
        click.echo(selection.formula)
    else:
        click.echo(heading(selection.formula))
        bought = (
            []
            if isinstance(release, Selection)
            else [("in all", str(release.guarantee)), ("bought", str(release.bounds))]
        )
        click.echo(pairs([*bought, *selection_lines(selection), ("ledger", till.shown)]))
