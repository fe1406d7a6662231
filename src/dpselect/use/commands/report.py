"""`dpselect report`: a released result as a page, a table or a figure, for other programs; nothing is spent."""

from __future__ import annotations

from typing import Any

import click

from dpselect.use.shell.options import EXPORT_CHOICES, QUIET


@click.command(
    "report",
    epilog="""\b
Example:
  dpselect report report.json -o table.docx -o table.tex -o effects.svg
  dpselect report report.json --board -o board.html""",
)
@click.argument("report", metavar="REPORT", type=click.Path())
@click.option(
    "-o",
    "--output",
    "outputs",
    metavar="FILE",
    multiple=True,
    help=f"File to write; its ending decides ({', '.join(EXPORT_CHOICES)}). May be repeated.",
)
@click.option("--board", is_flag=True, help="Write one page for an ethics board instead; FILE ends in .html.")
@QUIET
def command(**options: Any) -> None:
    """Write a released result as HTML, Word, LaTeX, Markdown, CSV, SVG or PNG.

    REPORT is the JSON or the HTML file of a report. Without -o the result is printed. Nothing is spent: no data are read.
    """
    from dpselect.use.runs.reports import run_report

    run_report(**options)
