"""Private. Sheets of Excel and OpenDocument workbooks, through python-calamine: the first row has the names.

The reader keeps a sheet as one rectangle, and ends the whole process where there is no memory for it: a single cell in the last
row and column asks for seventeen thousand million. And it waits for ever for the end of an OpenDocument table that has none. So
workbooks that it would not survive are found before it sees them.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree
from xml.parsers.expat import ExpatError, ParserCreate

from dpselect.errors import DataError
from dpselect.gather.listed import require_same, states_of
from dpselect.gather.sources.statistics import written
from dpselect.gather.sources.stream import BATCH_ROWS, TEXTS, Kinds, Stream, one_sentence
from dpselect.gather.sources.text_numbers import number_in

MAX_SPARSE_CELLS = 1 << 24
"""Cells of a rectangle that is mostly empty; a full one may have as many as a sheet has."""
CHUNK_BYTES = 1 << 20
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml", re.IGNORECASE)
_ROW = re.compile(rb"<(?:\w+:)?row\b[^>]*>")
_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]*)([0-9]+)["']""")


def require_readable(file: str) -> None:
    """Refuse a workbook that its reader would not survive; what is no workbook at all is left to the reader to say."""
    try:
        with zipfile.ZipFile(file) as packed:
            wide = any(
                _is_too_wide(_packed_chunks(packed, name)) for name in packed.namelist() if _SHEET.fullmatch(name)
            )
            sound = "content.xml" not in packed.namelist() or _is_xml(_packed_chunks(packed, "content.xml"))
    except (OSError, ValueError, RuntimeError, NotImplementedError, EOFError, zipfile.BadZipFile, zlib.error):
        return
    if wide:
        raise DataError(
            f"A sheet of {file!r} has a cell far away from all others, and a sheet is held as one rectangle: delete what stands "
            "beside or below the table, or save the sheet as CSV."
        )
    if not sound:
        raise DataError(f"{file!r} cannot be read as a workbook: it is damaged; save it again, or as CSV.")


def stored_rows(file: str, sheet: str | None) -> int | None:
    """The number of the last row that a sheet stores, with or without cells; None where nobody can tell.

    A workbook's reader ends a sheet at its last cell, so that a last record with nothing in it would be no row, and the number of
    rows, which is public, would say so. Files of Excel since 2007 can store rows one by one, empty ones too; if some row between
    others is not there, the program that wrote it left empty ones out.
    """
    try:
        with zipfile.ZipFile(file) as packed:
            part = _sheet_part(packed, sheet)
            return None if part is None else _last_row(_packed_chunks(packed, part))
    except (
        OSError,
        ValueError,
        KeyError,
        RuntimeError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        ElementTree.ParseError,
    ):
        return None


def _sheet_part(packed: zipfile.ZipFile, sheet: str | None) -> str | None:
    """The part of a packed workbook that holds a sheet, or the first one."""
    if "xl/workbook.xml" not in packed.namelist():
        return None
    book = ElementTree.fromstring(packed.read("xl/workbook.xml"))
    links = ElementTree.fromstring(packed.read("xl/_rels/workbook.xml.rels"))
    targets = {link.get("Id"): str(link.get("Target")) for link in links}
    for listed in book.iter():
        if listed.tag.rpartition("}")[2] == "sheet" and sheet in (None, listed.get("name")):
            key = next(value for name, value in listed.items() if name.rpartition("}")[2] == "id")
            target = targets[key]
            return target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    return None


def _last_row(chunks: Iterator[bytes]) -> int | None:
    last, rest = 0, b""
    for chunk in chunks:
        whole, mark, rest = (rest[-CHUNK_BYTES:] + chunk).rpartition(b">")
        for found in _ROW.finditer(whole + mark):
            place = _PLACE.search(found[0])
            before, last = last, int(place[2]) if place is not None else last + 1
            if before and last != before + 1:
                return None
    return last


def _packed_chunks(packed: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    with packed.open(name) as part:
        while chunk := part.read(CHUNK_BYTES):
            yield chunk


def _is_too_wide(chunks: Iterator[bytes]) -> bool:
    """Whether a rectangle around all cells is large and nearly empty."""
    rows, columns, cells, rest = 1, 1, 0, b""
    for chunk in chunks:
        whole, mark, rest = (rest[-CHUNK_BYTES:] + chunk).rpartition(b">")
        found = _PLACE.findall(whole + mark)
        cells += len(found)
        rows = max(rows, *(int(number[:10]) for _, number in found), 1)
        columns = max(columns, *map(_column, {letters for letters, _ in found}), 1)
    return rows * columns > max(MAX_SPARSE_CELLS, 10 * cells)


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


def excel_stream(file: str, sheet: str | None, kinds: Kinds) -> Stream:
    """One sheet of a workbook. It is held whole: a sheet has at most 1,048,576 rows."""
    import pyarrow as pa

    names, rows, told = _sheet(file, sheet)
    asked = [place for place, name in enumerate(names) if name in kinds or not kinds]
    columns = {place: [row[place] for row in rows] for place in asked}
    types = {place: _type(cells, kinds.get(names[place])) for place, cells in columns.items()}
    arrays = {place: _array(cells, types[place], kinds.get(names[place])) for place, cells in columns.items()}

    def read(wanted: Sequence[str]) -> Iterator[Any]:
        table = pa.table([arrays[names.index(name)] for name in wanted], names=list(wanted))
        yield from table.to_batches(max_chunksize=BATCH_ROWS)

    # A column that nobody asked for is not looked at, so its type is not known and need not be.
    schema = pa.schema([(name, types.get(place, pa.null())) for place, name in enumerate(names)])
    return Stream(schema, read, leaves_out="perhaps" if told else "surely")


def _sheet(file: str, sheet: str | None) -> tuple[list[str], list[list[Any]], bool]:
    """The names and the rows of a sheet, and whether empty ones are stored: then each is a row, and no record decides how many."""
    try:
        import python_calamine
    except ImportError:
        raise DataError("Reading Excel needs the package python-calamine: pip install 'dpselect[excel]'.") from None

    damaged = f"{file!r} cannot be read as a workbook: it may be damaged, open in another program, or need a password"
    with one_sentence(damaged):
        before = states_of([file])
        require_readable(file)
        with python_calamine.CalamineWorkbook.from_path(file) as workbook:
            sheets = list(workbook.sheet_names)
            if sheet is not None and sheet not in sheets:
                raise DataError(
                    f"{file!r} has no sheet {sheet!r}: give one of its sheets, such as '?sheet={sheets[0]}'."
                )
            cells = workbook.get_sheet_by_name(sheet or sheets[0]).to_python(skip_empty_area=False)
        stored = stored_rows(file, sheet)
        require_same([file], before)
    above = next((place for place, row in enumerate(cells) if any(cell != "" for cell in row)), None)
    if above is None:
        raise DataError(f"The sheet of {file!r} is empty: its first row must have the names of the columns.")
    width = len(cells[above])
    cells += [[""] * width for _ in range((stored or 0) - len(cells))]
    del cells[:above]  # rows of a sheet are numbered from its top, whether or not anything stands there
    return [written(name) or "" for name in cells[0]], cells[1:], stored is not None


def _type(cells: Sequence[Any], wanted: str | None) -> Any:
    """What a column holds: numbers, text or dates, by the types of its cells; empty cells are of no type."""
    import pyarrow as pa

    if wanted is not None and wanted.endswith("or missing"):
        return pa.string() if wanted in TEXTS else pa.float64()
    found = {type(cell) for cell in cells if not (isinstance(cell, str) and cell == "")}
    if not found:
        return pa.string() if wanted in TEXTS else pa.float64()
    if found <= {bool}:
        return pa.string() if wanted in TEXTS else pa.bool_()
    if found <= {int, float, bool}:
        return pa.string() if wanted in TEXTS else pa.float64()
    return pa.string() if str in found else pa.timestamp("s")


def _array(cells: Sequence[Any], kind: Any, wanted: str | None) -> Any:
    import pyarrow as pa

    if wanted == "number or missing":
        return pa.array([number_in(cell) for cell in cells], kind)
    if wanted == "text or missing":
        return pa.array([written(cell) if isinstance(cell, str | int | float) else None for cell in cells], kind)
    if pa.types.is_timestamp(kind):
        return pa.nulls(len(cells), kind)  # refused by its type; no date is ever used
    if kind == pa.string():
        return pa.array([written(cell) for cell in cells], kind)
    convert = bool if kind == pa.bool_() else float
    return pa.array([None if isinstance(cell, str) else convert(cell) for cell in cells], kind)
