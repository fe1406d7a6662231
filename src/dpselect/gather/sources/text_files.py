"""Private. CSV files: what the assumptions call a number is read as a number, and the rest of the file is skipped."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import Any

from dpselect.errors import DataError
from dpselect.gather.sources.source import Csv
from dpselect.gather.sources.stream import Kinds, Stream, one_sentence
from dpselect.gather.sources.text_form import form_hint

BLOCK = 1 << 20
"""Bytes read at a time; the first block is also where the types are guessed from."""


def csv_stream(files: Sequence[str], form: Csv, kinds: Kinds) -> Stream:
    """CSV files with the same names in their first lines, as one table."""
    _check_encoding(form.encoding)
    schema = _schema(files[0], form, kinds)
    if (name := _unlike(schema, kinds)) and (hint := form_hint(files[0], form)):
        raise DataError(
            f"The column {name!r} is not in {files[0]!r}, or is no number, read as CSV {_said(form)}{hint}."
        )

    def read(names: Sequence[str]) -> Iterator[Any]:
        for file in files:
            yield from _batches(file, form, kinds, names)

    return Stream(schema, read)


def _check_encoding(encoding: str) -> None:
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise DataError(f"The encoding {encoding!r} is not known: try 'utf-8', 'latin-1' or 'cp1252'.") from None


def _unlike(schema: Any, kinds: Kinds) -> str | None:
    """The first stated column that is not there, or not the number that it should be."""
    import pyarrow as pa

    for name, kind in kinds.items():
        if schema.names.count(name) != 1 or (kind == "number" and pa.types.is_string(schema.field(name).type)):
            return name
    return None


def _said(form: Csv) -> str:
    return (
        f"with the delimiter {form.delimiter!r}, the encoding {form.encoding!r} and the decimal point {form.decimal!r}"
    )


def _guessed(file: str, form: Csv) -> list[Any]:
    """The fields by the first block; or one sentence, with what the file looks like instead."""
    import pyarrow as pa

    try:
        with one_sentence(
            f"{file!r} cannot be read as CSV {_said(form)}: it may be empty, something else, or have rows of unequal length"
        ):
            with _open(file, form, {}, None) as reader:
                # Names are decoded here, where one that is not text is one sentence too.
                return [pa.field(field.name, field.type) for field in reader.schema]
    except DataError as problem:
        reason = str(problem)
    raise DataError(f"{reason.rstrip('.')}{form_hint(file, form)}.")


def _schema(file: str, form: Csv, kinds: Kinds) -> Any:
    """Names and types by the first block; a number stays a guess only where it looks like something else."""
    import pyarrow as pa

    guessed = _guessed(file, form)
    types = {"text": pa.string(), "number": pa.float64()}
    fields = []
    for field in guessed:
        wanted = kinds.get(field.name)
        looks_right = wanted == "text" or (
            wanted == "number"
            and (pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_null(field.type))
        )
        fields.append(field.with_type(types[wanted]) if wanted and looks_right else field)
    return pa.schema(fields)


def _batches(file: str, form: Csv, kinds: Kinds, names: Sequence[str]) -> Iterator[Any]:
    schema = _schema(file, form, kinds)
    for name in names:
        if schema.names.count(name) != 1:
            raise DataError(f"The column {name!r} is not in {file!r} exactly once, as it is in the first file.")
    types = {name: schema.field(name).type for name in names}
    try:
        with _open(file, form, types, names) as reader:
            yield from reader
    except DataError:
        raise
    except Exception as error:  # the message quotes a row or a cell; of it only the column's place is passed on
        reason = f"{_reason(file, str(error), schema.names)}{form_hint(file, form)}."
    else:
        return
    raise DataError(reason)  # out here, where no __context__ remembers the cell


def _reason(file: str, message: str, names: Sequence[str]) -> str:
    place = re.search(r"In CSV column #(\d+)", message)
    if place is not None and int(place[1]) < len(names):
        return f"The column {names[int(place[1])]!r} of {file!r} cannot be read as its type or encoding: clean it first"
    if "Expected" in message and "columns" in message:
        return f"{file!r} has a row with more or fewer fields than its first line names: correct or remove that row"
    return f"{file!r} cannot be read to its end: it may be cut short, or hold bytes that are not in its encoding"


def _open(file: str, form: Csv, types: dict[str, Any], names: Sequence[str] | None) -> Any:
    from pyarrow import csv

    return csv.open_csv(
        file,
        read_options=csv.ReadOptions(block_size=BLOCK, encoding=form.encoding),
        parse_options=csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=types, include_columns=None if names is None else list(names), decimal_point=form.decimal
        ),
    )
