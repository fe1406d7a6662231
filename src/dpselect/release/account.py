"""Public. Who pays for a release, and under which labels."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from dpselect.errors import NoLedgerWarning, NoLedgerYet
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
        # The version too: a report that states another than the ledger has seen was edited.
        facts = {**charge.parameters, "version": software_version()}
        return replace(charge, data=self.data, analyst=self.analyst, parameters=facts)


LedgerPlace = Ledger | str | os.PathLike[str]
"""What a caller may give as a ledger: one that is open, or the place of one."""


def account_of(ledger: LedgerPlace | None, data: str = "", analyst: str = "") -> Account:
    """The account of a call from Python. A path or a URL opens the ledger there; without one a warning says so, once."""
    if ledger is None:
        _warn_once()
    elif not isinstance(ledger, Ledger):
        try:
            ledger = Ledger(ledger)
        except NoLedgerYet:
            raise NoLedgerYet(
                "There is no ledger at the place that was given as ledger=; create it once and state its totals: "
                "dpselect.Ledger(place, epsilon=...)."
            ) from None
    return Account(ledger, data, analyst)


def _warn_once() -> None:
    if not _warned:
        _warned.append(True)
        warnings.warn(
            "This release is charged to no ledger, so nothing adds it up with others from the same rows: give ledger='budget.db'. "
            "This is said once.",
            NoLedgerWarning,
            stacklevel=4,
        )


_warned: list[bool] = []


@cache
def software_version() -> str:
    """The installed version, for the record."""
    try:
        return version("dpselect")
    except PackageNotFoundError:
        return "unknown"


NO_ACCOUNT = Account()
"""Nobody pays, nothing is written."""
