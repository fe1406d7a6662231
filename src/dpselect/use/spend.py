"""The one way to spend: check, confirm, gather, choose, estimate, commit, deliver. Every door goes through here.

What a run has drawn, as the ledger keeps it (`Sealed`), and what is handed over (`Released`) stand at the end.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Self

from msgspec.structs import replace

from dpselect.assume.recipe import Recipe, too_short
from dpselect.assume.records import Public, sha256_of
from dpselect.errors import DataError, LedgerError, ShortTableWarning
from dpselect.gather.kept import KeptRows
from dpselect.gather.moments import MomentSummary
from dpselect.gather.rows import Telling, gather
from dpselect.gather.sources.open import data_place
from dpselect.release.account import Account, Committed
from dpselect.release.analysis import charge_of, today
from dpselect.release.drawn import Drawn
from dpselect.release.estimate import Estimate, draw_estimate, estimate_plan, finish_drawing, solved
from dpselect.release.ledger.entries import Charge, Receipt
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.selection import Selection, draw_selection, selection_charge
from dpselect.use.analysis import Analysis
from dpselect.use.order import Order, rows_beforehand

Deliver = Callable[["Released"], None]


def spend(
    order: Order,
    source: Any,
    account: Account,
    *,
    request: str | None = None,
    look: Callable[[], int | None] | None = None,
    confirm: Callable[[], None] = lambda: None,
    deliver: Deliver = lambda released: None,
    reading: Callable[[], AbstractContextManager[Telling | None]] = nullcontext,
) -> Released:
    """Run an order, and charge for it.

    Until the commit nothing is charged and nothing of what was drawn is seen: whatever stops the program before has cost nothing.
    After it the release waits in the ledger until `deliver` has handed it over, whoever calls next (`resume`).
    `look` refuses what is wrong with the head of the table, and gives the number of rows where the method has to know it.
    `confirm` raises if nobody agrees, and `reading` tells how far the reading is, and stays until all is computed. `request` tells
    this order from others; by default it is a hash of all that is asked for.
    """
    looks = None if look is None else (look,)
    said: dict[str, Any] = {"request": request, "confirm": confirm, "deliver": deliver, "reading": reading}
    return spend_together((order,), source, account, looks=looks, **said)[0]


def spend_together(
    orders: Sequence[Order],
    source: Any,
    account: Account,
    *,
    request: str | None = None,
    looks: Sequence[Callable[[], int | None]] | None = None,
    confirm: Callable[[], None] = lambda: None,
    deliver: Deliver = lambda released: None,
    reading: Callable[[], AbstractContextManager[Telling | None]] = nullcontext,
) -> list[Released]:
    """Run several orders of one kind about the same rows, as `spend` does one: all charges and releases are one transaction."""
    account = dataclasses.replace(account, place=data_place(source))
    with account.session():
        account.check(*(charge for order in orders for charge in order.charges))
        recipes = []
        for place, order in enumerate(orders):
            rows = rows_beforehand(source, order) if looks is None else looks[place]()
            recipes.append(order.recipe(rows) if order.method and order.method.rule.counts_rows else None)
            if (recipe := recipes[-1]) is not None and (short := too_short(recipe)):
                warnings.warn(short, ShortTableWarning, stacklevel=3)
        confirm()
        problems: list[Exception] = []

        def draw(order: Order, gathered: _Gathered) -> Sealed:
            recipe = gathered.recipe
            selection = None if recipe is None else draw_selection(gathered.scores, recipe)
            estimate = None
            try:
                estimate = _drawn_estimate(order, selection, gathered)
            except Exception as problem:  # it may tell what was chosen, so it is told after the choice is paid for
                problems.append(problem)
            return Sealed(title=order.title, made=today(), selection=selection, estimate=estimate)

        if request is None:
            requests = [order.request(account.data) for order in orders]
            request = requests[0] if len(requests) == 1 else sha256_of(requests)
        with reading() as progress:
            found = [_gathered(order, recipe, source, progress) for order, recipe in zip(orders, recipes, strict=True)]
            charges: list[Charge] = []
            for order, gathered in zip(orders, found, strict=True):
                first = order.charges[:1] if gathered.recipe is None else (selection_charge(gathered.recipe),)
                charges += (*first, *order.charges[1:])
            committed = account.commit(charges, lambda: joined(list(map(draw, orders, found))), request=request)
            if problems:
                drawn = [part.selection for part in committed.release.parts if part.selection is not None]
                if not drawn:
                    committed.delivered()  # nothing was drawn that could be handed over
                else:
                    problems[0].add_note(f"The choice was drawn and is paid for: {'; '.join(map(str, drawn))}.")
                raise problems[0]
            released = _finished(committed, [gathered.again for gathered in found])
        return hand_over(committed, released, deliver)


def hand_over(committed: Committed[Sealed], released: list[Released], deliver: Deliver) -> list[Released]:
    """Deliver what is committed and finished; only then does the ledger say that it was handed over."""
    for each in released:
        deliver(each)
    committed.delivered()
    return released


def _finished(committed: Committed[Sealed], sources: Sequence[Any]) -> list[Released]:
    """What is committed, with all of its rounds and its equations solved.

    Where rows are too many to be held in memory, each round reads them anew, and is kept before the next one uses it.
    """
    parts = list(committed.release.parts)
    for place, source in enumerate(sources):

        def keep(rounds: Drawn, place: int = place) -> None:
            parts[place] = replace(parts[place], estimate=rounds)
            committed.keep(joined(parts))

        if (estimate := parts[place].estimate) is not None:
            parts[place] = replace(parts[place], estimate=finish_drawing(source, estimate, keep))
    names = [part.response for part in parts]
    return [
        dataclasses.replace(part.solved(), beside=(*names[:place], *names[place + 1 :]))
        for place, part in enumerate(parts)
    ]


def resume(ledger: Ledger, source: Any, deliver: Deliver, *, request: str | None = None) -> int:
    """Deliver what was committed and not handed over, all of it or that of one request; nothing is charged. Says how many.

    LedgerError if a text was edited meanwhile, so that more would be drawn than was paid for.
    """
    with ledger.session():
        waiting = [each for each in ledger.undelivered() if request in (None, each.request)]
        for each in waiting:
            sealed = Sealed.from_json(each.text)
            _require_paid(sealed, each.id, ledger)
            committed = Committed(sealed, each.id, ledger)
            hand_over(committed, _finished(committed, [source] * len(sealed.parts)), deliver)
    return len(waiting)


def _require_paid(sealed: Sealed, id: str, ledger: Ledger) -> None:
    """Refuse a text that was edited while it waited, before anything is drawn: its price is the one that its own entry states.

    An entry pays once: a second part beside the first, with the same receipt, would be drawn anew.
    """
    entries = {entry.index: entry for entry in ledger.entries() if entry.release == id}
    for part in (part for each in sealed.parts for part in (each.selection, each.estimate)):
        if part is None:
            continue
        entry = None if part.receipt is None else entries.pop(part.receipt.index, None)
        if entry is None or not entry.states(charge_of(part)):
            raise LedgerError(
                f"The release {id} states another price or study than its entry in the ledger: its text was edited. Nothing was "
                "drawn; restore the ledger from a backup."
            )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Gathered:
    """Private. The recipe of a choice as the rows are, the scores that it is drawn from, and what the estimate's family gathers."""

    recipe: Recipe | None
    scores: Any
    beside: Any
    again: Any

    def __repr__(self) -> str:
        return "_Gathered(values=<private>)"


def _gathered(order: Order, recipe: Recipe | None, source: Any, progress: Telling | None) -> _Gathered:
    """Read the rows once for all that the order needs: what is wrong with them comes out before anything is charged."""
    asked, method, study = order.estimating, order.method, order.study
    if asked is not None and asked.family.reads_rows:
        asked.family.check_source(source, study)
    beside = None if asked is None else asked.family.gathers(study)
    if method is None:
        # Moments that were gathered before are taken as they are.
        asks_moments = beside is None or isinstance(beside, MomentSummary)
        found = gather(source, study, None if asks_moments else beside, progress)
        return _Gathered(None, None, found, _rows_again(found, source))
    sums, found = method.gather(source, study, recipe, beside, progress)
    again = _rows_again(found, source)
    recipe = order.recipe(study.public_rows(sums.n)) if recipe is None else recipe
    return _Gathered(recipe, method.scores(sums, recipe), found, again)


def _rows_again(found: Any, source: Any) -> Any:
    """Where rounds read the rows: in memory if they are all there, else at their source."""
    return found if isinstance(found, KeptRows) and found.whole else source


def _drawn_estimate(order: Order, selection: Selection | None, gathered: _Gathered) -> Drawn | None:
    """The noise of the estimate, as far as it is drawn together with the choice."""
    asked, study, draws = order.estimating, order.study, order.draws
    if asked is None:
        return None
    columns, directions = asked.columns or (), asked.directions or {}
    if selection is not None:
        columns, directions = tuple(sorted(selection.columns)), selection.directions
        draws = asked.family.settle(draws, study, columns, asked.price)
    facts: dict[str, Any] = {"level": asked.level, "selected": asked.selected, "directions": directions}
    drawn = draw_estimate(
        gathered.beside, estimate_plan(study, columns, asked.family, draws, order.charges[-1], **facts)
    )
    if isinstance(gathered.again, KeptRows):
        # All rounds are one outcome: nothing of it is seen before the commit, and a kill between two costs nothing.
        return finish_drawing(gathered.again, drawn, lambda rounds: None, draws)
    return drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """Public. What a run gives: a choice, an estimate, or both. `beside` are the other responses that it was about."""

    title: str
    made: str
    selection: Selection | None
    coefficients: Estimate | None
    beside: tuple[str, ...] = ()

    @property
    def analysis(self) -> Analysis:
        """What a report shows, and what Python has of it."""
        if self.selection is None:
            raise DataError(
                "This release is an estimate alone, which has no report: take it up in Python, by undelivered()."
            )
        return Analysis(
            title=self.title,
            made=self.made,
            selection=self.selection,
            coefficients=self.coefficients,
            beside=self.beside,
        )


def joined(parts: Sequence[Sealed]) -> Sealed:
    """What was drawn together, as one record: the inverse of `Sealed.parts`."""
    return replace(parts[0], beside=tuple(parts[1:]))


class Sealed(Public, frozen=True, kw_only=True, tag_field="format", tag="dpselect sealed 1"):
    """What was drawn so far, before the equations are solved, which takes longer than the draw.

    `estimate` is None if none was asked for, or if nothing could be drawn for the model that was chosen. `beside` is what was drawn
    together with it, about other responses.
    """

    title: str
    made: str
    selection: Selection | None
    estimate: Drawn | None
    beside: tuple[Sealed, ...] = ()

    @property
    def parts(self) -> tuple[Sealed, ...]:
        """Each response by itself."""
        return (replace(self, beside=()), *self.beside)

    @property
    def response(self) -> str:
        """What it is about."""
        release = self.estimate if self.selection is None else self.selection
        return "" if release is None else release.study.response.name

    def with_receipts(self, receipts: Sequence[Receipt]) -> Self:
        """The same with the receipts of its charges: of each response that of the choice first, then that of the estimate.

        All responses have as many charges, also where an estimate could not be drawn.
        """
        own = len(receipts) // (1 + len(self.beside))
        selection, estimate, rest = self.selection, self.estimate, receipts[:own]
        if selection is not None:
            selection, rest = selection.with_receipts(rest[:1]), rest[1:]
        others = [each.with_receipts(receipts[own * k : own * (k + 1)]) for k, each in enumerate(self.beside, start=1)]
        return replace(
            self,
            selection=selection,
            estimate=estimate and estimate.with_receipts(rest[:1]),
            beside=tuple(others),
        )

    def solved(self) -> Released:
        """What is handed over; the same each time."""
        estimate = None if self.estimate is None else solved(self.estimate)
        return Released(title=self.title, made=self.made, selection=self.selection, coefficients=estimate)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The inverse of `to_json`."""
        try:
            return super().from_json(text)
        except DataError:
            raise DataError(
                "A release in the ledger was not sealed by this program: take it up in Python, by undelivered()."
            ) from None
