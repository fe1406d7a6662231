"""Public. Who pays for a release, under which labels, and the one way out: check, draw in memory, commit, hand over.

And which ledger some data is charged to, by the registry that stands beside the data.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

from msgspec import structs

from dpselect.assume.budget import Budget, Guarantee
from dpselect.assume.records import Public, canonical_json
from dpselect.assume.study import Study
from dpselect.errors import DataError, LedgerError, NoLedgerWarning, NoLedgerYet, TwoLedgersWarning
from dpselect.gather.listed import REGISTRY_NAME
from dpselect.gather.sources.source import DataPlace
from dpselect.release.ledger.entries import PERSON, ROW, Charge, Receipt, Remaining
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.store import Announce, is_address


class Drawn(Protocol):
    """Public. What was drawn: a release without receipts, which can take them and be written down."""

    def with_receipts(self, receipts: Sequence[Receipt]) -> Self:
        """The same with the receipts of its charges."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, which the ledger keeps as a line of JSON."""


Release = TypeVar("Release", bound=Drawn)


@dataclass(slots=True)
class Committed(Generic[Release]):
    """Public. A release that is paid for and may be shown, and where it is kept; without a ledger nowhere.

    `stages` is how many lines of its text whoever holds this has seen: what is drawn next follows on them and on no others.
    """

    release: Release
    id: str = ""
    ledger: Ledger | None = None
    stages: int = 1

    def keep(self, stage: Public) -> None:
        """Put what a later stage has drawn on the disk: only then may it be used."""
        if self.ledger is not None:
            self.ledger.keep(self.id, canonical_json(stage.to_dict()), after=self.stages)
            self.stages += 1

    def delivered(self) -> None:
        """Note that the release was handed over."""
        if self.ledger is not None:
            self.ledger.delivered(self.id)


@dataclass(frozen=True, slots=True)
class NewLedger:
    """Public. A ledger that is not there yet: the commit of its first release opens it, so a refused run leaves none behind."""

    place: str
    totals: Budget
    announce: Announce | None = None

    def check(self, *charges: Charge) -> None:
        """Refuse what the ledger would refuse."""
        with Ledger(epsilon=self.totals.epsilon, delta=self.totals.delta) as pretended:
            pretended.check(*charges)

    def remaining(self) -> Remaining | Budget:
        """The totals; or what is left of them where another run has opened it meanwhile."""
        try:
            with Ledger(self.place) as opened:
                return opened.remaining()
        except NoLedgerYet:
            return self.totals

    def open(self) -> Ledger:
        """The ledger, with its totals on the disk."""
        return Ledger(self.place, epsilon=self.totals.epsilon, delta=self.totals.delta, announce=self.announce)


@dataclass(frozen=True, slots=True)
class Account:
    """Public. A ledger, and what its entries call the data and the analyst; made once, at the door.

    Without a ledger nothing is counted or kept, and who calls has to keep the sum.
    """

    ledger: Ledger | NewLedger | None = None
    data: str = ""
    analyst: str = ""
    place: DataPlace | None = None

    def check(self, *charges: Charge) -> None:
        """Refuse now what the ledger would refuse later: all of the charges together must fit."""
        if self.ledger is not None:
            self.ledger.check(*(self._labelled(charge) for charge in charges))
        self._look_at_registry()

    def commit(
        self, charges: Sequence[Charge], draw: Callable[[], Release], *, request: str = ""
    ) -> Committed[Release]:
        """Check, draw in memory, and write all charges and the sealed release in one transaction. Only then hand it over.

        The charges are settled before anything is drawn, so that what is drawn cannot decide whether they fit. A draw that fails is
        charged like any other outcome, for that it failed may tell something of the rows. docs/LEDGER.md has the proof.
        """
        if self.ledger is None:
            return Committed(draw())
        labelled = [self._labelled(charge) for charge in charges]
        self.ledger.check(*labelled)
        try:
            drawn = draw()
            text = canonical_json(drawn.to_dict())
        except Exception:
            opened = self._opened(self.ledger)
            for charge in labelled:
                opened.charge(charge)
            raise

        ledger = self._opened(self.ledger)
        commitment = ledger.commit(labelled, text, request=request)
        return Committed(drawn.with_receipts(commitment.receipts), commitment.id, ledger)

    def read_again(self) -> None:
        """Before rows are read for what was charged earlier, the registry is asked and told as before a charge."""
        self._look_at_registry()
        if self.ledger is not None:
            self._opened(self.ledger)

    def _opened(self, ledger: Ledger | NewLedger) -> Ledger:
        """The ledger, known beside the data before anything is charged to it: no later run can take another by mistake."""
        if isinstance(ledger, NewLedger):
            ledger = ledger.open()
        if self.place is not None and ledger.path is not None:
            register(self.place, ledger.path, ledger.id)
        return ledger

    def _look_at_registry(self) -> None:
        """Refuse a ledger that took the place of another, and tell of others that the same data is charged to."""
        if self.place is None:
            return
        if isinstance(self.ledger, Ledger):
            own, id = self.ledger.path, self.ledger.id
        else:
            own, id = None if self.ledger is None else self.ledger.place, None
        # A ledger that knows the data by its label tells of those in its own folder itself.
        folder = os.path.dirname(os.path.abspath(own)) if self.data and own else None
        others = [each for each in others_of(self.place, own, id) if os.path.dirname(os.path.abspath(each)) != folder]
        if others:
            warnings.warn(
                f"The data {self.place.name!r} is also charged to {' and '.join(map(repr, others))}. Their privacy costs add up, "
                "and no ledger sees them all.",
                TwoLedgersWarning,
                stacklevel=4,
            )

    @contextmanager
    def session(self) -> Iterator[None]:
        """Keep the ledger open for all that one release does."""
        if isinstance(self.ledger, Ledger):
            with self.ledger.session():
                yield
        else:
            yield

    def _labelled(self, charge: Charge) -> Charge:
        # The version too: a report that states another than the ledger has seen was edited.
        facts = {**charge.parameters, "version": software_version()}
        return structs.replace(charge, data=self.data, analyst=self.analyst, parameters=facts)


def charge_about(study: Study, guarantee: Guarantee) -> dict[str, Any]:
    """The fields of a charge that say what is promised, and to whom."""
    return {
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "neighbors": guarantee.neighbors,
        "study": study.hash,
        "unit": ROW if study.person is None else f"{PERSON}{study.person}{_within(study)}",
        "rows_per_person": study.rows_per_person,
    }


def _within(study: Study) -> str:
    """With clusters the unit is a person within one: the same name in two of them is two units (`assume.lemmas.sampling`)."""
    return "" if study.cluster in (None, study.person) else f" within {study.cluster}"


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


# Which ledger some data is charged to: a file beside the data says it, and no study file, command or folder decides. Beside
# people.csv stands `dpselect.ledgers`, one line for each ledger that the data was ever charged to: the data's name, the place of
# the ledger, and the id that it got when it was opened. A line is written before the first charge is, so a ledger that holds a
# charge for data with a place is known there, wherever it is. Lines are only ever added; who opened a ledger by mistake and never
# charged it may remove its line by hand.

MAX_REGISTRY_BYTES = 10_000_000
"""A file that is larger is no registry."""


class Registered(Public, frozen=True):
    """A ledger that some data is charged to."""

    data: str
    ledger: str
    id: str

    def place(self, folder: Path) -> str:
        """The path or the address of the ledger; one in the data's own folder moves with it."""
        return self.ledger if is_address(self.ledger) else str(folder / self.ledger)


def registered(place: DataPlace) -> list[Registered]:
    """The ledgers that data is charged to, by the latest word on each.

    Data of several files is charged to every ledger that one of them is charged to.
    """
    lines = [line for line in _lines(place.folder / REGISTRY_NAME) if line.data == place.name]
    for folder, names in _folders(place.parts).items():
        inside = (line for line in _lines(folder / REGISTRY_NAME) if line.data in names)
        lines += [structs.replace(line, ledger=_written(place, line.place(folder))) for line in inside]
    return _latest(lines)


def _latest(lines: Iterable[Registered]) -> list[Registered]:
    """One line a ledger: one that was moved, or opened anew by name, counts once."""
    found: list[Registered] = []
    for line in lines:
        found = [each for each in found if each.id != line.id and each.ledger != line.ledger]
        found.append(line)
    return found


def _folders(places: Iterable[DataPlace]) -> dict[Path, list[str]]:
    """The names in each folder."""
    found: dict[Path, list[str]] = {}
    for each in places:
        found.setdefault(each.folder, []).append(each.name)
    return found


def ledger_of(place: DataPlace) -> Path:
    """Where the one ledger of data is, or will be. LedgerError if there are several, or if it is gone: then a person decides."""
    known = registered(place)
    if not known:
        return place.folder / f"{place.name}.budget.db"
    if len(known) > 1:
        ledgers = " and ".join(repr(each.place(place.folder)) for each in known)
        raise LedgerError(
            f"{place.name!r} is charged to {ledgers}, and their privacy costs add up. Name the one to use with --ledger."
        )
    where = known[0].place(place.folder)
    if is_address(where):
        raise LedgerError(f"{place.name!r} is charged to {where!r}: name it with --ledger.")
    if not os.path.exists(where):
        raise LedgerError(
            f"{place.name!r} is charged to {where!r}, which is not there: restore it, or name the ledger with --ledger if it was "
            "moved or a new one is to be opened."
        )
    return Path(where)


def others_of(place: DataPlace, ledger: str | None, id: str | None) -> list[str]:
    """The other ledgers that data is charged to. Refuses one that was made anew in the place of one of them.

    `ledger` is None for a release that is charged to no file, `id` for a ledger that is still to be opened, by name.
    """
    own = None if ledger is None else _written(place, ledger)
    known = registered(place)
    if id is not None and any(each.ledger == own and each.id != id for each in known):
        raise LedgerError(
            f"{ledger!r} is not the ledger that {place.name!r} is charged to, but was made anew in its place: restore it, or name "
            f"another with --ledger; {str(place.folder / REGISTRY_NAME)!r} knows the one that is missing."
        )
    return [each.place(place.folder) for each in known if each.id != id and each.ledger != own]


def register(place: DataPlace, ledger: str, id: str) -> None:
    """Write down, on the disk, that data is charged to a ledger, unless that is known. Where nothing may be written nothing is.

    Of data of several files each file is written down, so that none of them by itself, and no other set of them, is new data.
    """
    for folder, names in _folders(place.parts or (place,)).items():
        known: dict[str, list[Registered]] = {}
        for line in _lines(folder / REGISTRY_NAME):
            known.setdefault(line.data, []).append(line)
        where = _written(DataPlace(folder, ""), ledger)
        wanted = [Registered(data=name, ledger=where, id=id) for name in names]
        new = [line for line in wanted if line not in _latest(known.get(line.data, ()))]
        if not new:
            continue
        try:
            # One write at the end of the file: two programs that do so at the same time leave whole lines.
            file = os.open(folder / REGISTRY_NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(file, "".join(canonical_json(line.to_dict()) + "\n" for line in new).encode())
                os.fsync(file)
            finally:
                os.close(file)
        except OSError:
            continue


def _written(place: DataPlace, ledger: str) -> str:
    """The place of a ledger as the registry has it: a file beside the data by its name alone."""
    if is_address(ledger):
        return ledger
    folder, path = os.path.realpath(place.folder), os.path.realpath(ledger)
    return os.path.basename(path) if os.path.dirname(path) == folder else path


def _lines(path: Path) -> list[Registered]:
    try:
        if path.stat().st_size > MAX_REGISTRY_BYTES:
            raise DataError("It is too large.")
        texts = path.read_text(encoding="utf-8").splitlines()
        return [Registered.from_json(text) for text in texts if text.strip()]
    except FileNotFoundError:
        return []
    except (OSError, UnicodeError, DataError):
        raise LedgerError(
            f"{str(path)!r} says which ledger data is charged to, and cannot be read: restore it, or correct it by hand."
        ) from None
