"""What `report`, `verify` and `registry` do with a released report; nothing is spent."""

from __future__ import annotations

from pathlib import Path

import click

from dpselect.errors import DataError, ProblemFound, StudyError
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.checks import Answer, Check
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.board import board_page
from dpselect.report.exports import EXPORT_KINDS, export_bytes
from dpselect.report.form import read_report, report_schema
from dpselect.report.page import analysis_lines
from dpselect.use.registry import registry
from dpselect.use.shell.files import require_apart, require_kind, require_writable, write_bytes, write_text
from dpselect.use.shell.terminal import answer_json, tell, visible
from dpselect.use.verify import A_REPORT, ANSWER_WORDS, verify

MAIN_CHECKS = (
    "privacy cost",
    "sensitivity is sufficient",
    "noise scale matches the cost",
    "effects follow from the released sums",
    "report is the release in the ledger",
)
"""What an answer of OK is told with; all others are shown where they fail, or are asked for."""
_COLORS = {"ok": "green", "failed": "red", "not checked": "yellow"}


def run_report(report: str, outputs: tuple[str, ...], board: bool, quiet: bool) -> None:
    """`dpselect report`."""
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


def run_verify(report: str | None, ledger: str | None, details: bool, schema: bool, as_json: bool, quiet: bool) -> None:
    """`dpselect verify`."""
    if schema:
        answer_json(report_schema())
        return
    if report is None:
        raise click.UsageError("Give the REPORT to verify, the JSON or the HTML file.")
    found = verify(report, Ledger(ledger, announce=tell) if ledger is not None else None)
    answer, count = found.answer, len(found.checks)
    if as_json:
        listed = [{"what": each.what, "answer": each.answer, "found": each.found} for each in found.checks]
        answer_json({"answer": answer, "checks": listed})
    elif found.problem is not None and found.problem.what == A_REPORT:
        click.echo(f"{report}: {_mark('failed')}")
    else:
        failed = sum(each.answer == answer for each in found.checks)
        of = f"{count} checks" if answer == "ok" else f"{failed} of {count} checks"
        click.echo(f"{report}: {_mark(answer)} ({of})")
        shown = [each for each in found.checks if details or each.answer != "ok" or each.what in MAIN_CHECKS]
        for each in shown if not quiet else ():
            click.echo(f"  {_mark(each.answer)}  {each.what}: {visible(each.found)}")
        if not quiet:
            click.echo("Not checkable from a report: that ranges and categories were stated before the data were read.")
            if ledger is None:
                click.echo("Not compared with the release: any consistent report passes. Add --ledger FILE.")
            if len(shown) < count:
                click.echo(f"Every one of the {count} checks: add --details.")
    if found.problem is not None:
        raise ProblemFound(_refusal(answer, found.problem))


def _mark(answer: Answer) -> str:
    return click.style(ANSWER_WORDS[answer], fg=_COLORS[answer], bold=answer == "failed")


def _refusal(answer: Answer, which: Check) -> str:
    if which.what == A_REPORT:
        return visible(which.found)
    if answer == "not checked":
        return f"Not checked: {which.what} ({visible(which.found)})."
    if which.what.startswith(("ledger", "receipt")):
        return "This report does not match the ledger. Ask its publisher."
    return "This report was changed after its release. Ask its publisher."


def run_registry(report: str, output: str | None, quiet: bool, authors: tuple[str, ...], **stated: str) -> None:
    """`dpselect registry`."""
    text = registry(report, authors=authors, **stated)
    empty = [f"--{name}" for name in ("region", "url", "rationale") if not stated[name]]
    if empty and not quiet:
        click.echo(f"Left empty: {', '.join(empty)}.", err=True)
    if output is None:
        click.echo(text, nl=False)
        return
    require_writable(output)
    require_apart([output], [(report, "the report")])
    require_kind(Path(output), b"url_slug:", "an entry of the registry")
    write_text(output, text)
    if not quiet:
        click.echo(f"Wrote {output}, a draft: read it, then send it to the registry (registry.opendp.org).")
