"""`dpselect init`: a study file to fill in."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from dpselect.assume.study import study_schema
from dpselect.errors import DataError, DpselectError
from dpselect.gather.sources.text_form import options_of
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.selection import Selection
from dpselect.use.init import named_and_unnamed, new_study, read_codebook, study_of_selection
from dpselect.use.shell.files import require_apart, require_kind, require_writable, write_text
from dpselect.use.shell.help import DoorCommand, advanced
from dpselect.use.shell.options import CSV, QUIET
from dpselect.use.shell.sources import Rows, csv_form, guessed_form, label, source_of
from dpselect.use.shell.terminal import answer_json, tell, visible


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
def command(
    data: str | None,
    output: str,
    response: str | None,
    codebook: str | None,
    selected: str | None,
    force: bool,
    schema: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write a study file for DATA: labels, units, ranges, categories. Optional: a selection needs none.

    Names and types are all that is looked at. Ranges and categories are never read from the rows; a code book may state them.
    """
    if schema:
        answer_json(study_schema())
        return
    if (data is None) == (selected is None):
        raise click.UsageError("Give DATA, the table that the study is about, or --from selection.json.")
    if Path(output).exists() and not force:
        raise DpselectError(f"{output} exists already. Give another --output, or --force to overwrite it.")
    require_writable(output)
    form: dict[str, str] = {}
    if data is None:
        assert selected is not None
        require_apart([output], [(selected, "the selection")])
        text, told = study_of_selection(_read_selection(selected)), f"from {selected}"
    else:
        text, told, form = _of_data(data, output, response, codebook, csv_form(options))
    if Path(output).suffix != ".toml":
        require_kind(output, b"[response]", "a study file")
    write_text(output, text)
    if quiet:
        click.echo(output)
        return
    lines = text.splitlines()
    tables = sum(line.startswith(("[response]", "[[predictors]]")) for line in lines)
    click.echo(f"Wrote {output}: {tables} variables{told and f', {told}'}.")
    todo = [str(number) for number, line in enumerate(lines, 1) if '"?"' in line.partition("#")[0]]
    if todo:
        click.echo(
            f'To do: replace "?" in line{"s" * (len(todo) > 1)} {", ".join(todo[:12])}{", ..." * (len(todo) > 12)}.'
        )
    click.echo("Ranges are optional. They can make intervals shorter; never look them up in the data.")
    place = shlex.quote(data) if data is not None else "DATA"
    click.echo(" ".join(["Next: dpselect check", place, "--study", shlex.quote(output), options_of(form)]).strip())


def _of_data(
    data: str, output: str, response: str | None, codebook: str | None, stated: dict[str, str]
) -> tuple[str, str, dict[str, str]]:
    """The text of a study file for a table, what to tell about it, and how a text file seems to be written."""
    read = [] if codebook is None else [(codebook, "the code book")]
    require_apart([output], [*Rows(data, label(data)).files, *read])
    form = guessed_form(data, stated)
    columns, unnamed = named_and_unnamed(source_of(data, form))
    book = {} if codebook is None else read_codebook(codebook)
    text = new_study(columns, response, book)
    if unnamed:
        which = ", ".join(map(str, unnamed[:5])) + (", ..." if len(unnamed) > 5 else "")
        tell(visible(f"Left out because it has no name: column {which} of {data}."))
    if absent := [name for name in book if name not in {column.name for column in columns}]:
        tell(visible(f"The code book also describes {', '.join(absent)}, which {data} does not have."))
    if form != stated:
        tell(f"{data} seems to be written with {options_of(form)}: add it whenever you give this file.")
    described = [name for name in book if name in {column.name for column in columns}]
    return text, f"{len(described)} of them described by {codebook}" if codebook else "", form


def _read_selection(file: str) -> Selection:
    """The selection in a JSON file of `select` or of `analyze`."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DpselectError(
            f"{file} cannot be read. Give the JSON file of `dpselect select -o` or `analyze`."
        ) from None
    try:
        return Selection.from_json(text)
    except DataError:
        return AnalysisRecord.from_json(text).selection
