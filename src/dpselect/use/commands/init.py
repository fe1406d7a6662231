"""`dpselect init`: a study file with the bounds left open."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from dpselect.assume.study import study_schema
from dpselect.errors import DpselectError
from dpselect.gather.sources.text import options_of
from dpselect.use.init import named_and_unnamed, new_study, read_codebook
from dpselect.use.shell.files import require_apart, require_kind, require_writable, write_text
from dpselect.use.shell.options import CSV, QUIET
from dpselect.use.shell.sources import Rows, csv_form, guessed_form, label, source_of
from dpselect.use.shell.terminal import answer_json, tell, visible


@click.command(
    "init",
    epilog="""\b
Example:
  dpselect init people.csv --response income -o study.toml
  dpselect init people.sav --response income --codebook book.csv
  # open study.toml, replace every "?"
  dpselect check people.csv --study study.toml""",
)
@click.argument("data", metavar="DATA", required=False)
@click.option("-o", "--output", default="study.toml", show_default=True, help="The study file to write.")
@click.option("--response", metavar="NAME", help="The column to explain; left open unless given.")
@click.option("--codebook", metavar="FILE", help="A CSV file: name, lower, upper, levels, label, unit, reason.")
@click.option("--force", is_flag=True, help="Overwrite an existing study file.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of study files, for editors, and do nothing else.")
@CSV
@QUIET
def command(
    data: str | None,
    output: str,
    response: str | None,
    codebook: str | None,
    force: bool,
    schema: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write a study file for DATA: the names and types of its columns, and open places for what only you can state.

    Bounds and levels are never guessed from the rows: a guess would leak. A code book may state them.
    """
    if schema:
        answer_json(study_schema())
        return
    if data is None:
        raise click.UsageError("Give DATA, the table that the study is about.")
    if Path(output).exists() and not force:
        raise DpselectError(f"{output!r} exists already; give another --output, or --force to overwrite it.")
    require_writable(output)
    stated = csv_form(options)
    read = [] if codebook is None else [(codebook, "the code book")]
    require_apart([output], [*Rows(data, label(data)).files, *read])
    if Path(output).suffix != ".toml":
        require_kind(output, b"[response]", "a study file")
    form = guessed_form(data, stated)
    columns, unnamed = named_and_unnamed(source_of(data, form))
    book = {} if codebook is None else read_codebook(codebook)
    text = new_study(columns, response, book)
    write_text(output, text)
    if quiet:
        click.echo(output)
        return
    places = sum(line.split("#")[0].count('"?"') for line in text.splitlines())
    click.echo(f'Wrote {output}: {len(columns)} columns, {places} open places marked "?".')
    if unnamed:
        which = ", ".join(map(str, unnamed[:5])) + (", ..." if len(unnamed) > 5 else "")
        tell(visible(f"Left out for want of a name: column {which} of {data}."))
    if absent := [name for name in book if name not in {column.name for column in columns}]:
        tell(visible(f"The code book also describes {', '.join(absent)}, which {data} does not have."))
    if form != stated:
        click.echo(f"By its form, {data} is written with {options_of(form)}: say so whenever you give it.")
    check = " ".join(["dpselect check", shlex.quote(data), "--study", shlex.quote(output), options_of(form)]).strip()
    first = f"Now open {output}, state the bounds without looking at the rows, and" if places else "Now"
    click.echo(f"{first} run: {check}")
