"""Public. Which ledger some data is charged to: a file beside the data says it, and no study file, command or folder decides.

Beside people.csv stands `dpselect.ledgers`, one line for each ledger that the data was ever charged to: the data's name, the place
of the ledger, and the id that the ledger got when it was opened. A line is written before the first charge is, so a ledger that
holds a charge for data with a place is known there, wherever it is. Lines are only ever added; who opened a ledger by mistake and
never charged it may remove its line by hand.
"""

from __future__ import annotations

import os
from pathlib import Path

from dpselect.assume.records import Public, canonical_json
from dpselect.errors import DataError, LedgerError
from dpselect.gather.sources.source import DataPlace
from dpselect.release.ledger.store import is_address

REGISTRY_NAME = "dpselect.ledgers"
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
    """The ledgers that data is charged to, by the latest word on each: one that was moved, or opened anew by name, counts once."""
    found: list[Registered] = []
    for line in _lines(place.folder / REGISTRY_NAME):
        if line.data == place.name:
            found = [each for each in found if each.id != line.id and each.ledger != line.ledger]
            found.append(line)
    return found


def ledger_of(place: DataPlace) -> Path:
    """Where the one ledger of data is, or will be. LedgerError if there are several, or if it is gone: then a person decides."""
    known = registered(place)
    if not known:
        return place.folder / f"{place.name}.budget.db"
    if len(known) > 1:
        ledgers = " and ".join(repr(each.place(place.folder)) for each in known)
        raise LedgerError(
            f"{place.name!r} is charged to {ledgers}: name the one to use with --ledger; what they promise adds up."
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
    """Write down, on the disk, that data is charged to a ledger, unless that is known. Where nothing may be written nothing is."""
    line = Registered(data=place.name, ledger=_written(place, ledger), id=id)
    if line in registered(place):
        return
    try:
        # One short write at the end of the file: two programs that do so at the same time leave two whole lines.
        file = os.open(place.folder / REGISTRY_NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(file, (canonical_json(line.to_dict()) + "\n").encode())
            os.fsync(file)
        finally:
            os.close(file)
    except OSError:
        return


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
