"""The studio as a process: who may speak to it, the addresses of its screens, and pages until Ctrl-C."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpselect.errors import DpselectError
from dpselect.use.shell.failures import explain
from dpselect.use.shell.terminal import tell as say
from dpselect.use.studio import plan_pages, release_pages, study_pages
from dpselect.use.studio.forms import TOO_LARGE, Form, TooLarge, parse_form, read_body
from dpselect.use.studio.pages import BEAT, POLICY, answer, go_to, style_sheet
from dpselect.use.studio.session import Session

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers send "Origin: null" and no form could be told from a foreign one
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

STRANGER = "This is a dpselect studio. Open the address that it printed in its terminal."
ENDED = "This page belongs to a studio that has ended. Open the address that dpselect printed last."
FOREIGN = "This request does not come from a page of this studio; nothing was done."

WELCOME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/{folder}/study">
<link rel="icon" href="data:,"><title>dpselect studio</title></head>
<body><main><h1>dpselect studio</h1><p><a href="/{folder}/study">Go on to the study</a></p></main></body></html>
"""
"""No redirect: after one from a page elsewhere, such as the file that starts a browser, a strict cookie would not be sent."""


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True, repr=False)
class Keys:
    """Private. The secrets of one studio, made anew at each start: in the printed address, in the cookie, in every form.

    The cookie holds for one folder of addresses whose name nobody can guess: browsers do not tell the ports of a computer
    apart, and would show the cookie to whatever else serves pages on it.
    """

    token: str = field(default_factory=_secret)
    cookie: str = field(default_factory=_secret)
    form: str = field(default_factory=_secret)
    folder: str = field(default_factory=lambda: secrets.token_hex(8))

    def __repr__(self) -> str:
        return "Keys(<private>)"


class Guard:
    """The outermost layer: checks every request, dresses every answer, and lets no error text through that nobody wrote."""

    def __init__(self, app: ASGIApp, keys: Keys, port: int) -> None:
        self._app, self._keys = app, keys
        self._host = f"127.0.0.1:{port}"
        self._cookie = f"dpselect-studio-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return  # neither web sockets nor a start-up of its own
        started = False

        async def dressed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            request = Request(scope, receive)
            answer = await self._refusal(request)
            await (answer or self._app)(scope, receive, dressed)
        except Exception as problem:
            if not started:
                await PlainTextResponse(explain(problem).sentence, 500)(scope, receive, dressed)

    async def _refusal(self, request: Request) -> Response | None:
        """The answer to a request that goes no further; None for one of ours, whose form is then in its scope."""
        if request.headers.getlist("host") != [self._host]:
            return PlainTextResponse("This studio answers to its printed address only.", 400)
        if request.method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("The studio knows GET and POST only.", 405)
        if request.url.path == "/" and request.method == "GET":
            return self._welcome(request)
        if not _same(request.cookies.get(self._cookie, ""), self._keys.cookie):
            return PlainTextResponse(ENDED if self._cookie in request.cookies else STRANGER, 403)
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return PlainTextResponse(FOREIGN, 403)
        request.scope["form"] = {}
        return await self._form_refusal(request) if request.method == "POST" else None

    def _welcome(self, request: Request) -> Response:
        """The printed address: its token becomes a cookie and leaves the address bar."""
        if not _same(request.query_params.get("token", ""), self._keys.token):
            return PlainTextResponse(STRANGER, 403)
        answer = HTMLResponse(WELCOME.format(folder=self._keys.folder))
        answer.set_cookie(
            self._cookie, self._keys.cookie, path=f"/{self._keys.folder}/", httponly=True, samesite="strict"
        )
        return answer

    async def _form_refusal(self, request: Request) -> Response | None:
        if request.headers.getlist("origin") != [f"http://{self._host}"]:
            return PlainTextResponse(FOREIGN, 403)
        try:
            form: Form = parse_form(request.headers.get("content-type", ""), await read_body(request))
        except TooLarge:
            return PlainTextResponse(TOO_LARGE, 413)
        except DpselectError as problem:
            return PlainTextResponse(str(problem), 400)
        if not _same(form.pop("form_token", ""), self._keys.form):
            return PlainTextResponse(FOREIGN, 403)
        request.scope["form"] = form
        return None


def _same(given: str, right: str) -> bool:
    return secrets.compare_digest(given.encode(), right.encode())


LOOPBACK = "127.0.0.1"
GOODBYE = 2
"""Seconds that open answers get after Ctrl-C."""


def serve(study_file: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve one study on this computer until Ctrl-C; a closed terminal ends the process as it ends others.

    `tell` gets the address, once the studio listens there.
    """
    place = Path(study_file).absolute()
    if not place.parent.is_dir():
        raise DpselectError(f"The folder {str(place.parent)!r} does not exist; create it, or name another study.")
    session, keys = Session(place), Keys()
    with _only_studio(place.parent):
        with _listen(port) as door:
            number: int = door.getsockname()[1]
            address = f"http://{LOOPBACK}:{number}/?token={keys.token}"
            server = _Server(_settings(make_app(session, keys, number)), lambda: tell(address))
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
    """A release that is under way is finished first; a second Ctrl-C leaves what is paid for to the ledger."""
    try:
        if session.busy:
            say("A release is under way, and is finished and written first; Ctrl-C once more leaves it to the ledger.")
        session.wait()
    except KeyboardInterrupt:
        os._exit(1)


@contextmanager
def _only_studio(folder: Path) -> Iterator[None]:
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
        Route("/hand-over", release_pages.hand_over, methods=send),
        Route("/progress", release_pages.show_progress, methods=look),
        Route("/report-{number:int}", release_pages.show_report, methods=look),
        Route("/page-{number:int}", release_pages.show_page, methods=look),
        Route("/json-{number:int}", release_pages.show_json, methods=look),
        Route("/download-{number:int}.{kind}", release_pages.show_download, methods=look),
        Route("/verify", release_pages.show_verify, methods=look),
        Route("/verify", release_pages.verify, methods=send),
    ]


def _refused(request: Request, problem: Exception) -> Response:
    """What the rest of dpselect refuses, where no screen has a better place for the sentence; and what nobody foresaw."""
    status = 200 if isinstance(problem, DpselectError) else 500
    return answer(request, "refused", status=status, sentence=explain(problem).sentence)


def _nowhere(request: Request, problem: Exception) -> Response:
    return answer(request, "refused", status=404, sentence="The studio has no such page; choose one above.")
