"""Release, confirm, progress, report, verify: the one path on which something is spent, and what comes of it."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from dpselect.assume.variables import Binary
from dpselect.errors import BudgetExceeded, DpselectError
from dpselect.release.analysis import AnalysisRecord
from dpselect.report.exports import export_bytes
from dpselect.report.page import drawings
from dpselect.use.shell.failures import explain
from dpselect.use.studio.forms import stated
from dpselect.use.studio.ledgers import ledger_facts
from dpselect.use.studio.pages import answer, form_of, go_to, growing, session_of, whole_page
from dpselect.use.studio.releases import consequences, hand_over_waiting, plan_report, release
from dpselect.use.studio.reports import (
    ReportPlan,
    check_text,
    past_report,
    report_facts,
    report_files,
    report_text,
    reports,
    same_command,
    same_python,
)
from dpselect.use.studio.session import Job, Verified

DOWNLOADS = {"docx": "Word", "tex": "LaTeX", "md": "Markdown", "csv": "CSV", "svg": "Figure (SVG)"}
"""The forms of a report that can be downloaded, beside its page and its JSON file."""
USED = "This confirmation was used or cancelled before. Nothing more was spent."
STUDY_CHANGED = "The study was changed since this release was prepared. Nothing was spent. Prepare it again."


def show_release(request: Request) -> Response:
    """The form for a release, and the reports so far."""
    session = session_of(request)
    draft, facts = session.kept("release"), ledger_facts(session.study_file, session.source)
    return answer(
        request,
        "release",
        problems=draft.problems,
        typed={"epsilon": "1", "delta": "1e-6", "title": "", "family": "binomial", "what": "both", **draft.form},
        binary=_is_binary(session.study_file),
        facts=facts,
        waiting=facts.waiting if facts and not session.busy else (),
        reports=reports(session.study_file),
    )


def _is_binary(study_file: Path) -> bool:
    """Whether the response of a study is yes or no."""
    try:
        return isinstance(stated(study_file).response, Binary)
    except DpselectError:
        return False


def ask(request: Request) -> Response:
    """Put a release before the custodian, with its price; nothing is charged."""
    session, sent = session_of(request), form_of(request)
    try:
        if session.source is None:
            raise DpselectError("Choose the data first, on the page Data.")
        if session.busy:
            raise DpselectError("A release is under way; wait for it to end.")
        session.ask(plan_report(session.study_file, session.source, {key: text.strip() for key, text in sent.items()}))
    except DpselectError as problem:
        sentence = explain(problem).sentence
        # Errors carry a sentence and no field; the field beside which it is shown is the one that it begins with.
        where = next((each for each in ("delta", "epsilon") if sentence.startswith(each)), "what")
        where = "epsilon" if isinstance(problem, BudgetExceeded) else where
        session.keep("release", sent, {where: sentence})
        return go_to("release")
    return go_to("confirm")


def show_confirm(request: Request) -> Response:
    """The price, in numbers and in words, and the field for the amount."""
    session = session_of(request)
    waiting, draft = session.waiting, session.kept("confirm")
    if waiting is None:
        return go_to("progress" if session.busy else "release")
    words, after = consequences(waiting.order)
    return answer(
        request,
        "confirm",
        order=waiting.order,
        nonce=waiting.nonce,
        words=words,
        after=after,
        typed=draft.form.get("amount", ""),
        problems=draft.problems,
    )


def confirm(request: Request) -> Response:
    """Begin the release, if the amount is right and the confirmation was not used before."""
    session, sent = session_of(request), form_of(request)
    waiting, nonce = session.waiting, sent.get("nonce", "")
    if waiting is not None and nonce == waiting.nonce:
        if not _equal(sent.get("amount", "").strip(), waiting.order.budget.epsilon):
            session.keep("confirm", sent, {"amount": "This is not the amount above. Type it to agree."})
            return go_to("confirm")
        # What is charged is the order that was shown; if the file says something else by now, the amount was typed for another run.
        if stated(session.study_file).hash != waiting.order.study.hash:
            session.withdraw()
            session.keep("release", {}, {"form": STUDY_CHANGED})
            return go_to("release")
    # A form that is sent twice (a double click, "reload") is led to the run that it began, and begins no second one.
    if session.start(nonce, _begin) or session.began(nonce):
        return go_to("progress")
    session.keep("release", {}, {"form": USED})
    return go_to("release")


def _begin(order: ReportPlan) -> Job:
    return Job(lambda tell: release(order, tell))


def _equal(typed: str, price: Decimal) -> bool:
    try:
        return Decimal(typed) == price
    except InvalidOperation:
        return False


def withdraw(request: Request) -> Response:
    """Forget the release that waits."""
    session_of(request).withdraw()
    return go_to("release")


def hand_over(request: Request) -> Response:
    """Write what was paid for and did not arrive; nothing is charged."""
    session = session_of(request)
    source = session.source
    job = None
    if source is not None:
        job = session.begin(lambda: Job(lambda tell: hand_over_waiting(session.study_file, source, tell)))
    if job is not None:
        # Waited for: the next page is to say whether the files were written.
        job.ended.wait()
        if job.problem:
            session.keep("release", {}, {"form": job.problem})
        session.job = None
    return go_to("release")


def show_progress(request: Request) -> Response:
    """The release that is under way, or how it ended; looking again starts nothing."""
    session = session_of(request)
    if session.job is None or session.order is None:
        return go_to("release")
    return growing(request, "progress", session.job, number=session.order.number)


def show_report(request: Request) -> Response:
    """What was released, and how to do the same without the studio."""
    session, number = session_of(request), request.path_params["number"]
    facts = report_facts(session.study_file, number)
    recent = session.order if session.order and session.order.number == number else None
    order = recent or past_report(session.study_file, number, session.source)
    return answer(
        request,
        "report",
        facts=facts,
        drawn=drawings(facts.table),
        number=number,
        files=[path.name for path in report_files(session.study_file, number)],
        downloads=DOWNLOADS,
        command=same_command(order),
        python=same_python(order),
    )


def show_page(request: Request) -> Response:
    """The public page as it lies on the disk."""
    return whole_page(report_text(session_of(request).study_file, request.path_params["number"], page=True))


def show_json(request: Request) -> Response:
    """The JSON file as it lies on the disk."""
    session, number = session_of(request), request.path_params["number"]
    # A header is ASCII, and a quote in a file's name would end the text that it stands in.
    name = report_files(session.study_file, number)[1].name.encode("ascii", "replace").decode().replace('"', "_")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(report_text(session.study_file, number), media_type="application/json", headers=headers)


def show_download(request: Request) -> Response:
    """The table or the figure of a report in another form; nothing is spent."""
    session, number, kind = session_of(request), request.path_params["number"], request.path_params["kind"]
    if kind not in DOWNLOADS:
        raise DpselectError(f"A report cannot be downloaded in this form. Choose one of {', '.join(DOWNLOADS)}.")
    content = export_bytes(AnalysisRecord.from_json(report_text(session.study_file, number)), kind)
    headers = {"Content-Disposition": f'attachment; filename="report-{number}.{kind}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


def show_verify(request: Request) -> Response:
    """A place to drop a report, and what was found in the last one."""
    session = session_of(request)
    # Shown once: the page is read again after a post, and what somebody dropped there is not kept.
    found, session.verified = session.verified, Verified()
    return answer(request, "verify", checks=found.checks, sentence=found.problem, name=found.name)


def verify(request: Request) -> Response:
    """Check a report that was sent, or one beside the study; it is read and forgotten."""
    session, sent = session_of(request), form_of(request)
    number = sent.get("number", "")
    try:
        text = report_text(session.study_file, int(number), page=True) if number.isdecimal() else sent.get("report", "")
        if not text.strip():
            raise DpselectError("Choose a report first: its HTML page or its JSON file.")
        name = f"Report {number}" if number else "The report"
        session.verified = Verified(name, check_text(text, session.source))
    except Exception as problem:  # anybody's file: whatever is wrong with it is an answer, not a failure of the studio
        session.verified = Verified(problem=explain(problem).sentence)
    return go_to("verify")
