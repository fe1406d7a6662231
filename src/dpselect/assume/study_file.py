"""Public. Study files as text: TOML that people write, in which a "?" is a place that is still open."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dpselect.assume.variables import is_printable, shown, variable_from_dict
from dpselect.errors import StudyError

MAX_STUDY_LENGTH = 1 << 22
"""Characters of a study file, at most."""
OPEN = "?"
MAX_OPEN_PLACES = 10
"""Open places that one message names."""


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a study file."""
    where = f"The study file {str(path)!r}"
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(MAX_STUDY_LENGTH + 1)
    except UnicodeDecodeError:
        raise StudyError(f"{where} is not UTF-8 text: save it as UTF-8.") from None
    except OSError as error:
        raise StudyError(f"{where} cannot be read: {error.strerror or 'it cannot be opened'}.") from None


def parse_tables(text: str, where: str = "The study file") -> dict[str, Any]:
    """The plain values in a TOML text; refused as long as a place is open. Limits may stay open: votes need none."""
    if len(text) > MAX_STUDY_LENGTH:
        raise StudyError(f"{where} has more than {MAX_STUDY_LENGTH:,} characters; no study needs as many.")
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{where} is not valid TOML: {shown(str(error))[1:-1]}.") from None
    except (ValueError, RecursionError):
        raise StudyError(
            f"{where} is not valid TOML: a number is too long, or brackets are nested too deeply."
        ) from None
    if not isinstance(values.get("response"), dict):
        raise StudyError(f"{where} needs a [response] table with a name.")
    predictors = values.setdefault("predictors", [])
    if not (isinstance(predictors, list) and all(isinstance(each, dict) for each in predictors)):
        raise StudyError(f"{where} must give each predictor as a [[predictors]] table.")
    tables = [values["response"], *predictors]
    for table in tables:
        if table.get("lower") == OPEN and table.get("upper") == OPEN:
            del table["lower"], table["upper"]
    if places := list(_open_places(tables)):
        more = f"; and {len(places) - MAX_OPEN_PLACES} more" if len(places) > MAX_OPEN_PLACES else ""
        raise StudyError(
            f"{where} still leaves open: {'; '.join(places[:MAX_OPEN_PLACES])}{more}. "
            'Replace each "?" by what is known without looking at the rows.'
        )
    return values


TABLE = re.compile(r"\s*\[(\[\s*predictors\s*\]|\s*response\s*)\]")
ENTRIES = {
    "range": ("lower", "upper"),
    "bound": ("lower", "upper"),
    "limit": ("lower", "upper"),
    "reference": ("reference",),
    "label": ("category_labels", "label"),
    "categor": ("categories", "levels"),
    "level": ("categories", "levels"),
    "kind": ("kind",),
    "unit": ("unit",),
    "reason": ("reason",),
}
"""Which entries of a table a message is about, by a word in it; the first word that it has decides."""


def located(problem: StudyError, values: Mapping[str, Any], text: str, path: str) -> StudyError:
    """The same refusal with the file and, where one variable is to blame, the line that it is about."""
    message = str(problem)
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if TABLE.match(line)]
    response = next((number for number in starts if "response" in lines[number]), None)
    tables = [(values.get("response"), response)]
    tables += zip(values.get("predictors", ()), [number for number in starts if number != response], strict=False)
    for table, start in tables:
        if start is not None and _is_blamed(table, message):
            line = _line_about(message, lines, start) + 1
            return StudyError(f"{Path(path).name} line {line}: {message[:1].lower()}{message[1:]}")
    return StudyError(f"{Path(path).name}: {message}")


def _is_blamed(table: Any, message: str) -> bool:
    """Whether this table alone is refused with this message."""
    try:
        variable_from_dict(table)
    except StudyError as problem:
        return str(problem) == message
    return False


def _line_about(message: str, lines: list[str], start: int) -> int:
    """The line of a table that a message is about: that of the entry it speaks of, or its first."""
    end = next((k for k in range(start + 1, len(lines)) if lines[k].lstrip().startswith("[")), len(lines))
    unknown = re.search(r"unknown entry '([^']*)'", message)
    words = [unknown[1]] if unknown else next((names for word, names in ENTRIES.items() if word in message), ())
    for k in range(start + 1, end):
        if lines[k].partition("=")[0].strip() in words:
            return k
    return start


def _open_places(tables: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for place, table in enumerate(tables):
        missing = [key for key, value in table.items() if OPEN in (value if isinstance(value, list) else [value])]
        if missing:
            name = table.get("name")
            who = f"predictor {place}" if place else "the response"
            who = shown(name) if isinstance(name, str) and name != OPEN else who
            yield f"{' and '.join(shown(key)[1:-1] for key in missing)} of {who}"


def format_tables(values: Mapping[str, Any]) -> str:
    """The text of a study file with these plain values."""
    lines = ["# A dpselect study: public statements only. Nothing here may be read from the rows.", ""]
    settings = {
        name: value for name, value in values.items() if name not in ("response", "predictors", "source", "only")
    }
    lines += _entries(settings)
    if "source" in values:
        lines += ["", "[source]", *_entries(values["source"])]
    for part in values.get("only", ()):
        lines += ["", "[[only]]", *_entries(part)]
    lines += ["", "[response]", *_entries(values["response"])]
    for predictor in values["predictors"]:
        lines += ["", "[[predictors]]", *_entries(predictor)]
    return "\n".join(lines) + "\n"


def _entries(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {toml(value)}" for name, value in values.items()]


def toml(value: Any) -> str:
    """A value as TOML writes it, on one line that can be printed: names and categories may hold whatever files hold."""
    # JSON's strings, numbers and lists are TOML's too; what cannot be printed is escaped TOML's way.
    text = json.dumps(value, ensure_ascii=False)
    return "".join(each if is_printable(each) else f"\\U{ord(each):08x}" for each in text)


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a study file, whole or not at all."""
    target = Path(path)
    partial = target.with_name(target.name + ".part")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        reason = error.strerror or "the disk refused"
        raise StudyError(f"The study file {str(path)!r} cannot be written: {reason}.") from None
