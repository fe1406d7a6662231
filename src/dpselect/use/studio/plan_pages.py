"""Plan, check, budget: what to expect, whether the rows fit, what may be spent."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dpselect.errors import DpselectError, StudyError
from dpselect.use.shell.failures import explain
from dpselect.use.studio.forms import Problems, stated
from dpselect.use.studio.ledgers import ledger_facts, open_ledger
from dpselect.use.studio.pages import answer, form_of, go_to, session_of, whole_page
from dpselect.use.studio.previews import check_page, plan_facts
from dpselect.use.studio.session import CheckPage
from dpselect.use.studio.sources import study_mark

STALE = '\n<p class="banner">The study has changed since this check: run it again.</p>'
BACK = '<main>\n<p class="note"><a href="check">Back to the studio</a></p>'


def show_plan(request: Request) -> Response:
    """The last plan, and the form for another."""
    session = session_of(request)
    plan, draft = session.plan, session.kept("plan")
    last = {"rows": str(plan.rows), "epsilon": plan.epsilon, "r_squared": plan.r_squared} if plan else {}
    typed = {"rows": "", "epsilon": "1", "r_squared": "0.2", **last, **draft.form}
    stale = plan is not None and plan.mark != study_mark(session.study_file, None)
    return answer(
        request, "plan", problems=draft.problems, typed=typed, plan=None if draft.problems else plan, stale=stale
    )


def make_plan(request: Request) -> Response:
    """Plan from public facts alone."""
    session, sent = session_of(request), form_of(request)
    problems: Problems = {}
    rows = sent.get("rows", "").replace(",", "").strip()
    if not (rows.isdecimal() and len(rows) <= 10 and 2 <= int(rows) <= 2**32):
        problems["rows"] = "Give about how many rows there are: a whole number from 2 on, such as 5000."
    try:
        study = stated(session.study_file)
        if not problems:
            mark = study_mark(session.study_file, None)
            session.plan = plan_facts(study, int(rows), sent.get("epsilon", ""), sent.get("r_squared", ""), mark)
    except (StudyError, ValueError) as problem:
        sentence = explain(problem).sentence if isinstance(problem, DpselectError) else "Give a number, such as 0.3."
        problems["epsilon" if "epsilon" in sentence else "r_squared" if "R²" in sentence else "form"] = sentence
    if problems:
        session.keep("plan", sent, problems)
    return go_to("plan")


def show_check(request: Request) -> Response:
    """Why the check is off, and the button that asks for it."""
    session = session_of(request)
    draft = session.kept("check")
    return answer(
        request,
        "check",
        problems=draft.problems,
        typed={"epsilon": "1", **draft.form},
        ready=session.source is not None,
        open=session.check is not None,
        stale=session.check is not None and session.check.mark != study_mark(session.study_file, session.source),
    )


def make_check(request: Request) -> Response:
    """Look at the rows, confidentially, on a page of its own."""
    session, sent = session_of(request), form_of(request)
    try:
        if session.source is None:
            raise DpselectError("Choose the data first, on the page Data.")
        mark = study_mark(session.study_file, session.source)
        page = check_page(stated(session.study_file), session.source, sent.get("epsilon", "").strip(), "1e-6")
        session.check = CheckPage(page, mark)
        session.looked = True
    except Exception as problem:
        sentence = explain(problem).sentence
        session.keep("check", sent, {"epsilon" if sentence.startswith("epsilon") else "form": sentence})
        return go_to("check")
    return go_to("check-page")


def show_check_page(request: Request) -> Response:
    """The confidential page, alone; nothing on it can be edited."""
    session = session_of(request)
    if session.check is None:
        return go_to("check")
    stale = session.check.mark != study_mark(session.study_file, session.source)
    return whole_page(session.check.page.replace("<main>", BACK + (STALE if stale else ""), 1))


def close_check(request: Request) -> Response:
    """Forget the confidential page."""
    session_of(request).check = None
    return go_to("check")


def show_budget(request: Request) -> Response:
    """What was spent, when and on what."""
    session = session_of(request)
    draft, facts = session.kept("budget"), ledger_facts(session.study_file, session.source)
    typed = {"epsilon": "2", "delta": "2e-6", **draft.form}  # for two releases with their usual costs
    waiting = facts.waiting if facts and not session.busy else ()
    ready = session.source is not None
    return answer(request, "budget", problems=draft.problems, typed=typed, facts=facts, waiting=waiting, ready=ready)


def open_budget(request: Request) -> Response:
    """State the totals, once."""
    session, sent = session_of(request), form_of(request)
    try:
        if session.source is None:
            raise DpselectError("Choose the data first, on the page Data.")
        open_ledger(session.source, sent.get("epsilon", "").strip(), sent.get("delta", "").strip())
    except DpselectError as problem:
        sentence = explain(problem).sentence
        session.keep("budget", sent, {"delta" if sentence.startswith("delta") else "epsilon": sentence})
    return go_to("budget")
