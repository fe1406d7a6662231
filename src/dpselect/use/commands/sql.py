"""`dpselect sql`: the query to run where rows may not leave the database."""

from __future__ import annotations

from typing import Any

import click


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
def command(**options: Any) -> None:
    """Write one aggregate query for a study; its answer is one row of sums, and `--moments` of the other commands reads it.

    No row leaves the database. The answer is confidential: it holds exact sums without noise.
    """
    from dpselect.use.runs.study import run_sql

    run_sql(**options)
