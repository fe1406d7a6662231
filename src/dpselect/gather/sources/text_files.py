"""Private. CSV files: what the assumptions call a number is read as a number, and the rest of the file is skipped."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from dpselect.errors import DataError
from dpselect.gather.intact.text_numbers import as_text, is_utf8, numbers_of
from dpselect.gather.intact.watch import Watch
from dpselect.gather.sources.source import Csv
from dpselect.gather.sources.stream import TEXTS, Kinds, Stream, one_sentence
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

    def parts(names: Sequence[str]) -> Iterator[Iterator[Any]]:
        return chain.from_iterable(_parts(file, form, kinds, names) for file in files)

    def read(names: Sequence[str]) -> Iterator[Any]:
        return chain.from_iterable(parts(names))

    return Stream(schema, read, parts=parts)


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
    """Names and types by the first block; a number stays a guess only where it looks like something else and may be refused."""
    import pyarrow as pa

    fields = []
    for field in _guessed(file, form):
        wanted = kinds.get(field.name)
        if wanted in TEXTS:
            fields.append(pa.field(field.name, pa.string()))
        elif wanted == "number or missing" or (wanted == "number" and _looks_like_a_number(field.type)):
            fields.append(pa.field(field.name, pa.float64()))
        else:
            fields.append(field)
    return pa.schema(fields)


def _looks_like_a_number(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind) or types.is_boolean(kind))


def _parts(file: str, form: Csv, kinds: Kinds, names: Sequence[str]) -> Iterator[Iterator[Any]]:
    """The rows of one file, a batch a part: one thread reads, and whoever takes a part makes its cells numbers and text.

    Text is read as bytes, so that no cell of it refuses the file. Numbers are read as such, which is quicker, up to the first
    block in which one is none; that block and the rest are read as bytes too. The blocks end at the same rows both times, and a
    cell is the same number either way.
    """
    import pyarrow as pa

    watch = Watch(file)
    schema = _schema(file, form, kinds)
    for name in names:
        if schema.names.count(name) != 1:
            raise DataError(f"The column {name!r} is not in {file!r} exactly once, as it is in the first file.")
    types = {name: schema.field(name).type for name in names}
    texts = {name: kind for name, kind in types.items() if kind == pa.string()}
    numbers = {name: kind for name, kind in types.items() if kind == pa.float64()}
    given, reason = 0, ""
    for by_hand in (texts, {**texts, **numbers}):
        try:
            with _open(file, form, {**types, **dict.fromkeys(by_hand, pa.binary())}, names) as reader:
                watch.require_name()
                for batch in islice(reader, given, None):
                    given += 1
                    yield _part(batch, file, form, kinds, by_hand)
            watch.require_unchanged()
            return
        except DataError:
            raise
        except Exception as error:  # the message quotes a row or a cell; of it only the column's place is passed on
            reason = f"{_reason(file, str(error), schema.names)}{form_hint(file, form)}."
    raise DataError(reason)  # out here, where no __context__ remembers the cell


def _part(batch: Any, file: str, form: Csv, kinds: Kinds, types: Mapping[str, Any]) -> Iterator[Any]:
    import pyarrow as pa

    columns = {
        name: _column(cells, types[name], form) if name in types else cells
        for name, cells in zip(batch.schema.names, batch.columns, strict=True)
    }
    for name, column in columns.items():
        if kinds.get(name) == "text" and not is_utf8(column):
            raise DataError(f"{_unreadable(name, file)}{form_hint(file, form)}.")
    yield pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def _column(cells: Any, kind: Any, form: Csv) -> Any:
    import pyarrow as pa

    return pa.array(numbers_of(as_text(cells), form.decimal)) if kind == pa.float64() else as_text(cells)


def _reason(file: str, message: str, names: Sequence[str]) -> str:
    place = re.search(r"In CSV column #(\d+)", message)
    if place is not None and int(place[1]) < len(names):
        return _unreadable(names[int(place[1])], file)
    if "Expected" in message and "columns" in message:
        return f"{file!r} has a row with more or fewer fields than its first line names: correct or remove that row"
    return f"{file!r} cannot be read to its end: it may be cut short, or have a line longer than a megabyte"


def _unreadable(name: str, file: str) -> str:
    return f"The column {name!r} of {file!r} cannot be read as its type or encoding: clean it first"


def _open(file: str, form: Csv, types: dict[str, Any], names: Sequence[str] | None) -> Any:
    from pyarrow import csv

    return csv.open_csv(
        _utf8(file, form.encoding),
        read_options=csv.ReadOptions(block_size=BLOCK),
        parse_options=csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=types, include_columns=None if names is None else list(names), decimal_point=form.decimal
        ),
    )


def _utf8(file: str, encoding: str) -> Any:
    """The bytes of a file, unpacked, in UTF-8; one that its encoding does not have becomes a mark, in its own cell alone."""
    import pyarrow as pa

    stream = pa.input_stream(file)
    if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii"):
        return stream  # as they are: no cell need be text to be skipped, compared or missing
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    return pa.TransformInputStream(stream, lambda data: decoder.decode(data, not data).encode())
