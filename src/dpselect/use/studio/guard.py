"""Who may speak to the studio: this computer, this browser, this page. Everything else is refused before a view runs."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpselect.errors import DpselectError
from dpselect.use.shell.failures import explain
from dpselect.use.studio.forms import TOO_LARGE, Form, TooLarge, parse_form, read_body

POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
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
