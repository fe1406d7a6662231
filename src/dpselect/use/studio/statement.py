"""Public. A study as a form: what was typed, beside which field it is wrong, and the values of the study file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import variable_from_dict
from dpselect.errors import AssumptionError
from dpselect.gather.sources.open import ColumnType
from dpselect.use.statement.study import OPEN
from dpselect.use.studio.forms import Form

Problems = dict[str, str]
Values = dict[str, Any]
WORDS = ("label", "unit", "reason")
USES = ("predictor", "response", "none")
SETTINGS = ("neighbors", "person", "max_rows_per_person", "missing", "rows")
COUNTS = ("max_rows_per_person", "rows")
KINDS = {"number": "number", "boolean": "number", "text": "text"}
EMPTY = "Left open: state it without looking at the rows."


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Public. One variable as it stands in the form: all text, as it was typed."""

    name: str
    kind: str
    use: str = "none"
    lower: str = ""
    upper: str = ""
    levels: str = ""
    label: str = ""
    unit: str = ""
    reason: str = ""

    @property
    def usable(self) -> bool:
        """Whether a column of this type can be a variable at all."""
        return self.kind in ("number", "text")


def entries_of_study(values: Values, columns: Iterable[ColumnType]) -> list[Entry]:
    """The form of a study and a table: each variable of either once, the table's order first."""
    kinds = {column.name: column for column in columns}
    stated = {str(each.get("name")): each for each in values.get("predictors", [])}
    response = values.get("response", {})
    stated[str(response.get("name"))] = response
    names = [*kinds, *(name for name in stated if name not in kinds and name not in (OPEN, "None"))]
    unused = "none" if stated.keys() & kinds.keys() else "predictor"  # a table seen for the first time: all may compete
    return [
        _entry(name, kinds.get(name), stated.get(name), "response" if name == response.get("name") else unused)
        for name in names
        if name != values.get("person")
    ]


def _entry(name: str, column: ColumnType | None, stated: Values | None, use: str) -> Entry:
    kind = None if column is None else KINDS.get(column.kind, column.type)
    if stated is None:
        assert column is not None
        codes = "\n".join(str(code) for code, _ in column.levels)
        found = Entry(name=name, kind=kind or "text", use=use, label=column.label, levels=codes)
        return found if found.usable else replace(found, use="none")
    levels = [each for each in stated.get("levels", []) if each != OPEN]
    texts = {key: _text(stated.get(key)) for key in ("lower", "upper", *WORDS)}
    known = kind or ("text" if levels and isinstance(levels[0], str) else "number")
    place = "response" if use == "response" else "predictor"
    return Entry(name=name, kind=known, use=place, levels="\n".join(map(str, levels)), **texts)


def _text(value: Any) -> str:
    if value is None or value == OPEN:
        return ""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def entries_of_form(form: Form) -> list[Entry]:
    """What was sent: fields are numbered, and the hidden names say whose they are."""
    entries = []
    places = sorted(int(key[5:]) for key in form if key.startswith("name.") and key[5:].isdecimal())
    for place in places:
        sent = {key: form.get(f"{key}.{place}", "").strip() for key in ("lower", "upper", "levels", "use", *WORDS)}
        use = sent.pop("use")
        kind = form.get(f"kind.{place}", "number")
        entries.append(Entry(name=form[f"name.{place}"], kind=kind, use=use if use in USES else "none", **sent))
    return entries


def values_of_entries(
    entries: list[Entry], before: Values, columns: Iterable[ColumnType] = ()
) -> tuple[Values, Problems]:
    """The study that the form states, on top of what its file says besides; and what is wrong, field by field."""
    books = {column.name: _code_book(column) for column in columns}
    problems: Problems = {}
    made: dict[str, list[Values]] = {use: [] for use in USES}
    for place, entry in enumerate(entries):
        if entry.use != "none":
            made[entry.use].append(
                _variable(entry, place, books.get(entry.name, {}) | _before(before, entry.name), problems)
            )
    responses = [place for place, entry in enumerate(entries) if entry.use == "response"]
    if len(responses) != 1:
        said = "Choose one variable to be explained" + ("; here is a second one." if responses else ".")
        problems[f"use.{responses[-1] if responses else 0}"] = said
    values = {**before, "response": made["response"][-1] if responses else {}, "predictors": made["predictor"]}
    if not problems:
        _check(values, problems)
    return values, problems


def _code_book(column: ColumnType) -> Values:
    """What a file of Stata, SPSS or SAS says of a column's codes, rows apart."""
    codes, labels = [code for code, _ in column.levels], [label for _, label in column.levels]
    return {"levels": codes, "level_labels": labels} if codes else {}


def _before(values: Values, name: str) -> Values:
    listed = [values.get("response", {}), *values.get("predictors", [])]
    return next((each for each in listed if each.get("name") == name), {})


def _variable(entry: Entry, place: int, before: Values, problems: Problems) -> Values:
    """One variable's table; what its file says besides, such as a reference, stays."""
    values: Values = {"name": entry.name, **{key: getattr(entry, key) for key in WORDS if getattr(entry, key)}}
    if not (entry.levels or entry.lower or entry.upper):
        values["kind"] = "number"
    if entry.levels:
        values["levels"] = _levels(entry)
        if values["levels"] == before.get("levels") and "level_labels" in before:
            values["level_labels"] = before["level_labels"]
        if entry.use == "response":
            values["kind"] = "binary"
        elif before.get("kind") == "binary" and len(values["levels"]) == 2:
            values["kind"] = "binary"
        elif before.get("reference") in values["levels"]:
            values["reference"] = before["reference"]
    elif entry.kind == "text":
        problems[f"levels.{place}"] = EMPTY
    for side in ("lower", "upper"):
        text = getattr(entry, side)
        if text:
            try:
                values[side] = float(text)
            except ValueError:
                problems[f"{side}.{place}"] = f"{text!r} is not a number; write it like 1250.5, without separators."
    if not any(key.endswith(f".{place}") for key in problems):
        try:
            variable_from_dict(values)
        except AssumptionError as problem:
            usual = "levels" if entry.levels else "upper"
            where = next((what for what in WORDS if str(problem).startswith(f"The {what} of")), usual)
            problems[f"{where}.{place}"] = str(problem)
    return values


def _levels(entry: Entry) -> list[str | int]:
    """One level a line, or with commas where there is one line; whole numbers where the column holds numbers."""
    parts = entry.levels.splitlines() if "\n" in entry.levels else entry.levels.split(",")
    texts = [part.strip() for part in parts if part.strip()]
    if entry.kind == "number":
        try:
            return [int(text) for text in texts]
        except ValueError:
            pass
    return list(texts)


def values_of_settings(form: Form, before: Values) -> tuple[Values, Problems]:
    """Persons, neighbours and missing cells on top of what the study says."""
    problems: Problems = {}
    values = {key: value for key, value in before.items() if key not in SETTINGS}
    values["neighbors"], values["missing"] = form.get("neighbors", ""), form.get("missing", "")
    person = form.get("person", "")
    if person:
        values["person"] = person
    for name in COUNTS:
        text = form.get(name, "").replace(",", "").strip()
        if text.isdecimal() and len(text) < 20:
            values[name] = int(text)
        elif text:
            problems[name] = f"{form[name]!r} is not a whole number, such as 5."
    if not problems:
        _check(values, problems, "max_rows_per_person" if person else "form")
    return values, problems


def _check(values: Values, problems: Problems, where: str = "form") -> None:
    try:
        Assumptions.from_dict(values)
    except AssumptionError as problem:
        problems[where] = str(problem)
