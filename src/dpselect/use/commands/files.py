"""Files that commands write: whole or not at all, and never over something by accident."""

from __future__ import annotations

import os
from pathlib import Path

from dpselect.errors import DpselectError


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a file beside its place and move it there, so that a half-written one is never seen."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.part")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    except BaseException as problem:
        partial.unlink(missing_ok=True) if partial.parent.is_dir() else None
        if isinstance(problem, OSError):
            reason = problem.strerror or "the system refused"
            raise DpselectError(f"{str(target)!r} cannot be written: {reason}; choose another place.") from None
        raise
    return target


def require_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a place that cannot be written, before anything is charged."""
    target = Path(path)
    folder = target.parent
    if target.is_dir():
        raise DpselectError(f"{str(target)!r} is a folder; give the name of a file to write.")
    if not folder.is_dir():
        raise DpselectError(f"The folder {str(folder)!r} does not exist; create it, or write elsewhere.")
    if not os.access(folder, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise DpselectError(f"{str(target)!r} cannot be written; choose a place where you may write.")
