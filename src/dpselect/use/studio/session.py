"""What one studio remembers between two requests: where the rows are, what was asked for, and what is under way.

The study itself is not here: its file is the truth, read anew for each page, so that tabs and editors cannot disagree.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from dpselect.errors import DpselectError
from dpselect.release.checks import Check
from dpselect.use.shell.failures import explain
from dpselect.use.studio.forms import Form, Problems
from dpselect.use.studio.previews import PlanFacts
from dpselect.use.studio.releases import Tell
from dpselect.use.studio.reports import ReportPlan
from dpselect.use.studio.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """Public. A release that was asked for and waits for its amount to be typed in. Its nonce is good for one use."""

    order: ReportPlan
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)


@dataclass(frozen=True, slots=True)
class Verified:
    """Public. What the last verification found, until it was shown."""

    name: str = ""
    checks: tuple[Check, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class CheckPage:
    """Private. The confidential page of a check, and a mark of the study and the data that it is about."""

    page: str
    mark: str

    def __repr__(self) -> str:
        return "CheckPage(page=<private>)"


@dataclass(frozen=True, slots=True)
class Draft:
    """Public. A form that was not accepted, and beside which field it is wrong."""

    form: Form = field(default_factory=dict)
    problems: Problems = field(default_factory=dict)


class Job:
    """Work in a thread that says, in whole sentences, what is done, and how it ended. It says nothing of rows or of time."""

    def __init__(self, work: Callable[[Tell], None]) -> None:
        self.said: list[str] = []
        self.problem, self.ended = "", threading.Event()
        # No daemon: what was paid for is written down before Python ends.
        self._thread = threading.Thread(target=self._run, args=(work,), name="dpselect-studio-job")
        self._thread.start()

    def _run(self, work: Callable[[Tell], None]) -> None:
        try:
            work(self.said.append)
        except BaseException as problem:  # a thread that dies silently would leave its page waiting for ever
            notes = getattr(problem, "__notes__", []) if isinstance(problem, DpselectError) else []
            self.problem = " ".join([explain(problem).sentence or "The work was stopped.", *notes])
        finally:
            self.ended.set()


class Session:
    """One custodian, one study, one release at a time."""

    def __init__(self, study_file: Path) -> None:
        self.study_file = study_file
        self.source: Source | None = None
        self.plan: PlanFacts | None = None
        self.check: CheckPage | None = None  # kept in memory until it is closed
        self.looked = False
        self.verified = Verified()
        self.job: Job | None = None
        self.order: ReportPlan | None = None  # what the job releases
        self._waiting: Confirmation | None = None
        self._used = ""  # the nonce of the release that is under way or has ended
        self._drafts: dict[str, Draft] = {}
        self._lock = threading.Lock()

    def keep(self, screen: str, form: Form, problems: Problems) -> None:
        """Keep a form that was not accepted until its screen is shown, so that going back sends nothing again."""
        self._drafts[screen] = Draft(form, problems)

    def kept(self, screen: str, *, forget: bool = True) -> Draft:
        """The form that waits to be corrected; an empty one if none does."""
        return (self._drafts.pop if forget else self._drafts.get)(screen, Draft())

    @property
    def waiting(self) -> Confirmation | None:
        """The release that waits for its confirmation, if one does."""
        return self._waiting

    def ask(self, order: ReportPlan) -> None:
        """Put a release before the custodian; one that waited before is forgotten."""
        with self._lock:
            self._waiting = Confirmation(order=order)

    def withdraw(self) -> None:
        """Forget the release that waits."""
        with self._lock:
            self._waiting = None

    def start(self, nonce: str, begin: Callable[[ReportPlan], Job]) -> bool:
        """Use a confirmation up and begin its work; False if it is unknown or used, or while something is under way.

        This is the one place where a release begins. The nonce is taken and the job put down under one lock, so of any
        number of requests with the same nonce one begins, and the others find nothing left to begin.
        """
        with self._lock:
            waiting = self._waiting
            if waiting is None or not secrets.compare_digest(nonce.encode(), waiting.nonce.encode()):
                return False
            if self.busy:
                return False
            self._waiting, self._used = None, waiting.nonce
            self.order = waiting.order
            self.job = begin(waiting.order)
            return True

    def begin(self, work: Callable[[], Job]) -> Job | None:
        """Begin work that costs nothing, unless something is under way: of two requests at a time one."""
        with self._lock:
            if self.busy:
                return None
            self.job = work()
            return self.job

    def began(self, nonce: str) -> bool:
        """Whether this confirmation is the one whose release is under way or has ended: a double click, a reload."""
        return bool(self._used) and secrets.compare_digest(nonce.encode(), self._used.encode())

    @property
    def busy(self) -> bool:
        """Whether a release is under way."""
        return self.job is not None and not self.job.ended.is_set()

    def wait(self) -> None:
        """Until what is under way has ended."""
        if self.job is not None:
            self.job.ended.wait()
