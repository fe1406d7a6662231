"""Verify a report independently: from the report alone, and against its ledger where there is one."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from dpselect.errors import DataError
from dpselect.release.checks import Answer, Check, overall
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.form import DISGUISED, MAX_TEXT_LENGTH, is_disguised
from dpselect.report.verify import check_report

A_REPORT = "this is a report"
ANSWER_WORDS: dict[Answer, str] = {"ok": "OK", "failed": "FAILED", "not checked": "not checked"}


@dataclass(frozen=True, slots=True)
class Verified:
    """Public. All that was looked at, and the answer: "ok" only if everything is; one failure is a failure."""

    checks: tuple[Check, ...]

    @property
    def answer(self) -> Answer:
        """OK, failed, or not checked, where another version made what this one cannot know."""
        return overall(self.checks)

    @property
    def problem(self) -> Check | None:
        """The first check that failed, or could not be made."""
        return next((each for each in self.checks if each.answer == self.answer), None) if self.answer != "ok" else None

    def __bool__(self) -> bool:
        return self.answer == "ok"

    def __str__(self) -> str:
        return "\n".join(f"{ANSWER_WORDS[each.answer]:11}  {each.what}: {each.found}" for each in self.checks)


def verify(report: str | os.PathLike[str], ledger: Ledger | str | os.PathLike[str] | None = None) -> Verified:
    """Verify a report independently: its form, its hashes, its model, its privacy cost, and its place in the ledger.

    Everything is recomputed from what the report publishes; no access to the rows is needed.

    Parameters
    ----------
    report : path
        The JSON or the HTML file.
    ledger : Ledger or path, optional
        The ledger that should hold the entries.

    Returns
    -------
    Verified
        The checks one by one. It is true if all of them are.

    Examples
    --------
    >>> assert dpselect.verify("report.html", ledger="people.budget.db")  # doctest: +SKIP
    """
    path = Path(report)
    opened = Ledger(ledger) if ledger is not None and not isinstance(ledger, Ledger) else ledger
    if path.is_file() and path.stat().st_size > 4 * MAX_TEXT_LENGTH:
        return _no("This is far too long for a dpselect report.")
    try:
        text = path.read_text(encoding="utf-8")
        with nullcontext() if opened is None else opened.session():
            return verify_text(text, opened, named_json=path.suffix.lower() == ".json")
    except UnicodeDecodeError:
        return _no("This is not text: give the JSON or the HTML file of a report.")
    except OSError as problem:
        raise DataError(
            f"{str(path)!r} cannot be read ({problem.strerror}). Give the JSON or the HTML file of a report."
        ) from None


def verify_text(text: str, ledger: Ledger | None, *, named_json: bool = False) -> Verified:
    """Verify the text of a report; where it is no report at all, that is the one check, and it fails."""
    if not named_json and is_disguised(text):
        return _no(DISGUISED)
    try:
        return Verified(tuple(check_report(text, ledger)))
    except DataError as problem:
        return _no(str(problem))


def _no(sentence: str) -> Verified:
    return Verified((Check(A_REPORT, False, sentence),))
