"""Public. A bounded, announced wait for a ledger that others are using."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dpselect.errors import LedgerError

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

    def attempts(self, name: str) -> Iterator[float]:
        """Yield the seconds left, once for each attempt, with short random pauses between; LedgerError at the end."""
        start, announced = time.monotonic(), False
        while True:
            passed = time.monotonic() - start
            yield max(0.0, self.limit - passed)
            passed = time.monotonic() - start
            if passed >= self.limit:
                raise LedgerError(
                    f"{name} was busy for {self.limit:g} s and nothing was charged; try again when others have finished."
                )
            if passed >= self.quiet and not announced:
                announced = True
                self.announce(f"Waiting for {name}, which others are using (for at most {self.limit:g} s).")
            # No randomness of a release depends on this pause: it only keeps waiting processes from marching in step.
            time.sleep(min(random.uniform(0.001, 0.02), self.limit - passed))
