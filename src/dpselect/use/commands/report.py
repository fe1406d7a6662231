"""`dpselect report`: a released result in other forms; nothing is spent."""

from __future__ import annotations

from pathlib import Path

import click

from dpselect.errors import DpselectError
from dpselect.report.board import board_page
from dpselect.report.form import read_report
from dpselect.use.analysis import write_export
from dpselect.use.shell.files import require_apart, require_writable, write_text
from dpselect.use.shell.help import DoorCommand


@click.command(
    "report",
    cls=DoorCommand,
    usage="REPORT -o FILE [-o FILE ...]",
    epilog="""\b
Example:
  dpselect report report.json -o table.docx -o table.tex -o effects.svg
  dpselect report report.json --board board.html""",
)
@click.argument("report", metavar="REPORT", type=click.Path())
@click.option(
    "-o",
    "--output",
    "outputs",
    metavar="FILE",
    multiple=True,
    help="A file to write; its name decides the format: .html, .docx, .tex, .md, .csv, .svg, .png or .json.",
)
@click.option("--board", metavar="FILE", default=None, help="One page for an ethics board, made to be printed.")
def command(report: str, outputs: tuple[str, ...], board: str | None) -> None:
    """Write a released result as HTML, Word, LaTeX, Markdown, CSV, SVG or PNG.

    REPORT is the JSON or the HTML file of `dpselect analyze`. No row is read and nothing is spent.
    """
    if not outputs and board is None:
        raise click.UsageError("Give a file to write: -o table.docx.")
    try:
        text = Path(report).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DpselectError(f"{report} cannot be read. Give the JSON or the HTML file of a report.") from None
    analysis, _ = read_report(text)
    places = [*outputs, *([] if board is None else [board])]
    require_apart(places, [(report, "the report")])
    require_writable(*places)
    for place in places:
        if Path(place).exists():
            raise DpselectError(f"{place} already exists. Give another name.")
    for place in outputs:
        write_export(analysis, place)
    if board is not None:
        write_text(board, board_page(analysis))
    click.echo(f"Wrote {', '.join(places)}. Nothing was spent.")
