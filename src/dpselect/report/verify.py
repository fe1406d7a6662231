"""Public. Verifying a report independently: from the report alone, and against the ledger where there is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

from dpselect.assume.budget import plain
from dpselect.assume.records import sha256_of
from dpselect.errors import DpselectError, LedgerError
from dpselect.release.analysis import AnalysisRecord, charge_of
from dpselect.release.checks import Check, compared
from dpselect.release.drawn import Drawn, Term
from dpselect.release.equations.findings import Amount
from dpselect.release.estimate import Estimate
from dpselect.release.ledger.entries import Entry, Receipt
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.sealed import Sealed
from dpselect.release.selection import Selection
from dpselect.report.form import is_page, read_report
from dpselect.report.page import report_page
from dpselect.report.phrases import cost_text
from dpselect.report.selection_checks import selection_checks

SOLUTION_TOLERANCE = 1e-3
"""Two machines come so near each other, as a share of an interval: descents end where another step would gain next to nothing."""

Release = Selection | Estimate


def check_report(text: str, ledger: Ledger | None = None) -> list[Check]:
    """Everything that can be checked, in the order a reader would."""
    analysis, values = read_report(text)
    selection, estimate = analysis.selection, analysis.coefficients
    steps: list[Callable[[], Iterable[Check]]] = [
        lambda: _text_checks(text, analysis, values),
        lambda: selection_checks(selection),
    ]
    if estimate is not None:
        steps += [
            lambda: _estimate_checks(estimate, selection),
            lambda: estimate.kind.checks(estimate, selection.recipe),
            lambda: _solution_checks(estimate),
        ]
    steps.append(lambda: [_receipt_check(release) for release in analysis.releases if release.receipt is not None])
    if ledger is not None:
        steps += [partial(_ledger_checks, release, ledger) for release in analysis.releases]
        steps.append(partial(_kept_checks, analysis, ledger))
    return [check for step in steps for check in _answered(step)]


def _answered(step: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """What a step finds; if it cannot even be computed, because the report contradicts itself, that is a no."""
    try:
        yield from step()
    except (LedgerError, MemoryError):
        raise
    except Exception as problem:
        yield Check("report can be recomputed", False, f"it cannot ({type(problem).__name__})")


def _text_checks(text: str, analysis: AnalysisRecord, values: dict[str, Any]) -> Iterator[Check]:
    same = values == (analysis if "selection" in values else analysis.selection).to_dict()
    # A report whose coefficients were cut out is a true one of a choice: this line lets its reader see which it is.
    parts = "a selection" if analysis.coefficients is None else "a selection and its coefficients"
    yield Check(f"report holds {parts}, and nothing was added", same, f"sha256 {sha256_of(values)}")
    paid = [charge_of(release) for release in analysis.releases]
    cost = sum((charge.epsilon for charge in paid), Decimal(0)), sum((charge.delta for charge in paid), Decimal(0))
    stated = analysis.guarantee
    yield Check("privacy cost", cost == (stated.epsilon, stated.delta), cost_text(stated.epsilon, stated.delta))
    if analysis.made:
        yield Check("date of the release", _is_date(analysis.made), analysis.made[:10])
    if is_page(text):
        yield _page_check(text, analysis)


def _is_date(made: str) -> bool:
    """Whether it is written as 2026-11-15: whatever else stands there would be shown as the date."""
    try:
        return date.fromisoformat(made).isoformat() == made
    except ValueError:
        return False


def _page_check(text: str, analysis: AnalysisRecord) -> Check:
    """The page is what this version makes of the release. Of another version's page nobody here knows what it should be."""
    what, selection = "page shows the release inside it", analysis.selection
    same = text.strip() == report_page(analysis).strip()
    return compared(what, same, selection.formula, selection.version, instead=": verify the JSON file instead")


def _estimate_checks(estimate: Estimate, selection: Selection) -> Iterator[Check]:
    many, mine, chosen = estimate.kind.words.many, set(estimate.columns), set(selection.columns)
    same = estimate.study.hash == selection.study.hash
    model = mine <= chosen if estimate.kind.submodels else mine == chosen
    yield Check(f"{many} belong to the selected model", same and model, estimate.formula)
    # One report, one table: what was estimated was selected before, and intervals that ignore it must say so.
    yield Check(f"{many} say that the model was selected", estimate.selected, estimate.formula)
    told = [f"{name} {way}" for name, way in estimate.directions.items() if way is not None]
    same = estimate.directions == selection.directions
    yield Check(f"{many} carry the directions of the selection", same, ", ".join(told) or "none")


def _solution_checks(estimate: Estimate) -> Iterator[Check]:
    """Solve the release anew, once, and compare all that is said to follow from it."""
    what, found = "effects follow from the released sums", f"{len(estimate.terms)} terms"
    try:
        again = estimate.with_intervals()
    except (DpselectError, ValueError, ArithmeticError):
        yield compared(what, False, found, estimate.version)
        return
    pairs = [(estimate.terms, again.terms), (estimate.unadjusted, again.unadjusted)]
    same = all(len(stated) == len(found) and all(map(_same_term, stated, found)) for stated, found in pairs)
    same = same and _same_amount(estimate.residual_deviation, again.residual_deviation)
    same = same and _same_scales(estimate.scales, again.scales)
    same = same and _same_amount(estimate.r_squared, again.r_squared) and _close(estimate.rows, again.rows, 0.0)
    yield compared(what, same, found, estimate.version)
    if same:
        yield from _side_check(estimate, again)


def _same_term(stated: Term, found: Term) -> bool:
    """Whether a stated term is the one that was found, as near as two machines come."""
    size = max((abs(end) for end in (found.lower, found.upper) if end is not None), default=0.0)
    room = SOLUTION_TOLERANCE * (size if found.visible is None else found.visible)
    parts = ("value", "error", "lower", "upper", "adjusted_lower", "adjusted_upper", "visible")
    close = all(_close(getattr(stated, part), getattr(found, part), room) for part in parts)
    same = _close(stated.privacy_share, found.privacy_share, SOLUTION_TOLERANCE)
    return close and same and stated.name == found.name


def _side_check(estimate: Estimate, again: Estimate) -> Iterator[Check]:
    """Whether each end of an interval is on the side of zero where it is found: that is what is told as clear or as hidden.

    An end within the tolerance of zero may fall on either side on another machine, and anybody can move it across in a report: of
    such a one nothing is confirmed.
    """
    ends = ("lower", "upper", "adjusted_lower", "adjusted_upper")
    for stated, found in zip((*estimate.terms, *estimate.unadjusted), (*again.terms, *again.unadjusted), strict=True):
        if any(_side(getattr(stated, end)) != _side(getattr(found, end)) for end in ends):
            yield Check(
                "intervals are on the same side of zero here",
                None,
                f"{stated.name} has an end so near zero that its side cannot be told: read it as hidden",
            )


def _side(end: float | None) -> int | None:
    return None if end is None else (end > 0) - (end < 0)


def _same_scales(stated: dict[str, float], found: dict[str, float]) -> bool:
    near = all(math.isclose(stated[name], found[name], rel_tol=SOLUTION_TOLERANCE) for name in stated if name in found)
    return stated.keys() == found.keys() and near


def _same_amount(stated: Amount, found: Amount) -> bool:
    room = SOLUTION_TOLERANCE * abs((found.upper or 0.0) - (found.lower or 0.0))
    return all(_close(getattr(stated, end), getattr(found, end), room) for end in ("value", "lower", "upper"))


def _close(stated: float | None, found: float | None, room: float) -> bool:
    if stated is None or found is None:
        return stated is found
    return math.isclose(stated, found, rel_tol=1e-9, abs_tol=room)


def _receipt_check(release: Release) -> Check:
    """Whether a receipt is for the price of its release."""
    receipt = release.receipt
    assert receipt is not None
    paid = charge_of(release)
    same = receipt.epsilon == paid.epsilon and receipt.delta == paid.delta
    return Check(
        "receipt matches the privacy cost", same, f"ledger entry {receipt.index}, epsilon {plain(receipt.epsilon)}"
    )


def _ledger_checks(release: Release, ledger: Ledger) -> Iterator[Check]:
    """Whether ledger entry is unchanged for a release, and what the receipt says was left."""
    what, receipt = "ledger entry is unchanged", release.receipt
    entry = _entry_of(receipt, ledger)
    if receipt is None or isinstance(entry, str):
        yield Check(what, False, str(entry))
        return
    same_version = entry.parameters.get("version") == release.version
    where = f"entry {entry.index} of {entry.time[:16]} UTC, {entry.data}"
    yield Check(what, same_version and entry.states(charge_of(release)), where)
    left, now = receipt.remaining, ledger.remaining_after(receipt.index)
    same = (left.epsilon, left.delta) == (now.epsilon, now.delta)
    # Another version may have had another theorem to add up with.
    yield compared("receipt matches the remaining budget", same, f"{left}", str(entry.parameters.get("version")))


def _entry_of(receipt: Receipt | None, ledger: Ledger) -> Entry | str:
    """The entry that a receipt is for, or why there is none."""
    if receipt is None:
        return "the report has no receipt"
    try:
        ledger.verify(receipt)
    except LedgerError as problem:
        return str(problem)
    return next(each for each in ledger.entries() if each.index == receipt.index)


def _kept_checks(analysis: AnalysisRecord, ledger: Ledger) -> Iterator[Check]:
    """Whether the report is the release that its entries paid for: another model and other draws may have the same price."""
    what = "report is the release in the ledger"
    entries = [_entry_of(release.receipt, ledger) for release in analysis.releases]
    ids = {entry.release for entry in entries if isinstance(entry, Entry)}
    if not all(isinstance(entry, Entry) for entry in entries):
        return  # that there is no entry is said already
    if len(ids) > 1:
        # A selection of one release with the coefficients of another is a pair that somebody put together.
        yield Check(what, False, "its selection and its coefficients are of two releases")
        return
    try:
        id = ids.pop()
        kept = Sealed.from_text(ledger.release(id)).with_receipts(ledger.receipts(id)).to_dict()
    except LedgerError:  # cleared away, as the ledger's owner may
        yield Check(what, None, "the ledger holds its price, and its text no longer")
        return
    parts = [part for part in (kept, *kept.get("beside", ())) if part.get("selection") is not None]
    own = [part for part in parts if _is_kept(analysis, part)]
    others = tuple(_response(part) for part in parts if part not in own)
    if not own or others != analysis.beside:
        yield Check(what, False, "the ledger holds another")
    else:
        # `to_html` takes another title, so one is no forgery; but nobody may think that the ledger vouches for it.
        later = "" if analysis.title in ("", own[0].get("title")) else "; its title was written after the release"
        yield Check(what, True, f"{analysis.selection.formula}{later}")


def _response(part: dict[str, Any]) -> str:
    return str(part["selection"]["recipe"]["study"]["response"]["name"])


def _is_kept(analysis: AnalysisRecord, part: dict[str, Any]) -> bool:
    """Whether a report is this part of a release, of one response: its day, if it says one, its selection and its draws."""
    selection, estimate = analysis.selection, analysis.coefficients
    same = _same_fields(part["selection"], selection, set(Selection.__struct_fields__))
    same = same and analysis.made in ("", part.get("made"))
    if estimate is None:
        return same
    # Other intervals and, of some families, smaller models follow from the same draws, and cost nothing.
    free = {"level", "columns"} if estimate.kind.submodels else {"level"}
    return same and _same_fields(part.get("estimate"), estimate, set(Drawn.__struct_fields__) - free)


def _same_fields(kept: dict[str, Any] | None, release: Release, names: set[str]) -> bool:
    """Whether a release has these fields as they are kept, and the entry that paid for them."""
    stated = release.to_dict()
    if kept is None or kept["receipt"]["index"] != stated["receipt"]["index"]:
        return False
    return all(kept.get(name) == stated.get(name) for name in names - {"receipt"})
