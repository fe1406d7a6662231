"""Files that commands write: whole or not at all, and refused before anything is charged if they cannot be written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpselect.errors import DpselectError

ROOM = 1 << 20
"""Bytes that must be free for a report; the largest is a few tens of thousands."""

Place = str | os.PathLike[str]


def write_text(path: Place, text: str, *, mode: int = 0o644) -> None:
    """Write a file beside its place and move it there, so that a half-written one is never seen."""
    target = Path(path)
    with _partial(target) as partial:
        descriptor = _new(partial, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        partial.replace(target)


def require_writable(*paths: Place) -> None:
    """Refuse a place that cannot be written or has no room, before anything is charged."""
    for path in paths:
        target = Path(path)
        if target.is_dir():
            raise DpselectError(f"{str(target)!r} is a folder; give the name of a file to write.")
        if not target.parent.is_dir():
            raise DpselectError(f"The folder {str(target.parent)!r} does not exist; create it, or write elsewhere.")
        with _partial(target) as partial:
            with os.fdopen(_new(partial, 0o600), "wb") as file:
                file.write(bytes(ROOM))


def _new(path: Path, mode: int) -> int:
    """Create a file of ours: one that lies there already, or a link, could belong to somebody who should not read it."""
    path.unlink(missing_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)


@contextmanager
def _partial(target: Path) -> Iterator[Path]:
    """A file beside the target that is gone at the end, whatever happens."""
    partial = target.with_name(f".{target.name}.part")
    try:
        yield partial
    except OSError as problem:
        reason = problem.strerror or "the system refused"
        raise DpselectError(
            f"{str(target)!r} cannot be written ({reason}): make room or choose a place where you may write."
        ) from None
    finally:
        if partial.exists():
            partial.unlink()
