"""Public. A bounded, announced wait for a ledger that others are using."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real

from dpselect.errors import AssumptionError, LedgerError

Announce = Callable[[str], None]

log = logging.getLogger("dpselect.ledger")


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
            raise AssumptionError(f"wait is {self.limit!r}; it must be a number of seconds, at least 0.")

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
