"""Private. Files of Stata, SPSS and SAS, through pyreadstat: numbers and text as they are, with the file's own dictionary."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dpselect.errors import DataError
from dpselect.gather.listed import require_same, states_of
from dpselect.gather.sources.stream import TEXTS, Kinds, Stream, dictionary, one_sentence

READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
PROGRAMS = {".dta": "Stata", ".sav": "SPSS", ".zsav": "SPSS", ".por": "SPSS", ".sas7bdat": "SAS", ".xpt": "SAS"}
CHUNK_ROWS = 1 << 18
"""Rows read at a time; each chunk opens the file anew, so it should not be small."""
RECORD_BYTES = 80
"""Bytes of a record of a SAS transport file, which says nowhere how many rows it has."""
DATES = (
    "%t",
    "%d",
    "DATE",
    "ADATE",
    "EDATE",
    "JDATE",
    "SDATE",
    "TIME",
    "DTIME",
    "MOYR",
    "QYR",
    "WKYR",
    "MMDD",
    "DDMM",
    "YYMM",
)
"""How the names of formats begin that make a number a date or a time."""


def statistics_stream(files: Sequence[str], kinds: Kinds) -> Stream:
    """Files of one program as one table; a column of codes is read as its labels where the study states its levels as text."""
    schema = _schema(files[0], _metadata(files[0]))

    def read(names: Sequence[str]) -> Iterator[Any]:
        for file in files:
            yield from _batches(file, names, kinds)

    return Stream(_as_asked(schema, kinds), read)


def _door(file: str) -> Any:
    """The reading function for a file, by its name."""
    try:
        import pyreadstat
    except ImportError:
        raise DataError(
            "Reading files of Stata, SPSS and SAS needs the package pyreadstat: pip install 'dpselect[statistics]'."
        ) from None
    return getattr(pyreadstat, READERS[Path(file).suffix.lower()])


def _opening(file: str) -> Any:
    program = PROGRAMS[Path(file).suffix.lower()]
    return one_sentence(
        f"{file!r} cannot be read as a file of {program}: it may be damaged, cut short, in an encoding that it does not name, or "
        "something else; write it again, or save it as CSV"
    )


def _metadata(file: str) -> Any:
    reader = _door(file)
    with _opening(file), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if file.lower().endswith(".xpt") and os.path.getsize(file) % RECORD_BYTES:
            raise EOFError  # half a record: the file is cut short, which the reader does not notice
        metadata = reader(file, metadataonly=True)[1]
    if said:  # the reader renames the second of two columns of one name, and says so
        raise DataError(f"{file!r} has two columns of the same name, or is damaged: write it again.")
    return metadata


def _schema(file: str, metadata: Any) -> Any:
    with _opening(file):  # names and labels come from the file, and may be none
        return _fields(metadata)


def _fields(metadata: Any) -> Any:
    """Names and types; labels and value labels, which the file holds apart from its rows, as metadata of each field."""
    import pyarrow as pa

    fields = []
    for name in metadata.column_names:
        form = str(metadata.original_variable_types.get(name) or "").upper().replace("%T", "%t").replace("%D", "%d")
        if metadata.readstat_variable_types.get(name) == "string":
            kind = pa.string()
        else:
            kind = pa.timestamp("s") if form.startswith(DATES) else pa.float64()
        label = (metadata.column_names_to_labels.get(name) or "").strip()
        labels = metadata.variable_value_labels.get(name) or {}
        fields.append(pa.field(name, kind, metadata=dictionary(label, labels)))
    return pa.schema(fields)


def _as_asked(schema: Any, kinds: Kinds) -> Any:
    """Codes whose labels are asked for, and persons, who may be numbers, are text."""
    import pyarrow as pa

    fields = [
        field.with_type(pa.string()) if kinds.get(field.name) in TEXTS and field.type == pa.float64() else field
        for field in schema
    ]
    return pa.schema(fields)


def _batches(file: str, names: Sequence[str], kinds: Kinds) -> Iterator[Any]:
    import pyarrow as pa

    before = states_of([file])
    metadata = _metadata(file)
    schema = _as_asked(_schema(file, metadata), kinds)
    for name in names:
        if schema.names.count(name) != 1:
            raise DataError(f"The column {name!r} is not in {file!r} exactly once, as it is in the first file.")
    labels = {name: metadata.variable_value_labels.get(name) or {} for name in names}
    start, rows = 0, CHUNK_ROWS
    while rows == CHUNK_ROWS:
        with _opening(file):
            columns, _ = _door(file)(
                file,
                usecols=list(names),
                row_offset=start,
                row_limit=CHUNK_ROWS,
                disable_datetime_conversion=True,
                output_format="dict",
            )
            arrays = [_array(columns[name], schema.field(name).type, labels[name]) for name in names]
        require_same([file], before)
        rows = len(arrays[0])
        start += rows
        yield pa.RecordBatch.from_arrays(arrays, list(names))


def _array(values: Sequence[Any], kind: Any, labels: dict[Any, str]) -> Any:
    import pyarrow as pa

    if kind == pa.string():
        return pa.array([written(labels.get(value, value)) for value in values], pa.string())
    return pa.array(values, kind)


def written(value: Any) -> str | None:
    """A cell as text: whole numbers without a point, as a text file would have them."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)
