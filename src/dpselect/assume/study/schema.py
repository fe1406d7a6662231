"""Public. Study files as a JSON Schema, by which editors complete and check them while they are written."""

from __future__ import annotations

from typing import Any, get_args

from dpselect.assume.study.assumptions import MOST_ROWS_PER_PERSON, Intercept, Missing
from dpselect.assume.study.labels import LONGEST
from dpselect.assume.study.neighbors import Neighbors
from dpselect.assume.study.variables import KINDS

_NAME = {"type": "string", "minLength": 1, "description": "The column's name, to the letter."}
_LEVELS = {
    "description": "All that can occur, all text or all whole numbers; the first is the reference unless another is named.",
    "anyOf": [
        {"type": "array", "minItems": 2, "uniqueItems": True, "items": {"type": kind}} for kind in ("string", "integer")
    ],
}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "maxLength": LONGEST, "description": description}


_VARIABLE: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "dependentRequired": {"lower": ["upper"], "upper": ["lower"], "reference": ["levels"], "level_labels": ["levels"]},
    "not": {"required": ["lower", "levels"]},
    "properties": {
        "name": _NAME,
        "kind": {"enum": list(KINDS), "description": "Needed only for a number without bounds, and for no or yes."},
        "lower": {
            "type": "number",
            "description": "The lower bound, known without the rows; cells below are moved to it.",
        },
        "upper": {
            "type": "number",
            "description": "The upper bound, known without the rows; cells above are moved to it.",
        },
        "levels": _LEVELS,
        "reference": {"type": ["string", "integer"], "description": "The level that the others are compared with."},
        "level_labels": {"type": "array", "items": {"type": "string"}, "description": "What people call each level."},
        "label": _text("What people call the variable; reports use it."),
        "unit": _text("Its unit, such as years or euro."),
        "reason": _text("Why the bounds or levels are known without the rows; reports print it."),
    },
}

_SETTINGS: dict[str, Any] = {
    "intercept": {"enum": list(get_args(Intercept)), "description": "In every model, competing, or in none."},
    "neighbors": {"enum": list(get_args(Neighbors)), "description": "Is the number of rows public, or itself secret?"},
    "missing": {"enum": list(get_args(Missing)), "description": "What becomes of empty cells and unknown levels."},
    "radius": {
        "type": "number",
        "minimum": 0,
        "description": "Bound on the sum of |coefficients|, variables in [-1, 1].",
    },
    "rows": {"type": "integer", "minimum": 1, "description": "About how many rows there are, if that may be said."},
    "person": {"type": "string", "minLength": 1, "description": "The column that tells persons apart."},
    "max_rows_per_person": {"type": "integer", "minimum": 1, "maximum": MOST_ROWS_PER_PERSON},
    "formula": {"type": "string", "description": "Instead of terms, such as rent ~ size + C(county) + size:year."},
    "terms": {
        "type": "array",
        "items": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "description": "The terms of the model; a list is a product.",
    },
}


def study_schema() -> dict[str, Any]:
    """The schema of a study file, in the draft of 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A dpselect study",
        "description": "What is stated in public before any row is read.",
        "type": "object",
        "required": ["response", "predictors"],
        "additionalProperties": False,
        "properties": {
            **_SETTINGS,
            "response": {**_VARIABLE, "description": "What is to be explained."},
            "predictors": {"type": "array", "items": _VARIABLE, "description": "What may explain it."},
        },
    }
