"""What the commands show of a release: the answer first, then what was considered, found and spent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from dpselect.release.analysis import AnalysisRecord
from dpselect.release.selection import Selection
from dpselect.report.terminal import analysis_lines
from dpselect.use.shell.terminal import answer_json, hint, visible


def show_selection(selection: Selection, files: Sequence[Path], as_json: bool, quiet: bool) -> None:
    """Which variables were selected, in which direction, what that cost, and where it is kept."""
    if as_json:
        answer_json(selection.to_dict())
    elif quiet:
        click.echo(selection.formula)
    else:
        analysis = AnalysisRecord(title="", made="", selection=selection, coefficients=None)
        _show_lines(analysis)
        _show_files(files)
        if len(files) > 1:
            hint(f"dpselect verify {files[0]}")


def _show_files(files: Sequence[Path]) -> None:
    if files:
        both = " (both public)" if len(files) > 1 else " (public)"
        click.echo(f"Wrote {', '.join(map(str, files))}{both}.")


def _show_lines(analysis: AnalysisRecord) -> None:
    """Not by click, which writes UTF-8 where the locale says ASCII: labels may hold any letter."""
    print("\n".join(map(visible, analysis_lines(analysis))))


def show_report(analysis: AnalysisRecord, page: Path, as_json: bool, quiet: bool) -> None:
    """What was selected, how large each effect is, what that cost, and where the report is."""
    if as_json:
        answer_json(analysis.to_dict())
        return
    if quiet:
        click.echo(analysis.selection.formula)
        return
    _show_lines(analysis)
    _show_files([page, page.with_suffix(".json")])
    hint(f"dpselect verify {page}")
