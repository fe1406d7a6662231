"""Public. A choice and its coefficients together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpselect.assume.models.budget import EXACT, Budget
from dpselect.assume.study.canonical import readable_json
from dpselect.errors import AssumptionError, DataError
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.coefficients.frames import FrameKind, framed
from dpselect.release.ledger.prices import amounts
from dpselect.release.odds.odds_ratios import OddsRatios
from dpselect.release.reading import read_release
from dpselect.release.selection import Selection
from dpselect.release.tuned_selection import TunedSelection
from dpselect.report.board.board import board_page
from dpselect.report.public.document import FORMAT as REPORT
from dpselect.report.public.document import Document, choice_from_dict, estimate_from_dict, today
from dpselect.report.public.page import report_page
from dpselect.report.public.titles import check_title
from dpselect.use.shell.files import require_apart, require_writable, write_text

FORMAT = "dpselect analysis 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Public. A choice and the coefficients (or odds ratios) of what was chosen; each carries its price and its receipt.

    `tuned` holds the bounds too, where they were bought for the choice.

    Formal guarantee: both together cost no more than `budget`, by basic composition; a ledger may find less.
    """

    selection: Selection
    coefficients: Coefficients | OddsRatios
    budget: Budget
    tuned: TunedSelection | None = None

    def tidy(self, frame: FrameKind = "plain") -> Any:
        """One row a term; `frame` may be "pandas" or "polars"."""
        return self.coefficients.tidy(frame)

    def glance(self, frame: FrameKind = "plain") -> Any:
        """One row for the model; epsilon and delta are those of choice and estimate together."""
        rows = self.coefficients.glance()
        whole = _spent(self.tuned or self.selection, self.coefficients)
        rows[0] |= {name: float(price) for name, price in whole.items()}
        return framed(rows, frame)

    def report(self, path: str | Path, title: str = "", board: str | Path | None = None) -> Path:
        """Write the public page, and its JSON beside it, as `dpselect analyze` does; files that are there are not overwritten.

        `board` is the file for one more page, made to be printed for an ethics board.
        """
        page = Path(path)
        if page.suffix != ".html":
            raise AssumptionError(f"{page.name!r} is no name for a page: it must end in .html.")
        beside = page.with_suffix(".json")
        sheet = [] if board is None else [Path(board)]
        require_apart([page, beside, *sheet])
        require_writable(page, beside, *sheet)
        for file in (page, beside, *sheet):
            if file.exists():
                raise AssumptionError(
                    f"{file.name} is there already, and may hold a release that was paid for; name another."
                )
        document = self.document(title)
        write_text(beside, document.to_json())
        write_text(page, report_page(document))
        for file in sheet:
            write_text(file, board_page(document))
        return page

    def document(self, title: str = "") -> Document:
        """What a report shows, dated today."""
        check_title(title)
        return Document(
            title=title, made=today(), selection=self.selection, coefficients=self.coefficients, tuned=self.tuned
        )

    def __str__(self) -> str:
        whole = amounts(**_spent(self.tuned or self.selection, self.coefficients))
        return f"{whole} in all\n{self.tuned or self.selection}\n{self.coefficients}"

    def _repr_html_(self) -> str:
        return self.selection._repr_html_() + self.coefficients._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "format": FORMAT,
            "selection": (self.tuned or self.selection).to_dict(),
            "coefficients": self.coefficients.to_dict(),
            "budget": {"epsilon": str(self.budget.epsilon), "delta": str(self.budget.delta)},
        }

    def to_json(self) -> str:
        """Both releases as a JSON text that `from_json` reads back."""
        return readable_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Analysis:
        """An analysis from its JSON text, or from the report.json that `dpselect analyze` or `report` wrote."""
        return read_release(text, cls.from_dict, "a dpselect analysis")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Analysis:
        """The inverse of `to_dict`; the values of a report are taken as well."""
        if values["format"] not in (FORMAT, REPORT):
            raise DataError(f"This is a {values['format']!r}, and a {FORMAT!r} or {REPORT!r} is needed.")
        selection, tuned = choice_from_dict(values["selection"])
        if values["coefficients"] is None:
            raise DataError("This report has no coefficients, so it is no analysis: read its selection instead.")
        coefficients = estimate_from_dict(values["coefficients"])
        budget = values.get("budget") or _spent(tuned or selection, coefficients)
        return cls(selection=selection, coefficients=coefficients, budget=Budget(**budget), tuned=tuned)


def _spent(selection: Selection | TunedSelection, coefficients: Coefficients | OddsRatios) -> dict[str, Any]:
    """The price of both releases, for a report that does not say what they were cut from."""
    parts = (selection.guarantee, coefficients.guarantee)
    return {
        "epsilon": EXACT.add(parts[0].epsilon, parts[1].epsilon),
        "delta": EXACT.add(parts[0].delta, parts[1].delta),
    }
