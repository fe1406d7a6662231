"""Every failure, a signal too, becomes one sentence and an exit code. Nothing here quotes a value that was read from rows.

A signal may end a command at any moment: before the commit nothing is spent, the commit is whole or not at all, and after it the
release waits in the ledger. All that is done about a signal is to remove what is half written.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import Any

import click

from dpselect.errors import BudgetExceeded, DpselectError, DpselectWarning, Interrupted, NotShown, ProblemFound
from dpselect.use.shell.terminal import silence, tell, visible

EXIT_OTHER, EXIT_WRONG, EXIT_REFUSED, EXIT_FOUND = 1, 2, 3, 4
"""Exit codes: anything else; wrong usage or input, or not confirmed; not enough budget; a problem was found."""
TRACEBACK = "DPSELECT_TRACEBACK"
"""Set this variable to 1 to see the traceback of an unforeseen error; it is confidential."""


STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class _State:
    """Whether a signal has come. A library in between may make another error of it."""

    came = False


@contextmanager
def stoppable() -> Iterator[None]:
    """Every signal that asks to stop becomes a KeyboardInterrupt, so that what is half-written is removed.

    A signal that was ignored when the program started (nohup, work in the background) stays ignored.
    """
    _State.came = False
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOPPING}
    try:
        for number, handler in before.items():
            if handler not in (signal.SIG_IGN, None):
                signal.signal(number, _stop)
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    _State.came = True
    raise KeyboardInterrupt


def ignore_signals() -> None:
    """For the last moments of the program, when all is done and an exit code is already settled."""
    if threading.current_thread() is threading.main_thread():
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)


@dataclass(frozen=True, slots=True)
class Failure:
    """Public. What the shell gets: a sentence (none if there is nobody to read it) and an exit code."""

    code: int
    sentence: str


def explain(problem: BaseException) -> Failure:
    """One sentence that says what to do, and the exit code."""
    if _State.came and not isinstance(problem, DpselectError | KeyboardInterrupt | Interrupted):
        return _stopped(problem)  # a library caught the signal and made an error of its own of it
    for kinds, failure in _EXPLANATIONS:
        if isinstance(problem, kinds):
            return failure(problem)
    if isinstance(problem, ImportError) and "install" in str(problem):
        return Failure(EXIT_WRONG, _sentence(str(problem)))
    if isinstance(problem, ModuleNotFoundError) and problem.name and problem.name.partition(".")[0] in _EXTRAS:
        name = problem.name.partition(".")[0]
        return Failure(
            EXIT_WRONG, f"This needs {name}, which is not installed: pip install 'dpselect[{_EXTRAS[name]}]'."
        )
    return _unforeseen(problem)


def say_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """A warning of ours in one line; those of other libraries are for developers, and may quote what they were given."""
    if issubclass(category, DpselectWarning):
        tell(f"Warning: {visible(_sentence(str(message)))}")


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _stopped(problem: Any) -> Failure:
    return Failure(EXIT_OTHER, STOPPED)


def _usage(problem: Any) -> Failure:
    where = problem.ctx.command_path if problem.ctx else "dpselect"
    return Failure(EXIT_WRONG, f"{_sentence(_usage_words(problem))} See `{where} --help`.")


def _usage_words(problem: Any) -> str:
    """What is wrong with a call; of click's own words those that name what to write."""
    if isinstance(problem, click.NoSuchOption):
        near = get_close_matches(problem.option_name, problem.possibilities or (), n=1)
        return f"No option {problem.option_name!r}.{f' Did you mean {near[0]!r}?' if near else ''}"
    if isinstance(problem, click.MissingParameter) and isinstance(problem.param, click.Option):
        option = problem.param
        return f"Add {option.opts[-1]} {option.metavar or ''}: {option.help or 'it is needed'}"
    return str(problem.format_message())


def _broken_pipe(problem: Any) -> Failure:
    silence()
    return Failure(EXIT_OTHER, "")


def _system(problem: Any) -> Failure:
    what = repr(problem.filename) if isinstance(problem.filename, str) else "A file"
    if problem.errno == errno.ENOSPC:
        return Failure(EXIT_WRONG, f"{what} cannot be written: the disk is full. Make room and try again.")
    if problem.errno == errno.ENOENT and isinstance(problem.filename, str):
        return Failure(EXIT_WRONG, f"There is no file {what}. Check its name and place.")
    return Failure(EXIT_WRONG, f"{what} cannot be read or written: {problem.strerror or 'the system refused'}.")


def _out_of_memory(problem: Any) -> Failure:
    return Failure(
        EXIT_OTHER, "Not enough memory. Close other programs, name fewer predictors, or use a larger machine."
    )


def _unforeseen(problem: BaseException) -> Failure:
    """An error that is ours; its own text may quote a cell, so only its type and place are shown."""
    if os.environ.get(TRACEBACK) == "1":
        return Failure(EXIT_OTHER, "".join(traceback.format_exception(problem)).rstrip())
    frames = [frame for frame in traceback.extract_tb(problem.__traceback__) if "dpselect" in frame.filename]
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return Failure(
        EXIT_OTHER,
        f"This is a fault of dpselect ({type(problem).__name__}{place}). Report this line; with {TRACEBACK}=1 you see more, "
        "which is confidential.",
    )


STOPPED = "Stopped. Nothing is lost: what was paid for, if anything, waits in the ledger, and `dpselect resume` hands it over."

_EXTRAS = {
    "matplotlib": "figures",
    "sklearn": "sklearn",
    "duckdb": "duckdb",
    "psycopg": "postgres",
    "adbc_driver_postgresql": "postgres",
    "pyspark": "spark",
    "dask": "dask",
    "formulaic": "formulas",
}
"""Which extra brings a library that is not there."""

# The first that fits decides; a kind stands before the kinds it is derived from.
_EXPLANATIONS: tuple[tuple[tuple[type[BaseException], ...], Callable[[Any], Failure]], ...] = (
    ((Interrupted, NotShown), lambda problem: Failure(EXIT_OTHER, _sentence(str(problem)))),
    ((KeyboardInterrupt, click.Abort), _stopped),
    ((click.UsageError,), _usage),
    ((click.ClickException,), lambda problem: Failure(EXIT_WRONG, _sentence(problem.format_message()))),
    ((ProblemFound,), lambda problem: Failure(EXIT_FOUND, _sentence(str(problem)))),
    ((BudgetExceeded,), lambda problem: Failure(EXIT_REFUSED, _sentence(str(problem)))),
    ((DpselectError,), lambda problem: Failure(EXIT_WRONG, _sentence(str(problem)))),
    ((BrokenPipeError,), _broken_pipe),
    ((OSError,), _system),
    ((MemoryError,), _out_of_memory),
)
