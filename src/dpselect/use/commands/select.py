"""`dpselect select`: one private choice, charged and shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpselect.assume.study import Study
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.selection import Selection
from dpselect.report.terminal import analysis_lines
from dpselect.use.commands.analyze import RESUMED
from dpselect.use.order import order_selection
from dpselect.use.sealed import Released
from dpselect.use.shell.files import WAITS, require_apart, require_writable, write_release
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
    YES,
    LedgerOptions,
    Settings,
    study_and_data,
)
from dpselect.use.shell.sources import Rows
from dpselect.use.shell.terminal import answer_json, show_answer, tell, visible
from dpselect.use.spend import resume, spend


@click.command(
    "select",
    epilog="""\b
Example:
  dpselect select people.csv --study study.toml --epsilon 1
  dpselect select people.csv --study study.toml --epsilon 1 --method pcpl --delta 1e-6 --yes --json""",
)
@PLACES
@EPSILON
@DELTA
@MODEL
@LEDGER
@CSV
@MOMENTS
@click.option("-o", "--output", metavar="FILE", help="Also write the release as JSON, for `dpselect verify`.")
@JSON
@QUIET
@YES
def command(
    places: tuple[str, ...],
    study: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
    yes: bool,
    **options: Any,
) -> None:
    """Choose a model from the rows in DATA, and charge the ledger.

    What comes out may be published: the chosen variables, the price and the study. The rows and everything that was
    computed from them stay inside.
    """
    study_file, data = study_and_data(places, study)
    stated = Study.read(study_file)
    ledger, rows = LedgerOptions.from_options(data, options), Rows.from_options(data, options)
    settings = Settings(**options)
    files = [] if output is None else [Path(output)]
    require_writable(*files)
    require_apart(files, [(study_file, "the study"), *ledger.files, *rows.files])
    choice, budget = settings.choice, settings.budget
    order = order_selection(stated, choice, budget, source=rows.source)
    account, request = ledger.account(budget, rows.label), order.request(rows.address, ledger.place)

    def deliver(released: Released) -> None:
        selection = released.selection
        assert selection is not None
        write_release([(path, selection.to_json() + "\n") for path in files])
        otherwise = f"It is in {output}." if files else WAITS  # what is only shown has not arrived before it is seen
        show_answer(lambda: _show(selection, as_json, quiet), otherwise)

    table = rows.table(stated)
    if isinstance(account.ledger, Ledger) and resume(account.ledger, table, deliver, request=request):
        tell(RESUMED)
        return
    spend(
        order,
        table,
        account,
        request=request,
        look=lambda: rows.count(order),
        confirm=lambda: ledger.confirm(account, budget, yes),
        deliver=deliver,
        reading=lambda: rows.reading(stated, quiet),
    )


def _show(selection: Selection, as_json: bool, quiet: bool) -> None:
    if as_json:
        answer_json(selection.to_dict())
    elif quiet:
        click.echo(selection.formula)
    else:
        analysis = AnalysisRecord(title="", made="", selection=selection, coefficients=None)
        click.echo("\n".join(map(visible, analysis_lines(analysis))))
