"""Public. What a browser sends with a form, and a study as a form: what was typed, and where it is wrong."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from dpselect.assume.study import Study
from dpselect.assume.study_file import OPEN
from dpselect.assume.subgroup import Only
from dpselect.assume.variables import variable_from_dict
from dpselect.errors import DataError, StudyError
from dpselect.gather.sources.schema import ColumnType
from dpselect.use.init import IDENTIFIER, code_and_label

Form = dict[str, str]

MAX_FORM_BYTES = 4 << 20
"""Bytes of a form; a study of a thousand variables has a few hundred thousand, a report less than that."""
PATIENCE = 32 << 20
"""Bytes of a form that is too large which are still taken, and dropped, so that the browser hears why."""
MOST_FIELDS = 50_000

TOO_LARGE = (
    "This form is too large: the studio takes at most 4 MB. Rows are never sent to it; state their path instead."
)


class TooLarge(Exception):
    """The form has more bytes than the studio takes."""


async def read_body(request: Request) -> bytes:
    """The bytes of a form; TooLarge if they are too many, after which nothing of them is kept."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > PATIENCE:
            break
        if size <= MAX_FORM_BYTES:
            parts.append(part)
        else:
            parts.clear()
    if size > MAX_FORM_BYTES:
        raise TooLarge
    return b"".join(parts)


def parse_form(kind: str, body: bytes) -> Form:
    """Names and values; of a name that comes twice the last value counts."""
    if kind.partition(";")[0].strip().lower() == "multipart/form-data":
        return _parts(kind, body)
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=MOST_FIELDS)
    except ValueError:
        raise DataError("The form could not be read: go back, reload the page and try again.") from None
    return dict(pairs)


def _parts(kind: str, body: bytes) -> Form:
    """A form with a file in it: each part's text, whatever its file is called."""
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + kind.encode("latin-1") + b"\r\n\r\n" + body)
    form: Form = {}
    for part in message.iter_parts() if message.is_multipart() else ():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(content, bytes):
            try:
                form[name] = content.decode()
            except UnicodeDecodeError:
                raise DataError("This file is not text: give the JSON or the HTML file of a report.") from None
    return form


Problems = dict[str, str]
Values = dict[str, Any]
WORDS = ("label", "unit", "reason")
USES = ("predictor", "response", "none")
FORM_SETTINGS = (
    "neighbors",
    "person",
    "max_rows_per_person",
    "missing",
    "rows",
    "weights",
    "weight_limit",
    "population",
)
COUNTS = ("max_rows_per_person", "rows")
WEIGHING = ("weight_limit", "population")
FORM_KINDS = {"number": "number", "boolean": "number", "text": "text"}
EMPTY = "Give all categories, one per line, or choose Not used."


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Public. One variable as it stands in the form: all text, as it was typed."""

    name: str
    kind: str
    use: str = "none"
    lower: str = ""
    upper: str = ""
    categories: str = ""
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
    first = not stated.keys() & kinds.keys()  # a table seen for the first time: all that needs no words is considered
    return [
        _entry(
            name,
            kinds.get(name),
            stated.get(name),
            "response" if name == response.get("name") else _use(kinds.get(name), first),
        )
        for name in names
        if name not in (values.get("person"), values.get("weights"))
    ]


def _use(column: ColumnType | None, first: bool) -> str:
    """What a column that no study names is used for: text needs categories and an identifier explains nothing, so neither is."""
    if not first or column is None or IDENTIFIER.search(column.name):
        return "none"
    return "predictor" if column.kind in ("number", "boolean") or column.categories else "none"


def _entry(name: str, column: ColumnType | None, stated: Values | None, use: str) -> Entry:
    kind = None if column is None else FORM_KINDS.get(column.kind, column.type)
    if stated is None:
        assert column is not None
        codes = "\n".join(str(code) for code, _ in column.categories) or ("0\n1" if column.zero_one else "")
        found = Entry(name=name, kind=kind or "text", use=use, label=column.label, categories=codes)
        return found if found.usable else replace(found, use="none")
    categories = [each for each in stated.get("categories", []) if each != OPEN]
    texts = {key: _text(stated.get(key)) for key in ("lower", "upper", *WORDS)}
    known = kind or ("text" if categories and isinstance(categories[0], str) else "number")
    place = "response" if use == "response" else "predictor"
    return Entry(name=name, kind=known, use=place, categories="\n".join(map(str, categories)), **texts)


def _text(value: Any) -> str:
    if value is None or value == OPEN:
        return ""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def entries_of_form(form: Form) -> list[Entry]:
    """What was sent: fields are numbered, and the hidden names say whose they are."""
    entries = []
    places = sorted(int(key[5:]) for key in form if key.startswith("name.") and key[5:].isdecimal())
    for place in places:
        sent = {key: form.get(f"{key}.{place}", "").strip() for key in ("lower", "upper", "categories", "use", *WORDS)}
        use = sent.pop("use")
        kind = form.get(f"kind.{place}", "number")
        entries.append(Entry(name=form[f"name.{place}"], kind=kind, use=use if use in USES else "none", **sent))
    return entries


def with_code_book(form: Form, book: Mapping[str, Values]) -> Form:
    """The form with what a code book says of its variables; what it does not say stays as it was typed.

    A text column whose categories it lists becomes a predictor, as nothing else kept it out.
    """
    filled = dict(form)
    for key, name in form.items():
        place = key.removeprefix("name.")
        if place == key or name not in book:
            continue
        said = dict(book[name])
        codes, labels = said.pop("categories", []), said.pop("category_labels", [])
        if codes:
            text = form.get(f"kind.{place}") == "text"
            pairs = [] if text else [f"{code} = {label}" for code, label in zip(codes, labels, strict=False)]
            filled[f"categories.{place}"] = "\n".join(pairs or map(str, codes))
            if text and form.get(f"use.{place}") == "none":
                filled[f"use.{place}"] = "predictor"
        filled |= {f"{key}.{place}": _text(value) for key, value in said.items()}
    return filled


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
        said = "Choose one variable as the response" + ("; this is a second one." if responses else ".")
        problems[f"use.{responses[-1] if responses else 0}"] = said
    values = {**before, "response": made["response"][-1] if responses else {}, "predictors": made["predictor"]}
    if not problems:
        _check(values, problems)
    return values, problems


def _code_book(column: ColumnType) -> Values:
    """What a file of Stata, SPSS or SAS says of a column's codes, rows apart."""
    codes, labels = [code for code, _ in column.categories], [label for _, label in column.categories]
    return {"categories": codes, "category_labels": labels} if codes else {}


def _before(values: Values, name: str) -> Values:
    listed = [values.get("response", {}), *values.get("predictors", [])]
    return next((each for each in listed if each.get("name") == name), {})


def _variable(entry: Entry, place: int, before: Values, problems: Problems) -> Values:
    """One variable's table; what its file says besides, such as a reference, stays."""
    values: Values = {"name": entry.name, **{key: getattr(entry, key) for key in WORDS if getattr(entry, key)}}
    if before.get("kind") == "count" and entry.use == "response" and not entry.categories:
        values["kind"] = "count"
    elif not (entry.categories or entry.lower or entry.upper):
        values["kind"] = "number"
    if entry.categories:
        values["categories"] = _categories(entry)
        values |= _labels(entry, values["categories"], before)
        if _is_binary(entry, values["categories"], before):
            values["kind"] = "binary"
        elif before.get("reference") in values["categories"]:
            values["reference"] = before["reference"]
    elif entry.kind == "text":
        problems[f"categories.{place}"] = EMPTY
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
        except StudyError as problem:
            usual = "categories" if entry.categories else "upper"
            where = next((what for what in WORDS if str(problem).startswith(f"The {what} of")), usual)
            problems[f"{where}.{place}"] = str(problem)
    return values


def _is_binary(entry: Entry, categories: list[str | int], before: Values) -> bool:
    """Zeros and ones are, as `dpselect init` and a formula have it; a study that says otherwise stays."""
    if before:
        return entry.use == "response" or (before.get("kind") == "binary" and len(categories) == 2)
    return entry.use == "response" or categories == [0, 1]


def _categories(entry: Entry) -> list[str | int]:
    """One category per line, or with commas where there is one line; whole numbers where the column holds numbers."""
    texts = [code for code, _ in _coded(entry)]
    if entry.kind == "number":
        try:
            return [int(text) for text in texts]
        except ValueError:
            pass
    return list(texts)


def _labels(entry: Entry, categories: list[str | int], before: Values) -> Values:
    """The labels of categories: those that were typed, or else those of before, if they are of the same categories."""
    typed = _coded(entry)
    if any(label for _, label in typed):
        return {"category_labels": [label or code for code, label in typed]}
    same = categories == before.get("categories") and "category_labels" in before
    return {"category_labels": before["category_labels"]} if same else {}


def _coded(entry: Entry) -> list[tuple[str, str]]:
    """Categories and their labels: a number's codes may have one after an equals sign, as in a code book."""
    parts = entry.categories.splitlines() if "\n" in entry.categories else entry.categories.split(",")
    listed = [part.strip() for part in parts if part.strip()]
    if entry.kind != "number":
        return [(text, "") for text in listed]
    return [code_and_label(text) for text in listed]


STRUCTURE = ("cluster", "only", "always", "one_of", "hierarchy")


def structure_texts(values: Values) -> Form:
    """Clusters, subgroup and what is stated of terms, as the form has them: a line for each part, names between commas."""
    parts = [each if isinstance(each, Only) else Only(**each) for each in values.get("only") or ()]
    return {
        "cluster": values.get("cluster") or "",
        "only": "\n".join(each.option for each in parts),
        "always": ", ".join(values.get("always") or ()),
        "one_of": "\n".join(", ".join(group) for group in values.get("one_of") or ()),
        "hierarchy": "yes" if values.get("hierarchy") else "no",
    }


def _structure(form: Form, problems: Problems) -> Values:
    """The inverse of `structure_texts`, of what was sent."""
    lines = {name: [each.strip() for each in form.get(name, "").splitlines() if each.strip()] for name in STRUCTURE}
    found: Values = {
        "cluster": form.get("cluster"),
        "always": [each.strip() for line in lines["always"] for each in line.split(",") if each.strip()],
        "one_of": [[each.strip() for each in line.split(",")] for line in lines["one_of"]],
        "hierarchy": form.get("hierarchy") == "yes",
    }
    try:
        found["only"] = [Only.parse(line).to_dict() for line in lines["only"]]
    except StudyError as problem:
        problems["only"] = str(problem)
    return {name: value for name, value in found.items() if value}


def values_of_settings(form: Form, before: Values) -> tuple[Values, Problems]:
    """Persons, neighbors, missing cells, weights, clusters and stated terms on top of what the study says."""
    problems: Problems = {}
    replaced = (*FORM_SETTINGS, *(name for name in STRUCTURE if name in form))
    values = {key: value for key, value in before.items() if key not in replaced} | _structure(form, problems)
    values["neighbors"], values["missing"] = form.get("neighbors", ""), form.get("missing", "")
    person = form.get("person", "")
    for name in ("person", "weights"):
        if form.get(name):
            values[name] = form[name]
    for name in WEIGHING:
        if text := form.get(name, "").replace(",", "").strip():
            try:
                values[name] = float(text)
            except ValueError:
                problems[name] = f"{form[name]!r} is not a number, such as 1250.5."
    for name in COUNTS:
        text = form.get(name, "").replace(",", "").strip()
        if text.isdecimal() and len(text) < 20:
            values[name] = int(text)
        elif text:
            problems[name] = f"{form[name]!r} is not a whole number, such as 5."
    if not problems:
        _check(values, problems, "max_rows_per_person" if person else "weights" if "weights" in values else "form")
    return values, problems


def _check(values: Values, problems: Problems, where: str = "form") -> None:
    try:
        Study.from_dict(values)
    except StudyError as problem:
        problems[where] = str(problem)


def study_values(study_file: Path) -> dict[str, Any]:
    """The study file as plain values, whether or not it is complete; empty if there is none.

    A radius that is no more than the default is left out, so that it follows the response's bounds when they change.
    """
    if not study_file.exists():
        return {}
    try:
        values = tomllib.loads(study_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        Study.read(study_file)  # says what is wrong with it
        raise
    if "formula" in values:
        values = Study.read(str(study_file)).to_dict()
    response = values.get("response", {})
    bounds = [response.get(side) for side in ("lower", "upper")]
    if all(isinstance(bound, int | float) for bound in bounds) and values.get("radius") == (bounds[1] - bounds[0]) / 2:
        del values["radius"]
    return values


def stated(study_file: Path) -> Study:
    """The study, complete; or one sentence about what is open."""
    if not study_file.exists():
        raise StudyError("There is no study yet. Choose the data, then the variables.")
    return Study.read(str(study_file))


def save_study(values: dict[str, Any], study_file: Path) -> None:
    """Write the study file that the commands read."""
    Study.from_dict(values).write(study_file)


def holds_already(values: dict[str, Any], study_file: Path) -> bool:
    """Whether the study file says just this: the same form was sent twice."""
    return study_file.exists() and Study.from_dict(values).to_dict() == stated(study_file).to_dict()
