"""Study, variables, persons: what is stated before any row is read. Names and types of columns are all that is looked at."""

from __future__ import annotations

import hashlib

from starlette.requests import Request
from starlette.responses import Response

from dpselect.errors import DpselectError
from dpselect.use.init import read_codebook
from dpselect.use.shell.failures import explain
from dpselect.use.shell.options import TEXT_FORM
from dpselect.use.shell.sources import csv_form
from dpselect.use.studio.forms import (
    Form,
    entries_of_form,
    entries_of_study,
    holds_already,
    save_study,
    structure_texts,
    study_values,
    values_of_entries,
    values_of_settings,
    with_code_book,
)
from dpselect.use.studio.pages import answer, form_of, go_to, session_of
from dpselect.use.studio.session import Session
from dpselect.use.studio.sources import data_files, open_source

CHANGED = "The study was changed elsewhere since this page was opened. This is your version: save again to keep it."


def show_study(request: Request) -> Response:
    """Where the rows are."""
    session = session_of(request)
    source, draft = session.source, session.kept("study")
    stated = {"address": source.shown, **dict(source.form)} if source else {}
    return answer(
        request,
        "study",
        problems=draft.problems,
        typed={**dict.fromkeys(("address", *TEXT_FORM), ""), **stated, **draft.form},
        columns=source.columns if source and not draft.problems else (),
        by_look=source is not None and not any(each.stated for each in source.columns),
        files=data_files(session.study_file.parent),
        exists=session.study_file.exists(),
    )


def state_source(request: Request) -> Response:
    """Look at the head of a table."""
    session, sent = session_of(request), form_of(request)
    address = sent.get("address", "").strip()
    form = csv_form({name: sent[name] for name in TEXT_FORM if sent.get(name, "").strip()})
    try:
        if not address:
            raise DpselectError("Give the path of a file or a folder, or a database address.")
        session.source = open_source(address, form)
    except Exception as problem:
        shown = "" if "@" in address else address  # an address may hold a password
        session.keep("study", {**form, "address": shown}, {"address": explain(problem).sentence})
    return go_to("study")


def show_variables(request: Request) -> Response:
    """The form of the study, or what was typed into it and is not right yet."""
    session = session_of(request)
    draft = session.kept("variables", forget=False)
    entries = entries_of_form(draft.form)
    if not entries:
        entries = entries_of_study(study_values(session.study_file), session.source.columns if session.source else ())
    return answer(
        request,
        "variables",
        entries=entries,
        problems=draft.problems,
        seen=_mark(session),
        looked=session.looked,
        draft=bool(draft.form),
        books=_code_books(session),
    )


def _code_books(session: Session) -> list[str]:
    """The folder's files that may describe the variables: text files, but not the data themselves."""
    data = session.source.shown if session.source else ""
    return [name for name in data_files(session.study_file.parent) if name.endswith(".csv") and name != data]


def save_variables(request: Request) -> Response:
    """Save the study, or say beside each field what is wrong; nothing is saved by halves."""
    session, sent = session_of(request), form_of(request)
    if "forget" in sent:
        session.kept("variables")
        return go_to("variables")
    if "fill" in sent:
        return _fill(session, sent)
    values, problems = values_of_entries(
        entries_of_form(sent), study_values(session.study_file), session.source.columns if session.source else ()
    )
    if not problems and sent.get("seen") != _mark(session) and not holds_already(values, session.study_file):
        problems["form"] = CHANGED
    if problems:
        session.keep("variables", sent, problems)
        return go_to("variables")
    session.kept("variables")
    save_study(values, session.study_file)
    return go_to("persons")


def _fill(session: Session, sent: Form) -> Response:
    """Take over what a code book of the folder says; it is saved when the person saves it."""
    name, problems = sent.get("codebook", ""), {}
    typed = {key: value for key, value in sent.items() if key != "fill"}
    try:
        if name not in _code_books(session):
            raise DpselectError("Choose a code book: a CSV file in the folder of the study.")
        typed = with_code_book(typed, read_codebook(name))
    except DpselectError as problem:
        problems = {"codebook": str(problem)}
    session.keep("variables", typed, problems)
    return go_to("variables")


def show_persons(request: Request) -> Response:
    """Whom the guarantee is for."""
    session = session_of(request)
    draft, values = session.kept("persons"), study_values(session.study_file)
    taken = {each.get("name") for each in [values.get("response", {}), *values.get("predictors", [])]}
    typed = {**values, **structure_texts(values), **draft.form}
    columns = [each.name for each in session.source.columns if each.name not in taken] if session.source else []
    named = [typed[role] for role in ("person", "weights", "cluster") if typed.get(role) and typed[role] not in columns]
    return answer(
        request,
        "persons",
        problems=draft.problems,
        values=typed,
        columns=[*columns, *dict.fromkeys(named)],
        seen=_mark(session),
        ready=bool(values.get("response")),
    )


def save_persons(request: Request) -> Response:
    """Save the settings of the study."""
    session, sent = session_of(request), form_of(request)
    values, problems = values_of_settings(sent, study_values(session.study_file))
    if not problems and sent.get("seen") != _mark(session) and not holds_already(values, session.study_file):
        problems["form"] = CHANGED
    if problems:
        session.keep("persons", sent, problems)
        return go_to("persons")
    save_study(values, session.study_file)
    return go_to("plan")


def _mark(session: Session) -> str:
    """A mark of the study file as it is now, to notice that another tab or an editor has changed it."""
    try:
        return hashlib.sha256(session.study_file.read_bytes()).hexdigest()
    except OSError:
        return ""
