"""Public. What every place of a ledger can do, and a bounded, announced wait for one that others are using."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Protocol

from dpselect.errors import LedgerError, StudyError
from dpselect.release.ledger.chain import Contents, Row, Sealed

Announce = Callable[[str], None]

Addition = tuple[Sequence[Row], Sealed | None]
"""What one transaction adds: rows that follow the last one, and the release that they pay for."""

SEALED = "SELECT id, entry, time, request, text, delivered FROM outbox"
"""The fields of `Sealed`, in order."""

log = logging.getLogger("dpselect.ledger")


class Store(Protocol):
    """Public. Where a ledger is kept; it keeps rows and texts and knows nothing of their meaning."""

    name: str  # opens a sentence: "The ledger 'budget.db'"
    patience: Patience

    def address(self) -> str | None:
        """Where the ledger is, for people; None if in memory."""

    def key(self) -> str:
        """What opens the same ledger in another process; LedgerError if nothing may."""

    def create(self, opening: Row) -> None:
        """Make the ledger with its opening row, unless there is one already."""

    def append(self, decide: Callable[[Contents], Addition]) -> None:
        """Let `decide` make the next rows from all, and write them and the release, in one exclusive and durable transaction."""

    def read(self) -> Contents:
        """The whole chain as of one moment, without being in a writer's way."""

    def undelivered(self) -> list[Sealed]:
        """The releases that were not handed over, the oldest first."""

    def sealed(self, id: str) -> Sealed | None:
        """The release with this id."""

    def change(self, id: str, decide: Callable[[Sealed | None], Sealed], *, durable: bool = True) -> None:
        """Let `decide` say what becomes of a release, and write it, in one exclusive transaction.

        One that is not durable comes after all that was written before it, and may be lost when the machine stops.
        """

    def hold(self) -> None:
        """Keep what is costly to open until `let_go`; calls may be nested."""

    def let_go(self) -> None:
        """End what `hold` began."""

    def close(self) -> None:
        """Let go of everything that is open; a ledger in memory ends here."""

    def require_chargeable(self) -> None:
        """LedgerError if nothing can be charged whatever it costs, as far as can be told without writing."""

    def others_with(self, label: str) -> list[str]:
        """Other ledgers nearby that hold entries for the data set `label`."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Public. How long to wait for a busy ledger, after how long to say so, and to whom.

    The default announcement is a warning of the logger "dpselect.ledger", which Python prints on standard error.
    """

    limit: float = 60.0
    quiet: float = 2.0
    announce: Announce = log.warning

    def __post_init__(self) -> None:
        if not isinstance(self.limit, int | float | Real) or not self.limit >= 0:
            raise StudyError(f"wait is {self.limit!r}; it must be a number of seconds, at least 0.")

    def attempts(self, name: str) -> Iterator[float]:
        """Yield the seconds left, once for each attempt, with short random pauses between; LedgerError at the end."""
        start, announced, pause = time.monotonic(), False, 0.002
        while True:
            yield max(0.0, self.limit - (time.monotonic() - start))
            passed = time.monotonic() - start
            if passed >= self.limit:
                raise LedgerError(
                    f"{name} was busy for {self.limit:g} s and nothing was charged; try again when others have finished."
                )
            if passed >= self.quiet and not announced:
                announced = True
                self.announce(
                    f"Waiting for {name[0].lower()}{name[1:]}, which others are using (for at most {self.limit:g} s)."
                )
            # No release depends on this randomness: it only keeps waiting processes from marching in step.
            time.sleep(min(random.uniform(0.5, 1) * pause, self.limit - passed))
            pause = min(2 * pause, 0.1)


def require_version(name: str, version: int, here: int) -> None:
    """Refuse a ledger whose tables are those of another version; nothing was published that would have to be brought up to date."""
    if version > here:
        raise LedgerError(f"{name} was written by a newer dpselect (schema {version}, here {here}); update dpselect.")
    if version < here:
        raise LedgerError(
            f"{name} was made by dpselect 0.2.0 or earlier (schema {version}, here {here}), which had no place for releases: open "
            "a new ledger, and state as its totals what this one has left."
        )


def is_address(path: str) -> bool:
    """Whether a ledger's path is the URL of a server."""
    return path.startswith(("postgresql://", "postgres://"))
