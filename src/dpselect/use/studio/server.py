"""The studio as a process: its screens and their addresses, one line on the terminal, and pages until Ctrl-C."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from dpselect.errors import DpselectError
from dpselect.use.shell.failures import explain
from dpselect.use.shell.terminal import tell as say
from dpselect.use.studio import plan_pages, release_pages, study_pages
from dpselect.use.studio.guard import Guard, Keys
from dpselect.use.studio.pages import BEAT, answer, go_to, style_sheet
from dpselect.use.studio.session import Session

LOOPBACK = "127.0.0.1"
GOODBYE = 2
"""Seconds that open answers get after Ctrl-C."""


def serve(study: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve one study on this computer until Ctrl-C; a closed terminal ends the process as it ends others.

    `tell` gets the address, once the studio listens there.
    """
    place = Path(study).absolute()
    if not place.parent.is_dir():
        raise DpselectError(f"The folder {str(place.parent)!r} does not exist; create it, or name another study.")
    session, keys = Session(place), Keys()
    with _alone(place.parent):
        with _listen(port) as door:
            taken: int = door.getsockname()[1]
            address = f"http://{LOOPBACK}:{taken}/?token={keys.token}"
            server = _Server(_settings(make_app(session, keys, taken)), lambda: tell(address))
            try:
                server.run(sockets=[door])
            except KeyboardInterrupt:
                pass
        _finish(session)


class _Server(uvicorn.Server):
    """Says that it is ready once it is, and Ctrl-C is listened to."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as usual, then say so."""
        await super().startup(sockets)
        self._ready()


def _settings(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="critical",  # what uvicorn would log of an error may quote a form
        server_header=False,
        date_header=False,
        ws="none",
        timeout_graceful_shutdown=GOODBYE,
    )


def _finish(session: Session) -> None:
    """A release that is under way, and may be paid for, is written down first; a second Ctrl-C gives it up."""
    try:
        if session.busy:
            say("A release is under way, and is finished and written first; Ctrl-C once more gives it up.")
        session.wait()
    except KeyboardInterrupt:
        os._exit(1)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One studio a folder, for two could write the same report; the lock is the system's, and ends with the process."""
    try:
        import fcntl
    except ImportError:  # Windows has another way, and nobody has asked for it yet
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise DpselectError(f"A studio is open in {str(folder)!r} already: use that one, or end it first.") from None
    except OSError:
        pass  # a file system without locks
    try:
        yield
    finally:
        os.close(descriptor)


def _listen(port: int) -> socket.socket:
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((LOOPBACK, port))
        door.listen(256)
    except OSError as problem:
        door.close()
        reason = problem.strerror or "the system refused"
        raise DpselectError(
            f"The studio cannot listen at port {port} ({reason}): give another --port, or leave it out."
        ) from None
    return door


def make_app(session: Session, keys: Keys, port: int, *, beat: float = BEAT) -> ASGIApp:
    """The whole studio as one application."""
    inside = Starlette(
        routes=[Mount(f"/{keys.folder}", routes=_routes())],
        exception_handlers={Exception: _refused, DpselectError: _refused, 404: _nowhere, 405: _nowhere},
    )
    inside.state.session, inside.state.form_token, inside.state.beat = session, keys.form, beat
    return Guard(inside, keys, port)


def _routes() -> list[BaseRoute]:
    look, send = ["GET"], ["POST"]
    return [
        Route("/", lambda request: go_to("study"), methods=look),
        Route("/style.css", lambda request: style_sheet(), methods=look),
        Route("/study", study_pages.show_study, methods=look),
        Route("/study", study_pages.state_source, methods=send),
        Route("/variables", study_pages.show_variables, methods=look),
        Route("/variables", study_pages.save_variables, methods=send),
        Route("/persons", study_pages.show_persons, methods=look),
        Route("/persons", study_pages.save_persons, methods=send),
        Route("/plan", plan_pages.show_plan, methods=look),
        Route("/plan", plan_pages.make_plan, methods=send),
        Route("/check", plan_pages.show_check, methods=look),
        Route("/check", plan_pages.make_check, methods=send),
        Route("/check-page", plan_pages.show_check_page, methods=look),
        Route("/check-close", plan_pages.close_check, methods=send),
        Route("/budget", plan_pages.show_budget, methods=look),
        Route("/budget", plan_pages.open_budget, methods=send),
        Route("/release", release_pages.show_release, methods=look),
        Route("/release", release_pages.ask, methods=send),
        Route("/confirm", release_pages.show_confirm, methods=look),
        Route("/confirm", release_pages.confirm, methods=send),
        Route("/withdraw", release_pages.withdraw, methods=send),
        Route("/progress", release_pages.show_progress, methods=look),
        Route("/report-{number:int}", release_pages.show_report, methods=look),
        Route("/page-{number:int}", release_pages.show_page, methods=look),
        Route("/json-{number:int}", release_pages.show_json, methods=look),
        Route("/verify", release_pages.show_verify, methods=look),
        Route("/verify", release_pages.verify, methods=send),
    ]


def _refused(request: Request, problem: Exception) -> Response:
    """What the rest of dpselect refuses, where no screen has a better place for the sentence; and what nobody foresaw."""
    status = 200 if isinstance(problem, DpselectError) else 500
    return answer(request, "refused", status=status, sentence=explain(problem).sentence)


def _nowhere(request: Request, problem: Exception) -> Response:
    return answer(request, "refused", status=404, sentence="The studio has no such page; choose one above.")
