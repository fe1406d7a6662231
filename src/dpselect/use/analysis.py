"""Public. An analysis as users have it: the record of a selection and its estimate, and the files that it can be written to."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from dpselect.errors import StudyError
from dpselect.release.analysis import AnalysisRecord
from dpselect.report.board.board import board_page
from dpselect.report.public.page import report_page
from dpselect.use.shell.files import require_apart, require_writable, write_text


class Analysis(AnalysisRecord, frozen=True, kw_only=True):
    """A selection and the estimate of what was selected (`coefficients`, None if none was asked for), with their price.

    Formal guarantee: all of it together costs `guarantee`, by basic composition; a ledger may find less. `from_json` reads what
    `to_json` gives and what the report.json of `dpselect analyze` holds: they are the same.
    """

    def to_html(self, path: str | Path, title: str | None = None, board: str | Path | None = None) -> Path:
        """Write the public page, and its JSON beside it, as `dpselect analyze` does; files that are there are not overwritten.

        `board` is the file for one more page, made to be printed for an ethics board.
        """
        page = Path(path)
        if page.suffix != ".html":
            raise StudyError(f"{page.name!r} is no name for a page: it must end in .html.")
        beside = page.with_suffix(".json")
        sheet = [] if board is None else [Path(board)]
        require_apart([page, beside, *sheet])
        require_writable(page, beside, *sheet)
        for file in (page, beside, *sheet):
            if file.exists():
                raise StudyError(
                    f"{file.name} is there already, and may hold a release that was paid for; name another."
                )
        titled = self if title is None else replace(self, title=title)
        write_text(beside, titled.to_json())
        write_text(page, report_page(titled))
        for file in sheet:
            write_text(file, board_page(titled))
        return page
