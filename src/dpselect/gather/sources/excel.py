"""Private. Sheets of Excel and OpenDocument workbooks, through python-calamine: the first row has the names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from dpselect.errors import DataError
from dpselect.gather.intact.text_numbers import number_in
from dpselect.gather.intact.watch import require_same, states_of
from dpselect.gather.intact.workbooks import require_readable
from dpselect.gather.sources.statistics_files import written
from dpselect.gather.sources.stream import BATCH, TEXTS, Kinds, Stream, one_sentence

SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_ADDRESS = re.compile(r"(.+(?:" + "|".join(map(re.escape, SUFFIXES)) + r"))\?sheet=(.+)", re.IGNORECASE | re.DOTALL)


def split_sheet(path: str) -> tuple[str, str | None]:
    """A path and the sheet that it names: "people.xlsx?sheet=2020"; without one, the first sheet is meant."""
    found = _ADDRESS.fullmatch(path)
    return (path, None) if found is None else (found[1], found[2])


def excel_stream(file: str, sheet: str | None, kinds: Kinds) -> Stream:
    """One sheet of a workbook. It is held whole: a sheet has at most 1,048,576 rows."""
    import pyarrow as pa

    names, rows = _sheet(file, sheet)
    asked = [place for place, name in enumerate(names) if name in kinds or not kinds]
    columns = {place: [row[place] for row in rows] for place in asked}
    types = {place: _type(cells, kinds.get(names[place])) for place, cells in columns.items()}
    arrays = {place: _array(cells, types[place], kinds.get(names[place])) for place, cells in columns.items()}

    def read(wanted: Sequence[str]) -> Iterator[Any]:
        table = pa.table([arrays[names.index(name)] for name in wanted], names=list(wanted))
        yield from table.to_batches(max_chunksize=BATCH)

    # A column that nobody asked for is not looked at, so its type is not known and need not be.
    return Stream(pa.schema([(name, types.get(place, pa.null())) for place, name in enumerate(names)]), read)


def _sheet(file: str, sheet: str | None) -> tuple[list[str], list[list[Any]]]:
    """The names and the rows of a sheet; rows without any cell, which stand below many tables, are left out."""
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
            cells = workbook.get_sheet_by_name(sheet or sheets[0]).to_python()
        require_same([file], before)
    while cells and set(cells[-1]) == {""}:
        cells.pop()
    if not cells:
        raise DataError(f"The sheet of {file!r} is empty: its first row must have the names of the columns.")
    return [written(name) or "" for name in cells[0]], cells[1:]


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
