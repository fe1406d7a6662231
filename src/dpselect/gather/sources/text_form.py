"""Private. How a text file is written, guessed from its form alone: its first bytes, its line of names, the points in numbers.

No cell is kept, and what is said holds none: an encoding, a delimiter and a decimal point.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from typing import Any

from dpselect.gather.sources.source import Csv

BLOCK = 1 << 16
"""Bytes that are looked at for the delimiter and the decimal point."""
DELIMITERS = ",;\t|"
_COMMA = re.compile(r"[+-]?\d+,(?:\d{1,2}|\d{4,})")
"""A number with a decimal comma; before three digits it could part thousands."""
_POINT = re.compile(r"[+-]?\d+\.\d+")


def guess_form(file: str) -> Csv:
    """The form that a text file seems to have; what cannot be told stays as a plain path has it."""
    encoding = _encoding(file)
    head = _head(file).decode(encoding, errors="ignore").lstrip("\ufeff")
    lines = head.splitlines()[: 200 if head.endswith("\n") else -1] or head.splitlines()
    delimiter = _delimiter(lines[0] if lines else "")
    return Csv(file, delimiter=delimiter, encoding=encoding, decimal=_decimal(lines[1:200], delimiter))


def form_hint(file: str, used: Csv) -> str:
    """What to state instead of the form that was used, or nothing if that looks right."""
    try:
        seems = guess_form(file)
    except Exception:  # a file that cannot even be opened; whoever asks says so
        return ""
    differs = stated_form(seems, used)
    if not differs:
        return ""
    python = ", ".join(f"{name}={value!r}" for name, value in differs.items())
    return f"; it looks as if it were written with {options_of(differs)} (in Python: Csv(path, {python}))"


def stated_form(form: Csv, against: Csv | None = None) -> dict[str, str]:
    """What differs from a plain path, or from another form."""
    plain = against or Csv(form.path)
    names = ("encoding", "delimiter", "decimal")
    return {name: getattr(form, name) for name in names if getattr(form, name) != getattr(plain, name)}


def options_of(form: dict[str, str]) -> str:
    """The options of a command line that state a form."""
    shown = {"\t": "tab"}
    quoted = {name: shown.get(value, f"'{value}'" if value in DELIMITERS else value) for name, value in form.items()}
    return " ".join(f"--{name} {value}" for name, value in quoted.items())


def _chunks(file: str, size: int) -> Iterator[bytes]:
    import pyarrow as pa

    with pa.input_stream(file) as stream:  # unpacks what is compressed, by its name
        while piece := stream.read(size):
            yield piece


def _head(file: str) -> bytes:
    return next(_chunks(file, BLOCK), b"")


def _encoding(file: str) -> str:
    head = _head(file)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head[:64].count(0) >= len(head[:64]) // 3 > 0:  # every other byte of Latin letters
        return "utf-16-be" if head[0] == 0 else "utf-16-le"
    decoder = codecs.getincrementaldecoder("utf-8")()
    marks: set[int] = set()
    utf8 = True
    for piece in _chunks(file, 1 << 20):
        marks |= {byte for byte in piece if byte >= 0x80} if not piece.isascii() else set()
        utf8 = utf8 and _decodes(decoder, piece)
    if utf8:
        return "utf-8"
    # Between 0x80 and 0x9f Latin-1 has no letters, and Windows has quotation marks and the euro.
    return "cp1252" if any(mark < 0xA0 for mark in marks) else "latin-1"


def _decodes(decoder: Any, piece: bytes) -> bool:
    try:
        decoder.decode(piece)
    except UnicodeDecodeError:
        return False
    return True


def _delimiter(names: str) -> str:
    """The mark that splits the line of names into most parts, outside quotes."""
    bare = re.sub(r'"[^"]*"', "", names)
    return max(DELIMITERS, key=lambda mark: (bare.count(mark), mark == ","))


def _decimal(lines: list[str], delimiter: str) -> str:
    """A comma, if numbers have commas and none has a point; where commas part the cells it cannot be one."""
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in csv.reader(lines, delimiter=delimiter) for cell in row]
    commas, points = any(map(_COMMA.fullmatch, cells)), any(map(_POINT.fullmatch, cells))
    return "," if commas and not points else "."
