"""Private. No half file: one that is written to while it is read would be part old and part new, with a row twice or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dpselect.errors import DataError


class Watch:
    """Private. A file, held open to see whether anybody writes to it.

    If another file takes its name meanwhile, this one stays what it is, and may be read to its end.
    """

    __slots__ = ("_descriptor", "_name", "_state")

    def __init__(self, file: str) -> None:
        self._name = file
        self._descriptor: int | None = None
        try:
            self._descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            reason = error.strerror or "it cannot be opened"
            raise DataError(f"{file!r} cannot be read: {reason}.") from None
        self._state = _state(os.fstat(self._descriptor))

    def __repr__(self) -> str:
        return "Watch(values=<private>)"

    def __del__(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def require_name(self) -> None:
        """Refuse if the name is another file's now: ask right after a reader has opened the file by its name."""
        assert self._descriptor is not None
        if not os.path.samestat(os.fstat(self._descriptor), os.stat(self._name)):
            raise DataError(_sentence(self._name))

    def require_unchanged(self) -> None:
        """Refuse if somebody has written to the file since: ask after its last row was read."""
        assert self._descriptor is not None
        if _state(os.fstat(self._descriptor)) != self._state:
            raise DataError(_sentence(self._name))


def states_of(files: Sequence[str]) -> list[tuple[int, ...]]:
    """What tells whether files that a library opens by their names were replaced or written to."""
    found = [os.stat(file) for file in files]
    return [(each.st_dev, each.st_ino, *_state(each)) for each in found]


def require_same(files: Sequence[str], before: Sequence[tuple[int, ...]]) -> None:
    """Refuse if a file is not what it was before."""
    for file, then, now in zip(files, before, states_of(files), strict=True):
        if then != now:
            raise DataError(_sentence(file))


def _state(found: os.stat_result) -> tuple[int, int]:
    return found.st_size, found.st_mtime_ns


def _sentence(file: str) -> str:
    return f"{file!r} changed while it was read: read it again when nobody writes to it."
