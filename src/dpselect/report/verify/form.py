"""Public. The form of a report: its published JSON Schema, and as much of a validator as that schema needs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from dpselect.errors import DataError

TUNED = "dpselect tuned selection 1"
BOUNDS = "dpselect bounds 1"
"""What is left of a run that bought bounds and then failed: no report."""
LARGEST = 64 * 2**20
"""Characters; a report has some tens of thousands."""


@cache
def schema_text() -> str:
    """The JSON Schema (draft 2020-12) of report.json, as it is published."""
    return (files("dpselect.report.verify") / "report.schema.json").read_text(encoding="utf-8")


@cache
def _schema() -> dict[str, Any]:
    values: dict[str, Any] = json.loads(schema_text())
    return values


def plain_values(text: str) -> Any:
    """The values of a JSON text that means one thing: no key twice, no number that is none, no thousand brackets."""
    if len(text) > LARGEST:
        raise DataError("This is far too long for a dpselect report.")
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, DataError):
            raise
        raise DataError("This is neither the JSON nor the HTML file of a dpselect report.") from None


def require_form(values: Any) -> None:
    """Refuse what the schema does not allow, and name the first place."""
    formats = {"dpselect report 1": "report", "dpselect selection 1": "selection", TUNED: "tuned"}
    stated = values.get("format") if isinstance(values, dict) else None
    kind = formats.get(stated) if isinstance(stated, str) else None
    if stated == BOUNDS:
        raise DataError(
            "These are bounds that were bought, and no model was chosen with them, so there is no report to verify: look up "
            "their receipt with `dpselect budget`."
        )
    if kind is None:
        raise DataError("This is not a dpselect report: its format is not one that this version knows.")
    where = next(_problems(values, _schema()["$defs"][kind], kind), None)
    if where is not None:
        raise DataError(f"This is not a dpselect report: {where[:200]} is not as its published form has it.")


def _problems(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    """The places where a value departs from a schema."""
    if "$ref" in schema:
        yield from _problems(value, _schema()["$defs"][schema["$ref"].removeprefix("#/$defs/")], where)
    elif "anyOf" in schema:
        found = [next(_problems(value, each, where), None) for each in schema["anyOf"]]
        if None not in found:
            yield max((each for each in found if each), key=len)  # the alternative that fits best fails last
    elif "const" in schema or "enum" in schema:
        allowed = schema.get("enum", [schema.get("const")])
        if not (isinstance(value, str) and value in allowed):
            yield where
    elif not _is(value, schema["type"]) or not _within(value, schema):
        yield where
    elif isinstance(value, dict):
        yield from _problems_of_object(value, schema, where)
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _problems(each, schema["items"], f"{where}[{place}]")


def _problems_of_object(value: dict[str, Any], schema: dict[str, Any], where: str) -> Iterator[str]:
    for name in schema["required"]:
        if name not in value:
            yield f"{where}.{name}"
    for name, inner in value.items():
        if name in schema["properties"]:
            yield from _problems(inner, schema["properties"][name], f"{where}.{name}")
        elif not schema["additionalProperties"]:
            yield f"{where}.{name}"


def _is(value: Any, kind: str) -> bool:
    if kind == "number":
        return type(value) in (int, float)
    kinds = {"integer": int, "string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}
    return type(value) is kinds[kind]


def _within(value: Any, schema: dict[str, Any]) -> bool:
    if type(value) in (int, float):
        largest = 10**300 if type(value) is int else math.inf  # a whole number may be too large for a double
        return bool(schema.get("minimum", -largest) <= value <= schema.get("maximum", largest))
    if type(value) is str:
        return len(value) <= schema["maxLength"] and bool(re.search(schema.get("pattern", ""), value))
    if type(value) is list:
        return bool(schema.get("minItems", 0) <= len(value) <= schema["maxItems"])
    return True


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise DataError(
            "This is not a dpselect report: a name stands twice in it, so readers may see different values."
        )
    return values


def _refused(name: str) -> Any:
    raise DataError("This is not a dpselect report: a number in it is not finite.")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text)
