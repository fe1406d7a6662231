"""`dpselect sql`: the query to run where rows may not leave the database."""

from __future__ import annotations

import click

from dpselect.assume.study import Study
from dpselect.gather.sql import aggregate_query
from dpselect.use.shell.files import require_apart, require_kind, require_writable, write_text
from dpselect.use.shell.options import study_and_data


@click.command(
    "sql",
    epilog="""\b
Example:
  dpselect sql --study study.toml --dialect postgres --table public.people -o query.sql
  psql --csv -f query.sql > answer.csv
  dpselect select --study study.toml --moments answer.csv --epsilon 1""",
)
@click.argument("places", nargs=-1, metavar="STUDY")
@click.option("--study", metavar="FILE", default=None, help="The study file.")
@click.option(
    "--dialect",
    type=click.Choice(["duckdb", "postgres", "spark", "tsql", "oracle"]),
    required=True,
    help="Whose SQL to write.",
)
@click.option("--table", required=True, metavar="NAME", help="The table, or a query in parentheses.")
@click.option(
    "--boolean", "booleans", multiple=True, metavar="COLUMN", help="A column of type boolean; may be repeated."
)
@click.option("-o", "--output", metavar="FILE", help="Write the query to a file instead of showing it.")
def command(
    places: tuple[str, ...], study: str | None, dialect: str, table: str, booleans: tuple[str, ...], output: str | None
) -> None:
    """Write one aggregate query for a study; its answer is one row of sums, and `--moments` of the other commands reads it.

    No row leaves the database. The answer is confidential: it holds exact sums without noise.
    """
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
