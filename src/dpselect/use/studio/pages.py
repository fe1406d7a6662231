"""Answers: the screens by name, the studio's templates over the report's, the one style sheet, and an answer that grows."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import AsyncIterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import anyio
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from dpselect.assume.budget import plain
from dpselect.report.page import environment
from dpselect.use.studio.forms import Form
from dpselect.use.studio.ledgers import ledger_line
from dpselect.use.studio.session import Job, Session

if TYPE_CHECKING:
    from jinja2 import Environment

SCREENS = {
    "study": "Data",
    "variables": "Variables",
    "persons": "Privacy",
    "plan": "Plan",
    "check": "Check",
    "budget": "Budget",
    "release": "Release",
    "verify": "Verify",
}
"""The screens in the order of a study, by the last part of their address."""

POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

BEAT = 3.0
"""Seconds between two looks at the work: what a page shows of it comes on this beat, whatever the rows are like."""

CUT = "<!-- grows here -->"


def session_of(request: Request) -> Session:
    """What this studio remembers."""
    session: Session = request.app.state.session
    return session


def form_of(request: Request) -> Form:
    """What was sent with a form; the guard has read it."""
    form: Form = request.scope["form"]
    return form


def go_to(screen: str) -> Response:
    """On to another screen, so that reloading it sends nothing again."""
    return RedirectResponse(screen, 303)


def answer(request: Request, screen: str, *, status: int = 200, **values: Any) -> Response:
    """A screen of the studio."""
    return HTMLResponse(_render(request, screen, values), status)


def whole_page(page: str) -> Response:
    """A page that was made elsewhere and brings its own style, which is allowed by its hash."""
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    allowed = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in styles)
    policy = POLICY.replace("style-src 'self'", f"style-src {allowed}")
    return HTMLResponse(page, headers={"Content-Security-Policy": policy})


def growing(request: Request, screen: str, job: Job, **values: Any) -> Response:
    """One answer that stays open and grows by a line a step, on a fixed beat; no refresh and no script."""
    head, tail = _render(request, screen, {**values, "cut": CUT}).split(CUT)
    line, end = (templates().get_template(name) for name in ("step.html.j2", "ended.html.j2"))

    async def parts() -> AsyncIterator[str]:
        yield head
        said = 0
        while True:
            ended, done = job.ended.is_set(), len(job.said)
            for step in job.said[said:done]:
                yield line.render(step=step)
            said = done
            if ended:
                break
            await anyio.sleep(request.app.state.beat)
        yield end.render(problem=job.problem, **values)
        yield tail

    return StreamingResponse(parts(), media_type="text/html; charset=utf-8")


def style_sheet() -> Response:
    """The one style sheet: the report's, and a few lines for forms."""
    return Response(_style(), media_type="text/css")


def _render(request: Request, screen: str, values: dict[str, Any]) -> str:
    session = session_of(request)
    common = {
        "screens": SCREENS,
        "form_token": request.app.state.form_token,
        "study": session.study_file.name,
        "source": session.source.label if session.source else "",
        "ledger": ledger_line(session.source),
        "waits": session.waiting is not None,
        "busy": session.busy,
        "problems": {},
    }
    return templates().get_template(f"{screen}.html.j2").render({**common, "here": screen, **values})


@cache
def templates() -> Environment:
    """The report's templates and filters, and the studio's templates."""
    from jinja2 import ChoiceLoader, DictLoader

    folder = files("dpselect.use.studio") / "templates"
    texts = {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir() if each.is_file()}
    base = environment()
    assert base.loader is not None
    made = base.overlay(loader=ChoiceLoader([DictLoader(texts), base.loader]))
    made.filters = {**base.filters, "amount": plain, "pair": lambda name: (name, name)}  # the report's stay as they are
    return made


@cache
def _style() -> str:
    return "\n".join(templates().get_template(name).render() for name in ("style.css", "effects.css", "studio.css"))
