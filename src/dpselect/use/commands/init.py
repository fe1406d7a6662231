"""`dpselect init`: a study file with the bounds left open."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from dpselect.errors import DpselectError
from dpselect.gather.sources.text_form import options_of
from dpselect.use.shell.files import require_writable, write_text
from dpselect.use.shell.options import CSV, DATA, QUIET
from dpselect.use.shell.sources import csv_form, guessed_form, named_columns, source_of
from dpselect.use.shell.study import new_study


@click.command(
    "init",
    epilog="""\b
Example:
  dpselect init people.csv --response income -o study.toml
  # open study.toml, replace every "?"
  dpselect check study.toml people.csv""",
)
@DATA
@click.option("-o", "--output", default="study.toml", show_default=True, help="The study file to write.")
@click.option("--response", metavar="NAME", help="The column to explain; left open unless given.")
@click.option("--force", is_flag=True, help="Overwrite an existing study file.")
@CSV
@QUIET
def command(data: str, output: str, response: str | None, force: bool, quiet: bool, **options: Any) -> None:
    """Write a study file for DATA: the names and types of its columns, and open places for what only you can state.

    Bounds and levels are never guessed from the rows: a guess would leak.
    """
    if Path(output).exists() and not force:
        raise DpselectError(f"{output!r} exists already; give another --output, or --force to overwrite it.")
    require_writable(output)
    stated = csv_form(options)
    form = guessed_form(data, stated)
    columns = named_columns(source_of(data, form))
    text = new_study(columns, response)
    write_text(output, text)
    if quiet:
        click.echo(output)
        return
    places = sum(line.split("#")[0].count('"?"') for line in text.splitlines())
    click.echo(f'Wrote {output}: {len(columns)} columns, {places} open places marked "?".')
    if form != stated:
        click.echo(f"By its form, {data} is written with {options_of(form)}: say so whenever you give it.")
    check = " ".join(["dpselect check", shlex.quote(output), shlex.quote(data), options_of(form)]).strip()
    click.echo(f"Now open {output}, state the bounds without looking at the rows, and run: {check}")
