"""Public. Checking receipts, and against the ledger that each charge is the one that the release states."""

from __future__ import annotations

from collections.abc import Iterator

from dpselect.assume.models.budget import plain
from dpselect.errors import LedgerError
from dpselect.release.account import software_version
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.estimate import estimate_charge
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.records import Charge, Receipt, Record
from dpselect.release.odds.odds_ratios import OddsRatios
from dpselect.release.odds.release import odds_charge
from dpselect.release.select import selection_charge
from dpselect.release.selection import Selection
from dpselect.report.verify.answers import Check
from dpselect.report.verify.odds import plan_of

Release = Selection | Coefficients | OddsRatios


def receipt_check(release: Release) -> Check:
    """Whether a receipt is for the price of its release."""
    receipt = release.receipt
    assert receipt is not None
    paid = charge_of(release)
    same = receipt.epsilon == paid.epsilon and receipt.delta == paid.delta
    return Check("the receipt is for the price", same, f"record {receipt.index}, epsilon {plain(receipt.epsilon)}")


def ledger_checks(release: Release, ledger: Ledger) -> Iterator[Check]:
    """Whether the ledger holds the charge for a release, and what the receipt says was left."""
    what, receipt = "the ledger holds the charge", release.receipt
    record = find_record(receipt, ledger)
    if receipt is None or isinstance(record, str):
        yield Check(what, False, str(record))
        return
    # Version 0.1.0 did not tell the ledger which version it was.
    same_version = record.parameters.get("version", release.version) == release.version
    yield Check(what, same_version and states(record, charge_of(release)), place_of(record))
    left, now = receipt.left, ledger.left_after(receipt.index)
    same: bool | None = (left.epsilon, left.delta) == (now.epsilon, now.delta)
    if not same and record.parameters.get("version") != software_version():
        same = None  # another version may have had another theorem to add up with
    yield Check("the receipt says what was left", same, f"{left}")


def find_record(receipt: Receipt | None, ledger: Ledger) -> Record | str:
    """The record that a receipt is for, or why there is none."""
    if receipt is None:
        return "the report has no receipt"
    try:
        ledger.verify(receipt)
    except LedgerError as problem:
        return str(problem)
    return next(each for each in ledger.records() if each.index == receipt.index)


def states(record: Record, paid: Charge) -> bool:
    """Neither less was charged than is stated nor more: a stated price below the true one is the lie to look for."""
    facts = ("what", "mechanism", "epsilon", "delta", "assumptions", "count")
    same = all(getattr(record, fact) == getattr(paid, fact) for fact in facts)
    return same and all(record.parameters.get(name) == value for name, value in paid.parameters.items())


def place_of(record: Record) -> str:
    """Where and when a charge was made."""
    return f"record {record.index} of {record.time[:16]} UTC, {record.data}"


def charge_of(release: Release) -> Charge:
    """What the ledger must have been told of a release."""
    if isinstance(release, Selection):
        return selection_charge(release.recipe)
    if isinstance(release, OddsRatios):
        return odds_charge(plan_of(release))
    return estimate_charge(release.noisy.layout, release.noisy.noise, release.guarantee, release.assumptions)
