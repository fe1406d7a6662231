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
from xml.parsers.expat import ExpatError, ParserCreate

from dpselect.assume.variables import shown, shown_names
from dpselect.errors import DataError
from dpselect.gather.listed import require_same, states_of
from dpselect.gather.sources.statistics import written
from dpselect.gather.sources.stream import BATCH_ROWS, TEXTS, Kinds, Stream, one_sentence
from dpselect.gather.sources.text_numbers import number_in

MAX_SPARSE_CELLS = 1 << 24
"""Cells of a rectangle that is mostly empty; a full one may have as many as a sheet has."""
CHUNK_BYTES = 1 << 20
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml", re.IGNORECASE)
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

    names, rows = _sheet(file, sheet, kinds)
    asked = [place for place, name in enumerate(names) if name in kinds or not kinds]
    columns = {place: [row[place] for row in rows] for place in asked}
    types = {place: _type(cells, kinds.get(names[place])) for place, cells in columns.items()}
    arrays = {place: _array(cells, types[place], kinds.get(names[place])) for place, cells in columns.items()}

    def read(wanted: Sequence[str]) -> Iterator[Any]:
        table = pa.table([arrays[names.index(name)] for name in wanted], names=list(wanted))
        yield from table.to_batches(max_chunksize=BATCH_ROWS)

    # A column that nobody asked for is not looked at, so its type is not known and need not be.
    schema = pa.schema([(name, types.get(place, pa.null())) for place, name in enumerate(names)])
    return Stream(schema, read, leaves_out=True)


def _sheet(file: str, sheet: str | None, kinds: Kinds) -> tuple[list[str], list[list[Any]]]:
    """The names and the rows of a sheet that hold anything.

    No program stores all empty ones, so that those between others are left out too: else whether the last record holds anything
    decided whether empty ones above it are rows.
    """
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
            # What somebody has hidden is not told of; it can be read by whoever knows its name.
            visible_state = python_calamine.SheetVisibleEnum.Visible
            visible = [each.name for each in workbook.sheets_metadata if each.visible == visible_state]
            if sheet is not None and sheet not in sheets:
                raise DataError(f"{file!r} has no sheet {shown(sheet)}. It has {shown_names(visible)}.")
            cells = workbook.get_sheet_by_name(sheet or sheets[0]).to_python(skip_empty_area=False)
        require_same([file], before)
    held = [row for row in cells if any(cell != "" for cell in row)]
    names = [written(name) or "" for name in held[0]] if held else []
    # Of several the first is meant, and its user may not know of the others.
    others = sheet is None and len(visible) > 1
    hint = (
        f" Only the first sheet was read: to name another, add ?sheet=NAME. It has {shown_names(visible)}."
        if others
        else ""
    )
    if not held:
        raise DataError(f"The sheet of {file!r} is empty: its first row must have the names of the columns.{hint}")
    if hint and kinds and not any(name in names for name in kinds):
        raise DataError(f"The sheet of {file!r} has none of the columns that are asked for.{hint}")
    return names, held[1:]


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
