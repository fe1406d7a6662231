"""Files that commands write: whole or not at all, and refused before anything is charged if they cannot be written."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from dpselect.errors import DpselectError
from dpselect.release.analysis import AnalysisRecord
from dpselect.report.board import board_page
from dpselect.report.page import report_page
from dpselect.use.shell.terminal import tell

REPORT_BYTES = 1 << 20
"""Bytes that must be free for a report; the largest is a few tens of thousands."""

HEAD_BYTES = 2048
"""Bytes in which a file says of what kind it is."""

MAX_NAME_BYTES = 200
"""Bytes of a file's name that leave room for the names of what is written beside it."""

Place = str | os.PathLike[str]


def write_text(path: Place, text: str, *, mode: int = 0o644) -> None:
    """Write a file beside its place and move it there, so that a half-written one is never seen."""
    write_bytes(path, text.encode(), mode=mode)


def write_bytes(path: Place, content: bytes, *, mode: int = 0o644) -> None:
    """Write bytes as `write_text` writes text."""
    target = Path(path)
    with _partial(target) as partial:
        _fill(partial, content, mode)
        partial.replace(target)
        _settle(target.parent)


def write_aside(path: Place, text: str) -> Path | None:
    """Write a file that was paid for: another that is there already is kept under another name, which is returned."""
    target, earlier = Path(path), None
    with suppress(FileNotFoundError):  # another program may be moving it
        if target.is_file() and target.read_bytes() == text.encode():
            return None
    with _partial(target) as partial:
        _fill(partial, text.encode(), 0o644)
        while not _placed(partial, target):
            earlier = _kept(target) or earlier
        _settle(target.parent)
    return earlier


def write_release(files: Sequence[tuple[Path, str]]) -> None:
    """Write the files of a release. If that fails, the release still waits in the ledger, and the refusal says so."""
    try:
        for path, text in files:
            earlier = write_aside(path, text)
            if earlier is not None:
                tell(f"The earlier {path} is kept as {earlier}.")
    except DpselectError as problem:
        raise DpselectError(f"{problem} {WAITS}") from None


def report_files(page: Path, board: str | None = None) -> list[Path]:
    """All that a report is written to."""
    return [page, page.with_suffix(".json"), *([] if board is None else [Path(board)])]


def write_report(analysis: AnalysisRecord, page: Path, board: str | None = None) -> None:
    """Write the JSON file, the page and, if asked for, the page for a board."""
    sheet = [] if board is None else [(Path(board), board_page(analysis))]
    write_release([(page.with_suffix(".json"), analysis.to_json()), (page, report_page(analysis)), *sheet])


WAITS = "What was paid for waits in the ledger: `dpselect resume` hands it over, and charges nothing."


def require_writable(*paths: Place) -> None:
    """Refuse a place that cannot be written or has no room, before anything is charged."""
    for path in paths:
        target = Path(path)
        if len(os.fsencode(target.name)) > MAX_NAME_BYTES:
            raise DpselectError(f"The name {target.name[:20]!r}... is too long for a file: give a shorter one.")
        if target.is_dir():
            raise DpselectError(f"{str(target)!r} is a folder; give the name of a file to write.")
        if target.exists() and not target.is_file():  # what root writes to /dev/null would take its place
            raise DpselectError(f"{str(target)!r} is no ordinary file; give the name of a file to write.")
        if target.exists() and begins_with(target, b"SQLite format 3"):
            raise DpselectError(f"{str(target)!r} is a database, perhaps a ledger: give another name.")
        if not target.parent.is_dir():
            raise DpselectError(f"The folder {str(target.parent)!r} does not exist; create it, or write elsewhere.")
        with _partial(target) as partial:
            with os.fdopen(_new(partial, 0o600), "wb") as file:
                file.write(bytes(REPORT_BYTES))


def require_apart(outputs: Sequence[Place], inputs: Iterable[tuple[Place, str]] = ()) -> None:
    """Refuse to write over what a command reads or charges, or two things to one file, before anything is charged.

    `inputs` are places, each with what it is; all that lies in a folder is part of it.
    """
    occupied = list(inputs)
    for output in outputs:
        for place, what in occupied:
            if Path(os.path.realpath(place)) in Path(os.path.realpath(output)).parents:
                raise DpselectError(
                    f"{str(output)!r} would lie in {str(place)!r}, which is {what}: write it elsewhere."
                )
            if _is_of(Path(output), Path(place)):
                raise DpselectError(f"{str(output)!r} is {what}, and would be written over: give another name.")
        occupied.append((output, "also the name of another file that is written"))


def begins_with(path: Path, mark: bytes) -> bool:
    """Whether a file is there and begins so."""
    try:
        with path.open("rb") as file:
            return file.read(len(mark)) == mark
    except OSError:  # whoever may not read it cannot write it either, or replaces it
        return False


def require_kind(path: Place, mark: bytes, kind: str) -> None:
    """Refuse to write over a file that is not of the kind that is written, known by a mark near its beginning."""
    target = Path(path)
    if not target.exists():
        return
    with target.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head and mark not in head:
        raise DpselectError(f"{str(target)!r} is there already and is not {kind}: give another name, or move it.")


def _is_of(output: Path, place: Path) -> bool:
    """Whether two names are of one file, through links too."""
    if os.path.realpath(output) == os.path.realpath(place):
        return True
    try:
        return output.samefile(place)
    except OSError:  # one of them is not there yet
        return False


def _new(path: Path, mode: int) -> int:
    """Create a file of ours: one that lies there already, or a link, could belong to somebody who should not read it."""
    path.unlink(missing_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)


def _fill(partial: Path, content: bytes, mode: int) -> None:
    descriptor = _new(partial, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _placed(partial: Path, target: Path) -> bool:
    """Give a file its name unless there is one of that name, in one step: two programs may do so at the same time."""
    try:
        os.link(partial, target)
    except FileExistsError:
        return False
    except OSError:  # a disk that knows no links
        if target.exists():
            return False
        partial.replace(target)
    return True


def _kept(target: Path) -> Path | None:
    """Move a file to the first name like report.1.html that is free, or find that another program has just moved it.

    The name is taken first, by an empty file: two programs that move at the same time move to two names.
    """
    names = (target.with_name(f"{target.stem}.{number}{target.suffix}") for number in itertools.count(1))
    name = next(name for name in names if _reserved(name))
    try:
        target.replace(name)
    except OSError as problem:
        name.unlink()
        if isinstance(problem, FileNotFoundError):
            return None
        raise
    return name


def _reserved(name: Path) -> bool:
    try:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def _settle(folder: Path) -> None:
    """The name of a file is on the disk when its folder is."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # a system that opens no folders
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


@contextmanager
def _partial(target: Path) -> Iterator[Path]:
    """A file beside the target, of this program alone, that is gone at the end, whatever happens."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield partial
    except OSError as problem:
        reason = problem.strerror or "the system refused"
        raise DpselectError(
            f"{str(target)!r} cannot be written ({reason}): make room or choose a place where you may write."
        ) from None
    finally:
        if partial.exists():
            partial.unlink(missing_ok=True)
