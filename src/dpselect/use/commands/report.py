"""`dpselect report`: a released result as a page, a table or a figure, for other programs; nothing is spent."""

from __future__ import annotations

from pathlib import Path

import click

from dpselect.errors import DataError, StudyError
from dpselect.release.analysis import AnalysisRecord
from dpselect.report.board import board_page
from dpselect.report.exports import EXPORT_KINDS, export_bytes
from dpselect.report.form import read_report
from dpselect.report.page import analysis_lines
from dpselect.use.shell.files import require_apart, require_writable, write_bytes
from dpselect.use.shell.options import QUIET
from dpselect.use.shell.terminal import tell, visible


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
    help=f"File to write; its ending decides ({', '.join(EXPORT_KINDS)}). May be repeated.",
)
@click.option("--board", is_flag=True, help="Write one page for an ethics board instead; FILE ends in .html.")
@QUIET
def command(report: str, outputs: tuple[str, ...], board: bool, quiet: bool) -> None:
    """Write a released result as HTML, Word, LaTeX, Markdown, CSV, SVG or PNG.

    REPORT is the JSON or the HTML file of a report. Without -o the result is printed. Nothing is spent: no data are read.
    """
    analysis = read_result(report)
    files = [Path(output) for output in outputs]
    kinds = [_kind(path, board) for path in files]
    contents = [board_page(analysis).encode() if board else export_bytes(analysis, kind) for kind in kinds]
    require_apart(files, [(report, "the report")])
    require_writable(*files)
    for path in files:
        if path.exists():
            raise StudyError(f"{path} already exists. Give another name. Nothing was spent.")
    for path, content in zip(files, contents, strict=True):
        write_bytes(path, content)
    if not files:
        click.echo("\n".join(map(visible, analysis_lines(analysis))))
    elif not quiet:
        tell(f"Wrote {', '.join(map(str, files))}. Nothing was spent.")


def read_result(report: str) -> AnalysisRecord:
    """The result in a report, the JSON or the HTML file."""
    try:
        text = Path(report).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{report} is not text. Give the JSON or the HTML file of a report.") from None
    return read_report(text)[0]


def _kind(path: Path, board: bool) -> str:
    kind = path.suffix.lstrip(".").lower()
    if board and kind != "html":
        raise StudyError(f"The page for the board is HTML. End {path.name!r} in .html.")
    if kind not in EXPORT_KINDS:
        raise StudyError(f"{path.name!r} has no known ending. Use one of {', '.join(EXPORT_KINDS)}.")
    return kind
