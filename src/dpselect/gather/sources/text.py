"""Private. CSV files: what the study calls a number is read as a number, and the rest of the file is skipped."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

from dpselect.errors import DataError
from dpselect.gather.formats import COMPRESSIONS
from dpselect.gather.listed import Watch
from dpselect.gather.sources.source import Csv
from dpselect.gather.sources.stream import TEXTS, Kinds, Stream, as_text, is_utf8, one_sentence
from dpselect.gather.sources.text_bytes import Quotes, check_encoding, sound_bytes
from dpselect.gather.sources.text_form import form_hint
from dpselect.gather.sources.text_numbers import numbers_of

BLOCK_BYTES = 1 << 20
"""Bytes read at a time; the first block is also where the types are guessed from."""
STOP_SECONDS = 0.2
"""How long a thread that reads ahead is waited for where nothing tells whether it still runs."""
_streams: deque[Any] = deque(maxlen=16)
"""The last files read, closed: a thread of Arrow that let go of one would call Python after its last batch."""


def csv_stream(files: Sequence[str], form: Csv, kinds: Kinds) -> Stream:
    """CSV files with the same names in their first lines, as one table."""
    check_encoding(form.encoding)
    schema = _schema(files[0], form, kinds)
    if (name := _unlike(schema, kinds)) and (hint := form_hint(files[0], form)):
        raise DataError(
            f"The column {name!r} is not in {files[0]!r}, or is no number, read as CSV {_said(form)}{hint}."
        )

    def parts(names: Sequence[str]) -> Iterator[Iterator[Any]]:
        # The first file's head was looked at already.
        return chain.from_iterable(
            _parts(file, form, kinds, names, schema if place == 0 else None) for place, file in enumerate(files)
        )

    def read(names: Sequence[str]) -> Iterator[Any]:
        return chain.from_iterable(parts(names))

    return Stream(schema, read, parts=parts)


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

    if not os.path.getsize(file):
        raise DataError(f"{file!r} is empty: give a file with a line of names and rows below it.")
    packed = ", or its compression may be damaged or cut short" if file.endswith(COMPRESSIONS) else ""
    try:
        with one_sentence(
            f"{file!r} cannot be read as CSV {_said(form)}: it may be something else, or have rows of unequal length{packed}"
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


def _parts(file: str, form: Csv, kinds: Kinds, names: Sequence[str], known: Any = None) -> Iterator[Iterator[Any]]:
    """The rows of one file, a batch a part: one thread reads, and whoever takes a part makes its cells numbers and text.

    Text is read as bytes, so that no cell of it refuses the file. Numbers are read as such, which is quicker, up to the first
    block in which one is none; that block and the rest are read as bytes too. The blocks end at the same rows both times, and a
    cell is the same number either way.
    """
    import pyarrow as pa

    watch = Watch(file)
    schema = known or _schema(file, form, kinds)
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
    return (
        f"The column {name!r} of {file!r} cannot be read as its type or encoding: clean it first, or state its encoding or its "
        "decimal point"
    )


@contextmanager
def _open(file: str, form: Csv, types: dict[str, Any], names: Sequence[str] | None) -> Iterator[Any]:
    """The batches of a file. The thread that reads ahead has stopped when this is left.

    It calls Python (`Quotes.passed`). Up to Python 3.13 a thread that does so while the interpreter shuts down is killed within
    Arrow: the process then aborts, or waits for that thread for good, and a command's exit code is lost.
    """
    from pyarrow import csv

    quotes, reader = Quotes(file, form.delimiter), None
    stream = sound_bytes(file, form.encoding, quotes)
    _streams.append(stream)
    try:
        reader = csv.open_csv(
            stream,
            read_options=csv.ReadOptions(block_size=BLOCK_BYTES),
            # An empty line is a row of empty cells: passed over, one record would decide how many rows there are.
            parse_options=csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=None if names is None else list(names), decimal_point=form.decimal
            ),
        )
        yield reader
    finally:
        quotes.stop.set()
        _stop(reader, quotes)
        stream.close()


def _stop(reader: Any, quotes: Quotes) -> None:
    """Take what was read ahead, to the end or to the error that tells that the thread has stopped."""
    try:
        while reader is not None:
            reader.read_next_batch()
    except StopIteration:
        return
    except Exception:
        pass  # that error, or a row that cannot be read, which ends the batches before the thread
    quotes.stopped.wait(STOP_SECONDS)
