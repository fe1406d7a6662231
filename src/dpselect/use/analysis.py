"""Public. An analysis as users have it: the record of a selection and its estimate, and the files that it can be written to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

import dpselect.report.page  # noqa: F401  it says how results are printed and shown in notebooks
from dpselect.errors import StudyError
from dpselect.release.analysis import AnalysisRecord
from dpselect.report.board import board_page
from dpselect.report.exports import export_bytes, to_png, to_svg
from dpselect.report.page import report_page
from dpselect.use.shell.files import require_apart, require_writable, write_bytes, write_text

Place = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, repr=False)
class Figure:
    """Public. The figure of an analysis: shown in notebooks, written by `save`."""

    analysis: AnalysisRecord

    def save(self, path: Place) -> Path:
        """Write the figure; the name ends in .svg or .png."""
        if Path(path).suffix not in (".svg", ".png"):
            raise StudyError(f"{Path(path).name!r} is no name for a figure. End it in .svg or .png.")
        return write_export(self.analysis, path)

    @property
    def svg(self) -> str:
        """The figure as SVG."""
        return to_svg(self.analysis)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_png_(self) -> bytes | None:
        try:
            return to_png(self.analysis)
        except StudyError:  # the notebook has the SVG
            return None

    def __repr__(self) -> str:
        return f"<Figure of {self.analysis!r}>"


def write_export(analysis: AnalysisRecord, path: Place) -> Path:
    """Write a result to a file of the kind that its name ends in; a file that is there is not overwritten."""
    target = Path(path)
    content = export_bytes(analysis, target.suffix.lstrip(".").lower())
    require_writable(target)
    if target.exists():
        raise StudyError(f"{target.name} already exists. Give another name.")
    write_bytes(target, content)
    return target


class Analysis(AnalysisRecord, frozen=True, kw_only=True):
    """A selection and the estimate of what was selected (`coefficients`, None if none was asked for), with their price.

    Formal guarantee: all of it together costs `guarantee`, by basic composition; a ledger may find less. `from_json` reads what
    `to_json` gives and what the report.json of `dpselect analyze` holds: they are the same.

    Attributes
    ----------
    title : str
        The question, as the report's heading has it.
    made : str
        The day of the release, such as 2026-11-15.
    selection : Selection
        What was selected.
    coefficients : Estimate or None
        Its effects; None if none were asked for.
    beside : tuple of str
        The other responses that were released together with this one.
    """

    def to_html(self, path: Place, title: str | None = None, board: Place | None = None) -> Path:
        """Write the public page, and its JSON beside it, as `dpselect analyze` does; files that are there are not overwritten.

        Parameters
        ----------
        path : str or path
            The page; its name ends in .html.
        title : str, optional
            Another heading than the analysis has.
        board : str or path, optional
            The file for one more page, made to be printed for an ethics board.

        Returns
        -------
        Path
            The page.
        """
        page = Path(path)
        if page.suffix != ".html":
            raise StudyError(f"{page.name!r} is no name for a page. End it in .html.")
        beside = page.with_suffix(".json")
        sheet = [] if board is None else [Path(board)]
        require_apart([page, beside, *sheet])
        require_writable(page, beside, *sheet)
        for file in (page, beside, *sheet):
            if file.exists():
                raise StudyError(f"{file.name} already exists, and may hold a release. Give another name.")
        titled = self if title is None else replace(self, title=title)
        write_text(beside, titled.to_json())
        write_text(page, report_page(titled))
        for file in sheet:
            write_text(file, board_page(titled))
        return page

    def to_docx(self, path: Place) -> Path:
        """Write the answer, the table of effects and its notes as a Word document; needs the extra `exports`.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Path
        """
        return self._write(path, ".docx")

    def to_markdown(self, path: Place | None = None) -> str | Path:
        """The answer, the table of effects and its notes in Markdown.

        Parameters
        ----------
        path : str or path, optional
            The file; without one the text is returned.

        Returns
        -------
        str or Path
        """
        return self._text(path, ".md")

    def to_latex(self, path: Place | None = None) -> str | Path:
        """The table of effects as a LaTeX float (needs the package booktabs).

        Parameters
        ----------
        path : str or path, optional
            The file; without one the text is returned.

        Returns
        -------
        str or Path
        """
        return self._text(path, ".tex")

    def to_csv(self, path: Place | None = None) -> str | Path:
        """The columns of `tidy()` with full precision.

        Parameters
        ----------
        path : str or path, optional
            The file; without one the text is returned.

        Returns
        -------
        str or Path
        """
        return self._text(path, ".csv")

    def plot(self, path: Place | None = None) -> Figure:
        """The figure of effects with their intervals, which notebooks show.

        Parameters
        ----------
        path : str or path, optional
            An .svg or a .png to write it to as well; a PNG needs the extra `exports`.

        Returns
        -------
        Figure
        """
        figure = Figure(self)
        if path is not None:
            figure.save(path)
        return figure

    def _text(self, path: Place | None, ending: str) -> str | Path:
        if path is None:
            return export_bytes(self, ending[1:]).decode()
        return self._write(path, ending)

    def _write(self, path: Place, ending: str) -> Path:
        if Path(path).suffix != ending:
            raise StudyError(f"{Path(path).name!r} is no name for this kind of file. End it in {ending}.")
        return write_export(self, path)
