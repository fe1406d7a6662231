"""Private. Workbooks that would fill the memory of their reader, or keep it busy for ever, are found before it sees them.

The reader keeps a sheet as one rectangle, and ends the whole process where there is no memory for it: a single cell in the last
row and column asks for seventeen thousand million. And it waits for ever for the end of an OpenDocument table that has none.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from xml.parsers.expat import ExpatError, ParserCreate

from dpselect.errors import DataError

MOST_CELLS = 1 << 24
"""Cells of a rectangle that is mostly empty; a full one may have as many as a sheet has."""
CHUNK = 1 << 20
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml", re.IGNORECASE)
_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]*)([0-9]+)["']""")


def require_readable(file: str) -> None:
    """Refuse a workbook that its reader would not survive; what is no workbook at all is left to the reader to say."""
    try:
        with zipfile.ZipFile(file) as packed:
            wide = any(_is_too_wide(_chunks(packed, name)) for name in packed.namelist() if _SHEET.fullmatch(name))
            sound = "content.xml" not in packed.namelist() or _is_xml(_chunks(packed, "content.xml"))
    except (OSError, ValueError, RuntimeError, NotImplementedError, EOFError, zipfile.BadZipFile, zlib.error):
        return
    if wide:
        raise DataError(
            f"A sheet of {file!r} has a cell far away from all others, and a sheet is held as one rectangle: delete what stands "
            "beside or below the table, or save the sheet as CSV."
        )
    if not sound:
        raise DataError(f"{file!r} cannot be read as a workbook: it is damaged; save it again, or as CSV.")


def _chunks(packed: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    with packed.open(name) as part:
        while chunk := part.read(CHUNK):
            yield chunk


def _is_too_wide(chunks: Iterator[bytes]) -> bool:
    """Whether a rectangle around all cells is large and nearly empty."""
    rows, columns, cells, rest = 1, 1, 0, b""
    for chunk in chunks:
        whole, mark, rest = (rest[-CHUNK:] + chunk).rpartition(b">")
        found = _PLACE.findall(whole + mark)
        cells += len(found)
        rows = max(rows, *(int(number[:10]) for _, number in found), 1)
        columns = max(columns, *map(_column, {letters for letters, _ in found}), 1)
    return rows * columns > max(MOST_CELLS, 10 * cells)


def _column(letters: bytes) -> int:
    """The place of a column: A is 1, Z 26, AA 27."""
    place = 0
    for letter in letters.upper()[:8]:
        place = 26 * place + letter - 64
    return place


def _is_xml(chunks: Iterator[bytes]) -> bool:
    parser = ParserCreate()
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except ExpatError:
        return False
    return True
