"""Signals: before anything is paid for they end the program at once; from the charge until its release is written they wait."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from dpselect.errors import Interrupted

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
WAITING = b"Stopping as soon as what is being paid for is written.\n"


class _State:
    """Whether a signal has come, and whether signals have to wait."""

    came = False
    wait = False


def came() -> bool:
    """Whether a signal asked this program to stop. A library in between may have made another error of it."""
    return _State.came


@contextmanager
def stoppable() -> Iterator[None]:
    """Every signal that asks to stop becomes a KeyboardInterrupt, so that what is half-written is removed.

    A signal that was ignored when the program started (nohup, work in the background) stays ignored.
    """
    _State.came = _State.wait = False
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


@contextmanager
def held(where: Callable[[], str]) -> Iterator[Callable[[], None]]:
    """What this yields is called right before the first charge: from then to the end of the block signals wait.

    If one came, the block ends with `Interrupted`, which says `where` the release is.
    """

    def hold() -> None:
        _State.wait = True

    try:
        yield hold
    finally:
        _State.wait = False
    if _State.came:
        raise Interrupted(where())


def ignore() -> None:
    """For the last moments of the program, when all is done and an exit code is already settled."""
    if threading.current_thread() is threading.main_thread():
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)


def _stop(number: int, frame: FrameType | None) -> None:
    _State.came = True
    if not _State.wait:
        raise KeyboardInterrupt
    try:
        os.write(2, WAITING)
    except OSError:
        pass  # nobody reads
