"""`dpselect registry`: an entry for the Differential Privacy Deployments Registry from a report."""

from __future__ import annotations

from typing import Any

import click

from dpselect.use.shell.options import QUIET


@click.command(
    "registry",
    epilog="""\b
Example:
  dpselect registry report.html --curator "Statistics Office" --use "Which jobs pay more, for the yearbook"
  dpselect registry report.html --curator "Statistics Office" --use "..." --rationale "Epsilon was set by ..." -o entry.yaml""",
)
@click.argument("report", metavar="REPORT", type=click.Path())
@click.option("--curator", required=True, metavar="NAME", help="Who publishes.")
@click.option("--use", required=True, metavar="TEXT", help="What the results are for.")
@click.option("--curator-type", default="Government", show_default=True, metavar="TYPE", help="Of the curator.")
@click.option(
    "--sector", default="Government", show_default=True, metavar="NAME", help="Government, Healthcare, Education, ..."
)
@click.option("--region", default="", metavar="NAME", help="What region the data describe.")
@click.option(
    "--author",
    "authors",
    multiple=True,
    metavar="NAME",
    help="Of the entry; may be repeated. The curator unless given.",
)
@click.option("--url", default="", metavar="URL", help="Where the report is published.")
@click.option("--rationale", default="", metavar="TEXT", help="Why these choices were made: makes the entry tier 3.")
@click.option("-o", "--output", metavar="FILE", help="Write the entry to a file instead of showing it.")
@QUIET
def command(**options: Any) -> None:
    """Write an entry for the Differential Privacy Deployments Registry (registry.opendp.org) from REPORT.

    The report is verified first. Read the entry before you send it: it is a draft, and says nothing that the report does not.
    """
    from dpselect.use.runs.reports import run_registry

    run_registry(**options)
