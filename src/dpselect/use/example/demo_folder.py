"""The folder of the demo: it writes no file over one that it did not make, or that changed since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from dpselect.errors import DpselectError
from dpselect.use.shell.files import write_text

MARKER = ".dpselect-demo.json"
"""Names and hashes of the files as the demo left them."""


def prepare(folder: Path, files: Iterable[str]) -> None:
    """Make the folder. Files of an earlier demo are removed; any other file in their places is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DpselectError(f"The folder {str(folder)!r} cannot be made: {problem.strerror}; give another.") from None
    ours = _marked(folder)
    places = [folder / name for name in files]
    for place in places:
        if place.is_symlink() or (place.exists() and ours.get(place.name) != _hash(place)):
            raise DpselectError(
                f"{str(place)!r} is not as the demo left it, or was not made by the demo, and the demo touches nothing of yours: "
                "give another folder with -o."
            )
    for place in places:
        place.unlink(missing_ok=True)


def mark(folder: Path, files: Iterable[str]) -> None:
    """Remember the files as they are now."""
    hashes = {name: _hash(folder / name) for name in files if (folder / name).exists()}
    write_text(folder / MARKER, json.dumps(hashes, indent=2) + "\n")


def _marked(folder: Path) -> dict[str, str]:
    try:
        values = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
