"""From whatever went wrong to one sentence and an exit code. Nothing here quotes a value that was read from rows."""

from __future__ import annotations

import errno
import os
import traceback
from dataclasses import dataclass
from pathlib import Path

import click

from dpselect.errors import BudgetExceeded, DpselectError

WRONG, REFUSED, OTHER = 2, 3, 1
TRACEBACK = "DPSELECT_TRACEBACK"
"""Set this variable to 1 to see the traceback of an unforeseen error; it is for the custodian's eyes only."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Public. What the shell gets: a sentence (none if there is nobody to read it) and an exit code."""

    code: int
    sentence: str


def explain(problem: BaseException) -> Failure:
    """One sentence that says what to do, and the exit code."""
    if isinstance(problem, KeyboardInterrupt | click.Abort):
        return Failure(OTHER, "Stopped. Nothing half-written was left; `dpselect budget` shows what was charged.")
    if isinstance(problem, click.UsageError):
        where = problem.ctx.command_path if problem.ctx else "dpselect"
        return Failure(WRONG, f"{_sentence(problem.format_message())} See `{where} --help`.")
    if isinstance(problem, click.ClickException):
        return Failure(WRONG, _sentence(problem.format_message()))
    if isinstance(problem, BudgetExceeded):
        return Failure(REFUSED, _sentence(str(problem)))
    if isinstance(problem, DpselectError):
        return Failure(WRONG, _sentence(str(problem)))
    if isinstance(problem, BrokenPipeError):
        # The reader of a pipe has left; what Python would flush at exit goes nowhere instead of failing once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return Failure(OTHER, "")
    if isinstance(problem, OSError):
        return Failure(WRONG, _system(problem))
    if isinstance(problem, ImportError) and "install" in str(problem):
        return Failure(WRONG, _sentence(str(problem)))
    if isinstance(problem, MemoryError):
        return Failure(OTHER, "The memory does not suffice: name fewer predictors or set --max-size.")
    return _unforeseen(problem)


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _system(problem: OSError) -> str:
    what = repr(os.fspath(problem.filename)) if isinstance(problem.filename, str) else "A file"
    if problem.errno == errno.ENOSPC:
        return f"{what} cannot be written, because no space is left on the disk: make room and try again."
    return f"{what} cannot be read or written: {problem.strerror or 'the system refused'}."


def _unforeseen(problem: BaseException) -> Failure:
    """An error that is ours; its own text may quote a cell, so only its type and place are shown."""
    if os.environ.get(TRACEBACK) == "1":
        return Failure(OTHER, "".join(traceback.format_exception(problem)).rstrip())
    frames = [frame for frame in traceback.extract_tb(problem.__traceback__) if "dpselect" in frame.filename]
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return Failure(
        OTHER,
        f"dpselect failed in a way nobody foresaw ({type(problem).__name__}{place}): please report this line; "
        f"with {TRACEBACK}=1 the custodian sees more.",
    )
