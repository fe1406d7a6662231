"""Public. Who pays for a release, and under which labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.records import Charge, Receipt


@dataclass(frozen=True, slots=True)
class Account:
    """Public. A ledger, and what its records call the data and the analyst; made once, at the door.

    Without a ledger nothing is counted, and who calls has to keep the sum.
    """

    ledger: Ledger | None = None
    data: str = ""
    analyst: str = ""

    def check(self, *charges: Charge) -> None:
        """Refuse now what the ledger would refuse later: all of the charges together must fit."""
        if self.ledger is not None:
            self.ledger.check(*(self._labelled(charge) for charge in charges))

    def charge(self, charge: Charge) -> Receipt | None:
        """The receipt, once the charge is on disk."""
        return None if self.ledger is None else self.ledger.charge(self._labelled(charge))

    def _labelled(self, charge: Charge) -> Charge:
        return replace(charge, data=self.data, analyst=self.analyst)


NO_ACCOUNT = Account()
"""Nobody pays, nothing is written."""
