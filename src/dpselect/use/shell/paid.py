"""What is paid for and not yet a report: on the disk as soon as it is drawn, so that a killed run can be finished."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpselect.errors import DataError, DpselectError
from dpselect.release.coefficients.drawn import Drawn
from dpselect.release.selection import Selection
from dpselect.release.tune import Tuned
from dpselect.release.tuned_selection import TunedSelection
from dpselect.report.public.document import Document, today
from dpselect.use.shell.files import write_text

FORMAT = "dpselect paid 1"
Paid = Tuned | TunedSelection | Selection | Drawn
"""What an analysis draws, in this order."""


class Draft:
    """Public. The file beside a report, report.paid.json, that holds what a run has drawn so far.

    `alone` is the text that report.json gets if nothing more is drawn, and `says` the sentence that goes with it; `asked` says in
    public words what the run was for, so that no other command takes up what it left.
    """

    def __init__(self, page: Path, title: str, asked: Sequence[str]) -> None:
        self.page, self.file, self._title = page, page.with_suffix(".paid.json"), title
        self._values: dict[str, Any] = {"format": FORMAT, "asked": list(asked)}

    @property
    def report(self) -> Path:
        """The JSON file of the report."""
        return self.page.with_suffix(".json")

    def keep(self, paid: Paid) -> None:
        """Add what was drawn. A disk that fails here will fail again at the report, which is then shown instead."""
        if isinstance(paid, Drawn):
            self._values["estimate"] = paid.to_dict()
        elif isinstance(paid, Tuned):
            self._values["alone"] = json.dumps(paid.to_dict(), indent=2, ensure_ascii=False) + "\n"
            self._values["says"] = (
                f"The bounds were bought and are paid for: {paid}, in {self.report}; no model was chosen."
            )
        else:
            tuned = paid if isinstance(paid, TunedSelection) else None
            selection = paid.selection if isinstance(paid, TunedSelection) else paid
            document = Document(title=self._title, made=today(), selection=selection, tuned=tuned)
            self._values["alone"] = document.to_json()
            self._values["says"] = (
                f"The model was chosen and is paid for: {selection.formula}, in {self.report}; its coefficients are not."
            )
        try:
            write_text(self.file, json.dumps(self._values))
        except DpselectError:
            pass

    def read(self) -> bool:
        """Take up what an earlier run left; whether there was anything."""
        if not self.file.exists():
            return False
        asked = self._values["asked"]
        try:
            self._values = json.loads(self.file.read_text(encoding="utf-8"))
            if self._values["format"] != FORMAT or not all(
                isinstance(self._values[key], str) for key in ("alone", "says")
            ):
                raise TypeError
            same = self._values["asked"] == asked
            self.document()
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, DpselectError):
            raise DataError(
                f"{str(self.file)!r} should hold what an interrupted run had paid for, and is damaged: move it elsewhere."
            ) from None
        if not same:
            raise DataError(
                f"{str(self.file)!r} holds what another command had paid for when it was stopped: give that one again to finish "
                "it, or another file with -o."
            )
        return True

    def alone(self) -> tuple[str, str] | None:
        """The text and the sentence of what is drawn, if it is not all; None if nothing is drawn, or all."""
        if "alone" not in self._values or "estimate" in self._values:
            return None
        return self._values["alone"], self._values["says"]

    def document(self) -> Document | None:
        """The whole report, its equations solved; None if the estimate is not drawn."""
        if "estimate" not in self._values:
            return None
        chosen = Document.from_dict(json.loads(self._values["alone"]))
        solved = Drawn.from_dict(self._values["estimate"]).solved()
        return Document(
            title=chosen.title, made=chosen.made, selection=chosen.selection, tuned=chosen.tuned, coefficients=solved
        )

    def forget(self) -> None:
        """Remove the file: what it held is where it belongs."""
        self.file.unlink(missing_ok=True)
