"""What is paid for and not yet a report: on the disk as soon as it is drawn, so that a killed run can be finished."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dpselect.assume.study.canonical import readable_json, sha256_of
from dpselect.errors import DataError, DpselectError
from dpselect.release.coefficients.drawn import Drawn
from dpselect.release.selection import Selection
from dpselect.release.tune import Tuned
from dpselect.release.tuned_selection import TunedSelection
from dpselect.report.public.document import Document, today
from dpselect.report.verify.answers import overall
from dpselect.report.verify.form import BOUNDS, plain_values, require_form
from dpselect.report.verify.verify import check_report
from dpselect.use.shell.files import PAID, write_aside, write_text

FORMAT = "dpselect paid 1"
Paid = Tuned | TunedSelection | Selection | Drawn
"""What an analysis draws, in this order."""
WHETHER = "`dpselect budget` shows whether that charge stands"


class Draft:
    """Public. The file beside a report, report.paid.json, that holds what a run has drawn so far.

    `alone` is the text that report.json gets if nothing more is drawn; `charging` says that the next charge had begun, or in
    this run that it was made; `asked` is a hash of all that the run was for, so that no other command takes up what it left.
    """

    def __init__(self, page: Path, title: str, asked: Any) -> None:
        self.page, self.file, self._title = page, page.with_suffix(PAID), title
        self._values: dict[str, Any] = {"format": FORMAT, "asked": sha256_of([title, asked])}
        self._text: str | None = None  # what we have written to the file, or found there and took up

    @property
    def report(self) -> Path:
        """The JSON file of the report."""
        return self.page.with_suffix(".json")

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Nobody else runs for this report meanwhile. The lock is the system's, and ends with the process, however that ends."""
        lock = self.file.with_name(f".{self.file.name}.lock")
        descriptor = _locked(lock)
        if descriptor is None:
            raise DpselectError(
                f"Another run is at work on {str(self.page)!r}: wait until it has ended, or give another file with -o."
            )
        try:
            yield
        finally:
            with suppress(OSError):  # a folder where others' files cannot be removed
                lock.unlink()
            os.close(descriptor)

    def keep(self, paid: Paid) -> None:
        """Add what was drawn. A disk that fails here will fail again at the report, which is then shown instead."""
        if isinstance(paid, Drawn):
            self._values["estimate"] = paid.to_dict()
        elif isinstance(paid, Tuned):
            self._values["alone"] = bounds_text(paid)
        else:
            tuned = paid if isinstance(paid, TunedSelection) else None
            selection = paid.selection if isinstance(paid, TunedSelection) else paid
            document = Document(title=self._title, made=today(), selection=selection, tuned=tuned)
            self._values["alone"] = document.to_json()
        self._values.pop("charging", None)
        self._save()

    def note(self, charge: str) -> None:
        """What becomes of a charge: "charging" before it, then "charged" or "refused".

        Only the first is written down: after the charge nothing should come before the draw.
        """
        if "alone" not in self._values:
            return
        self._values["charging"] = charge
        if charge == "charging":
            self._save()

    def read(self) -> bool:
        """Take up what an earlier run left; whether there was anything."""
        if not self.file.exists():
            return False
        asked = self._values["asked"]
        try:
            self._text = self.file.read_text(encoding="utf-8")
            self._values = plain_values(self._text)
            if self._values["format"] != FORMAT:
                raise TypeError
            same = self._values["asked"] == asked
            self._require_whole(same)
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
        drawn, charge = self._drawn(), self._values.get("charging")
        if isinstance(drawn, Tuned):
            first, what, none = f"The bounds were bought and are paid for: {drawn}", "a model", "no model was chosen"
        else:
            first = f"The model was chosen and is paid for: {drawn.selection.formula}"
            what, none = "its coefficients", "its coefficients are not"
        rest = {
            "charging": f"the charge for {what} had begun when the run was stopped, and what it pays for is lost: {WHETHER}",
            "charged": f"{what} had been charged too when the run was stopped, and what that paid for is lost",
        }.get(str(charge), none)
        return self._values["alone"], f"{first}, in {self.report}; {rest}."

    def document(self) -> Document | None:
        """The whole report, its equations solved; None if the estimate is not drawn."""
        if "estimate" not in self._values:
            return None
        chosen = self._drawn()
        if isinstance(chosen, Tuned):
            raise DataError("Coefficients of a model that was not chosen.")
        solved = Drawn.from_dict(self._values["estimate"]).solved()
        return Document(
            title=chosen.title, made=chosen.made, selection=chosen.selection, tuned=chosen.tuned, coefficients=solved
        )

    def forget(self) -> None:
        """Remove the file, for what it held is where it belongs; what somebody else has put there stays."""
        if self._is_ours():
            self.file.unlink(missing_ok=True)

    def _drawn(self) -> Tuned | Document:
        values = plain_values(self._values["alone"])
        return Tuned.from_dict(values) if values["format"] == BOUNDS else Document.from_dict(values)

    def _require_whole(self, same: bool) -> None:
        """Refuse a file that somebody has edited: what is said and written from it is what a release can be."""
        drawn = self._drawn()
        text = bounds_text(drawn) if isinstance(drawn, Tuned) else drawn.to_json()
        if text != self._values["alone"] or (same and isinstance(drawn, Document) and drawn.title != self._title):
            raise TypeError
        if isinstance(drawn, Tuned):
            if drawn.what != "bounds" or drawn.guarantee.neighbors != drawn.assumptions.neighbors:
                raise TypeError
        else:
            report = (self.document() or drawn).to_json()
            require_form(plain_values(report))
            if overall(check_report(report)) == "no":
                raise TypeError

    def _save(self) -> None:
        text = json.dumps(self._values)
        try:
            if self._is_ours() or not self.file.exists():
                write_text(self.file, text)
            else:  # where the system has no locks, another run's draft may be there: it is kept under another name
                write_aside(self.file, text)
            self._text = text
        except DpselectError:
            pass

    def _is_ours(self) -> bool:
        try:
            return self.file.read_text(encoding="utf-8") == self._text
        except (OSError, ValueError):
            return False


def bounds_text(bounds: Tuned) -> str:
    """Bounds that were bought, without a model: a JSON text that says what it is."""
    return readable_json({"format": BOUNDS, **bounds.to_dict()}) + "\n"


def _opened(path: Path) -> int:
    """A descriptor of the lock, for writing if that may be, since some network disks lock nothing else; no link is followed."""
    careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | careful, 0o644)
        except PermissionError:  # what another user's killed run left
            return os.open(path, os.O_RDONLY | careful)
    except OSError as problem:
        reason = problem.strerror or "the system refused"
        raise DpselectError(
            f"{str(path)!r} cannot be opened ({reason}): remove it, or give another file with -o."
        ) from None


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock of a file, which is made for it; None if another program holds it."""
    while True:
        descriptor = _opened(path)
        try:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except (ImportError, OSError):
            return descriptor  # Windows, or a file system without locks: `_save` and `forget` touch nothing of others' all the same
        # The one who held it before may have removed the file since it was opened: then the next run would lock another.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        os.close(descriptor)
