"""Public. Checking a selection whose bounds were bought: both releases, from their text alone and against the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpselect.assume.models.budget import plain
from dpselect.assume.models.tuning import tuned_assumptions
from dpselect.assume.study.canonical import sha256_of
from dpselect.errors import DataError, DpselectError
from dpselect.randomize.interval import edges, interval_range
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.tune import tuning_charge
from dpselect.release.tuned_selection import FORMAT, TunedSelection
from dpselect.report.verify.answers import Check
from dpselect.report.verify.form import plain_values
from dpselect.report.verify.records import find_record, place_of, states


def is_tuned(text: str) -> bool:
    """Whether a text says that it is a selection with bought bounds."""
    if not text.lstrip().startswith("{"):
        return False
    values = plain_values(text)
    return isinstance(values, dict) and values.get("format") == FORMAT


def read_tuned(values: dict[str, Any]) -> TunedSelection:
    """The release in plain values that have the published form."""
    try:
        return TunedSelection.from_dict(values)
    except DpselectError as problem:
        raise DataError(f"This is not a dpselect release that can be true: {problem}") from None
    except Exception:  # an edited text can contradict itself anywhere
        raise DataError("This is not a dpselect release: its parts contradict one another.") from None


def tuned_checks(tuned: TunedSelection, values: dict[str, Any]) -> Iterator[Check]:
    """What can be said of the bounds, and of the two releases together."""
    yield Check(
        "it holds a choice alone, and nothing is added", values == tuned.to_dict(), f"sha256 {sha256_of(values)}"
    )
    yield from bounds_checks(tuned)


def bounds_checks(tuned: TunedSelection) -> Iterator[Check]:
    """What can be said of the bounds alone."""
    stated, bounds, recipe = tuned.stated, tuned.bounds, tuned.selection.recipe
    low, high = bounds.values
    places = edges(*stated.response.bounds, tuned.tuning.steps).tolist()
    inside = low in places and high in places and low < high
    yield Check("the bought bounds are among those that were for sale", inside, f"{low:g} to {high:g}")
    same = inside and bounds.assumptions == tuned_assumptions(stated, low, high, tuned.tuning) == recipe.assumptions
    yield Check("the choice was made with the bought bounds, all else as stated", same, f"sha256 {stated.hash}")
    needed = interval_range(tuned.tuning.outside, stated.neighbors)
    yield Check(
        "the range paid for the bounds is enough", bounds.range >= needed, f"{bounds.range:g}, needed {needed:g}"
    )
    pure = bounds.guarantee.delta == 0 and bounds.guarantee.neighbors == stated.neighbors
    yield Check("the bounds were bought for a pure price", pure, str(bounds.guarantee))
    paid = recipe.paid_before == bounds.guarantee.epsilon
    yield Check("the choice says what its bounds cost", paid, f"epsilon {plain(recipe.paid_before)}")
    if bounds.receipt is not None:
        same = (bounds.receipt.epsilon, bounds.receipt.delta) == (bounds.guarantee.epsilon, bounds.guarantee.delta)
        found = f"record {bounds.receipt.index}, epsilon {plain(bounds.receipt.epsilon)}"
        yield Check("the receipt for the bounds is for their price", same, found)


def tuned_ledger_checks(tuned: TunedSelection, ledger: Ledger) -> Iterator[Check]:
    """Whether the ledger holds the charge for the bounds; that for the choice is checked like any other."""
    what, record = "the ledger holds the charge for the bounds", find_record(tuned.bounds.receipt, ledger)
    if isinstance(record, str):
        yield Check(what, False, record)
        return
    paid = tuning_charge("bounds", tuned.bounds.guarantee.epsilon, tuned.stated)
    yield Check(what, states(record, paid), place_of(record))
