"""Handing over what was paid for: files first, then the screen; whichever fails, the other has it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from dpselect.errors import DpselectError, NotShown
from dpselect.use.shell.files import write_aside
from dpselect.use.shell.terminal import in_this_encoding, tell

File = tuple[Path, Callable[[], str]]
"""Where, and how its text is made."""


def deliver(
    files: Sequence[File],
    show: Callable[[], None],
    whole: Callable[[], str],
    spare: Path,
    written: Callable[[], None] = lambda: None,
) -> None:
    """Write the files, say so to `written`, then show the answer.

    If a file cannot be written, the release is shown as JSON (`whole`) instead. If it cannot be shown, because the reader of
    a pipe has left or the output is full or closed, it is in the files; without files it is written to `spare`.
    """
    done: list[Path] = []
    try:
        for path, text in files:
            earlier = write_aside(path, text())
            done.append(path)
            if earlier is not None:
                tell(f"The earlier {path} is kept as {earlier}.")
    except DpselectError as problem:
        _print_somewhere(whole())
        raise DpselectError(f"{problem} What was paid for is printed instead, as JSON: save it.") from None
    except Exception:
        if done:
            tell(f"What was paid for is in {names(done)}.")
        else:
            _print_somewhere(whole())
        raise
    try:
        written()
        _flushed()  # an output that was closed is found here, whatever click's version makes of it
        show()
        _flushed()
    except (OSError, ValueError, SystemExit):  # rich makes a SystemExit of a broken pipe
        silence()
        raise NotShown(_unseen(done, whole, spare)) from None


def names(paths: Sequence[Path]) -> str:
    """Files for a sentence."""
    return " and ".join(repr(str(path)) for path in paths)


def silence() -> None:
    """Let what Python would flush at its end go nowhere instead of failing once more."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
    except OSError:
        pass


def _flushed() -> None:
    if sys.stdout is None:
        raise ValueError("There is no standard output.")
    sys.stdout.flush()


def _unseen(written: Sequence[Path], whole: Callable[[], str], spare: Path) -> str:
    if written:
        return f"The answer could not be shown, but what was paid for is in {names(written)}."
    try:
        write_aside(spare, whole())
    except DpselectError:
        _print_somewhere(whole())
        return "The answer could not be shown; what was paid for is printed here as JSON: save it."
    return f"The answer could not be shown; what was paid for was written to {str(spare)!r}."


def _print_somewhere(text: str) -> None:
    """On standard output; if that fails, on standard error."""
    try:
        _flushed()
        click.echo(in_this_encoding(text))
        _flushed()
    except (OSError, ValueError):
        silence()
        tell(text)
