"""The one way to spend: check, confirm, gather, choose, estimate, commit, deliver. Every door goes through here.

What is handed over (`Released`) stands at the end.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from dpselect.assume.power import too_short
from dpselect.assume.recipe import Recipe
from dpselect.assume.records import sha256_of
from dpselect.errors import DataError, LedgerError, ShortTableWarning, WaitingWarning
from dpselect.gather.kept import KeptRows
from dpselect.gather.moments import MomentSummary
from dpselect.gather.rows import Telling, gather
from dpselect.gather.sources.open import with_form_of
from dpselect.gather.sources.source import data_place, rows_address
from dpselect.randomize.rounds_noise import Answered
from dpselect.release.account import Account, Committed, software_version
from dpselect.release.analysis import charge_of, today
from dpselect.release.drawn import Drawn, Request
from dpselect.release.estimate import Estimate, draw_estimate, draw_rounds, solved
from dpselect.release.ledger.entries import Charge, Entry
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.sealed import Sealed, Stage, joined
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
        where = rows_address(source)

        def draw(order: Order, gathered: _Gathered) -> Sealed:
            recipe = gathered.recipe
            selection = None if recipe is None else draw_selection(gathered.scores, recipe)
            estimate = None
            try:
                estimate = _drawn_estimate(order, selection, gathered, at_once=where is None)
            except Exception as problem:  # it may tell what was chosen, so it is told after the choice is paid for
                problems.append(problem)
            sealed = Sealed(title=order.title, made=today(), selection=selection, estimate=estimate)
            return sealed if sealed.is_done else replace(sealed, rows=sha256_of(where))

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

        def keep(answered: tuple[Answered, ...], place: int = place) -> None:
            committed.keep(Stage(part=place, answered=answered))

        if (estimate := parts[place].estimate) is not None:
            parts[place] = replace(parts[place], estimate=draw_rounds(source, estimate, keep))
    names = [part.response for part in parts]
    return [
        dataclasses.replace(_solved(part), beside=(*names[:place], *names[place + 1 :]))
        for place, part in enumerate(parts)
    ]


def _solved(part: Sealed) -> Released:
    """What is handed over of one response; the same each time."""
    estimate = None if part.estimate is None else solved(part.estimate)
    return Released(title=part.title, made=part.made, selection=part.selection, coefficients=estimate)


def resume(ledger: Ledger, source: Any, deliver: Deliver, *, request: str | None = None) -> int:
    """Deliver what was committed and not handed over, all of it or that of one request; nothing is charged. Says how many.

    `source` is read for a release that was stopped between its rounds, and only if it is what that release was charged for: of
    other rows nothing is read, and such a release goes on waiting. So does one whose text is not what its entries hold, or states
    more than they have paid for: nothing of it is drawn or delivered, and the others are. LedgerError if there are no others.
    """
    count, refused = 0, None
    with ledger.session():
        for each in ledger.undelivered(request):
            try:
                sealed = Sealed.from_text(each.text).with_receipts(ledger.receipts(each.id))
                entry = _paying_entry(sealed, each.id, ledger)
                if not sealed.is_done:
                    _require_resumable(source, sealed, entry)
                    Account(ledger, entry.data, place=data_place(source)).read_again()
                committed = Committed(sealed, each.id, ledger, stages=each.text.count("\n") + 1)
                finished = _finished(committed, [source] * len(sealed.parts))
            except (DataError, LedgerError) as problem:
                refused = problem
                continue
            hand_over(committed, finished, deliver)
            count += 1
    if refused is not None and not count:
        raise refused
    if refused is not None:
        warnings.warn(str(refused), WaitingWarning, stacklevel=2)
    return count


def _require_resumable(source: Any, sealed: Sealed, entry: Entry) -> None:
    """Refuse to draw the rounds that a stopped release has left, of other rows or by the rules of another version."""
    if not _are_its_rows(source, sealed):
        raise LedgerError(
            f"A release{f' of {entry.data!r}' if entry.data else ''} was stopped between its rounds, and only the rows that it was "
            "charged for may answer them: give these, at the place where they were, `dpselect resume DATA`; none were read."
        )
    others = {part.estimate.version for part in sealed.parts if part.estimate} - {software_version()}
    if others:
        raise LedgerError(
            f"A release was begun by dpselect {min(others)} and stopped between its rounds; {software_version()} may ask "
            f"others. Finish it with dpselect {min(others)}; no rows were read."
        )


def _are_its_rows(source: Any, sealed: Sealed) -> bool:
    """Whether rows are where those were that a release was charged for, to be read in the same form."""
    where = None if source is None else rows_address(source)
    if where is None or any(part.rows != sha256_of(where) for part in sealed.parts if not part.is_done):
        return False
    return all(
        with_form_of(source, part.estimate.study) == part.estimate.study for part in sealed.parts if part.estimate
    )


def _paying_entry(sealed: Sealed, id: str, ledger: Ledger) -> Entry:
    """The first entry of a release; refuses one that states more than its entries have paid for, before anything is drawn.

    The chain holds the text; but an account of a server's ledger may commit any text, at any price that it pays.
    """
    entries = {entry.index: entry for entry in ledger.entries() if entry.release == id}
    first = next(iter(entries.values()))
    for part in (part for each in sealed.parts for part in (each.selection, each.estimate)):
        if part is None:
            continue
        entry = None if part.receipt is None else entries.pop(part.receipt.index, None)
        if entry is None or not entry.states(charge_of(part)):
            raise LedgerError(
                f"The release {id} states another price or study than its entry in the ledger, so it was not made by this program; "
                "nothing of it was drawn."
            )
    return first


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
        asked.family.require_source(source, study)
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


def _drawn_estimate(order: Order, selection: Selection | None, gathered: _Gathered, *, at_once: bool) -> Drawn | None:
    """The noise of the estimate, as far as it is drawn together with the choice.

    `at_once` says that the rows could not be known again by a later run, so that nothing may be left for one to draw.
    """
    asked, study, draws = order.estimating, order.study, order.draws
    if asked is None:
        return None
    columns, directions = asked.columns or (), asked.directions or {}
    if selection is not None:
        columns, directions = tuple(sorted(selection.columns)), selection.directions
        draws = asked.family.settle(draws, study, columns, asked.price)
    request = Request(
        family=asked.family.name,
        columns=columns,
        level=asked.level,
        selected=asked.selected,
        directions=dict(directions),
        study=study,
        guarantee=draws.guarantee,
    )
    drawn = draw_estimate(gathered.beside, request, asked.family, draws)
    if at_once or isinstance(gathered.again, KeptRows):
        # All rounds are one outcome: nothing of it is seen before the commit, and a kill between two costs nothing.
        return draw_rounds(gathered.again, drawn, lambda answered: None, draws)
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
