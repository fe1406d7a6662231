"""A code book, one line a variable, fills the study file that `init` writes. It is public: what it says may be quoted."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpselect.errors import AssumptionError
from dpselect.gather.sources.text_form import guess_form

COLUMNS = ("name", "lower", "upper", "levels", "label", "unit", "reason")


def read_codebook(path: str) -> dict[str, dict[str, Any]]:
    """What a code book says about each variable, in the words of study files.

    A CSV file whose first line names some of `COLUMNS`; levels stand with semicolons or bars between them, each with its label
    after an equals sign if it has one: "1=male; 2=female".
    """
    found: dict[str, dict[str, Any]] = {}
    for number, line in _lines(path):
        name = line.pop("name", "")
        if not name:
            raise AssumptionError(
                f"Line {number} of the code book {path!r} has no name: name the variable, or remove it."
            )
        if name in found:
            raise AssumptionError(f"The code book {path!r} names {name!r} twice; name each variable once.")
        found[name] = _entry(name, line)
    return found


def _lines(path: str) -> Iterator[tuple[int, dict[str, str]]]:
    if not Path(path).is_file():
        raise AssumptionError(f"There is no code book {path!r}: give a CSV file with the columns {', '.join(COLUMNS)}.")
    form = guess_form(path)
    encoding = "utf-8-sig" if form.encoding == "utf-8" else form.encoding
    with open(path, encoding=encoding, newline="") as file:
        rows = csv.reader(file, delimiter=form.delimiter)
        head = [each.strip().lower() for each in next(rows, [])]
        if unknown := [each for each in head if each not in COLUMNS]:
            raise AssumptionError(
                f"The code book {path!r} has the column {unknown[0]!r}; known are {', '.join(COLUMNS)}."
            )
        if "name" not in head:
            raise AssumptionError(f"The code book {path!r} has no column 'name'; its first line names the columns.")
        for number, row in enumerate(rows, start=2):
            if any(cell.strip() for cell in row):
                yield number, {name: cell.strip() for name, cell in zip(head, row, strict=False) if cell.strip()}


def _entry(name: str, line: dict[str, str]) -> dict[str, Any]:
    entry: dict[str, Any] = {word: line[word] for word in ("label", "unit", "reason") if word in line}
    for side in ("lower", "upper"):
        if side in line:
            entry[side] = _number(name, side, line[side])
    if "levels" in line:
        parts = [part.partition("=") for part in line["levels"].replace("|", ";").split(";") if part.strip()]
        levels = [code.strip() for code, _, _ in parts]
        whole = all(level.lstrip("-").isdecimal() for level in levels)
        entry["levels"] = [int(level) for level in levels] if whole else levels
        labels = [label.strip() for _, _, label in parts]
        if any(labels):
            entry["level_labels"] = [label or str(level) for label, level in zip(labels, levels, strict=True)]
    return entry


def _number(name: str, side: str, text: str) -> float:
    try:
        value = float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        raise AssumptionError(f"The code book gives {name!r} the {side} bound {text!r}; it must be a number.") from None
    return int(value) if value.is_integer() else value
