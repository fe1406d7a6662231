"""What `init` and `sql` do: write a study file for a table, and the aggregate query of a study."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from dpselect.assume.study import Study, study_schema
from dpselect.errors import DataError, DpselectError
from dpselect.gather.sources.text_form import options_of
from dpselect.gather.sql import aggregate_query
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.selection import Selection
from dpselect.use.init import named_and_unnamed, new_study, read_codebook, study_of_selection
from dpselect.use.shell.files import require_apart, require_kind, require_writable, write_text
from dpselect.use.shell.options import study_and_data
from dpselect.use.shell.sources import Rows, csv_form, guessed_form, label, source_of
from dpselect.use.shell.terminal import answer_json, tell, visible


def run_init(
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
    """`dpselect init`."""
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


def run_sql(
    places: tuple[str, ...], study: str | None, dialect: str, table: str, booleans: tuple[str, ...], output: str | None
) -> None:
    """`dpselect sql`."""
    study_file, _ = study_and_data(places, study)
    if study_file is None:
        raise click.UsageError("Give --study FILE: the query needs the ranges that it states.")
    query = aggregate_query(Study.read(study_file), table, dialect, booleans=booleans)
    if output is None:
        click.echo(query)
        return
    require_writable(output)
    require_apart([output], [(study_file, "the study")])
    require_kind(output, b"-- dpselect: exact sums", "a query of `dpselect sql`")
    write_text(output, query if query.endswith("\n") else query + "\n")
    click.echo(f"Wrote {output}. Confidential: do not publish its answer.")
