"""Public. From a text that anybody may have edited to the analysis in it, or one sentence about why there is none.

The form of a report is that of its records: decoding is strict, and the published JSON Schema is derived from the same fields. What
is left for this module is what types cannot say: one meaning for every reader, and a size that fits into memory.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from dpselect.assume.records import MARKUP
from dpselect.errors import DataError, DpselectError
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.selection import Selection

MAX_TEXT_LENGTH = 64 * 2**20
"""Characters; a report has some tens of thousands."""
DISGUISED = (
    "This is JSON with the marks of a page in it, and a browser may show another: give the file that dpselect wrote."
)


def report_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of report.json, or of a selection alone."""
    schemas = [kind.json_schema() for kind in (AnalysisRecord, Selection)]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A dpselect report (report.json), or a selection alone",
        "anyOf": [{"$ref": schema["$ref"]} for schema in schemas],
        "$defs": {name: part for schema in schemas for name, part in schema["$defs"].items()},
    }


def read_report(text: str) -> tuple[AnalysisRecord, dict[str, Any]]:
    """The analysis in a report's JSON text or HTML page, or the selection alone, and the plain values as they stand there."""
    inside = re.search(r'<script type="application/json" id="release">(.*?)</script>', text, re.DOTALL)
    values = plain_values(inside.group(1) if inside and is_page(text) else text)
    stated = values.get("format") if isinstance(values, dict) else None
    try:
        if stated == Selection.__struct_config__.tag:
            selection = Selection.from_dict(values)
            return AnalysisRecord(title="", made="", selection=selection, coefficients=None), values
        if stated == AnalysisRecord.__struct_config__.tag:
            return AnalysisRecord.from_dict(values), values
    except DpselectError:
        raise
    except Exception:  # an edited report can contradict itself anywhere
        raise DataError("This is not a dpselect report: its parts contradict one another.") from None
    raise DataError("This is not a dpselect report: its format is not one that this version knows.")


def is_page(text: str) -> bool:
    """Whether a text is looked at, and not read: whatever is not JSON from its first letter, for a browser shows even that.

    A mark that nobody sees before the page (of the order of bytes, for one) must not make a page something else.
    """
    return not text.lstrip().startswith("{")


def is_disguised(text: str) -> bool:
    """Whether a text is JSON with markup in it: a release all the same, but a browser could show it as a page of another kind.

    dpselect writes none; others may, who write its JSON anew, so in a file that is named .json it is taken.
    """
    return not is_page(text) and MARKUP.search(text) is not None


def plain_values(text: str) -> Any:
    """The values of a JSON text that means one thing: no key twice, no number that is none, no thousand brackets."""
    if len(text) > MAX_TEXT_LENGTH:
        raise DataError("This is far too long for a dpselect report.")
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, DataError):
            raise
        raise DataError("This is neither the JSON nor the HTML file of a dpselect report.") from None


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
