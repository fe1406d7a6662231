"""Private. CSV files: what the study calls a number is read as a number, and the rest of the file is skipped.

Two things could let one record change others. A quote that is opened and never closed lets the parser go on into the next record,
up to a quote there. And in an encoding with a state, or of several bytes a letter, one odd byte can turn everything after it
into something else, line ends too. So quotes are checked as the bytes pass, and a file is decoded line by line, in encodings
whose line ends can be told before anything is decoded.
"""

from __future__ import annotations

import codecs
import os
import re
import threading
import time
import unicodedata
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice
from typing import Any

from dpselect.errors import DataError
from dpselect.gather.formats import COMPRESSIONS
from dpselect.gather.grid import compiled_function
from dpselect.gather.listed import Watch
from dpselect.gather.sources.source import Csv
from dpselect.gather.sources.stream import TEXTS, Kinds, Stream, as_text, is_utf8, one_sentence
from dpselect.gather.sources.text_form import form_hint
from dpselect.gather.sources.text_numbers import numbers_of

QUOTE, NEWLINE, RETURN = 0x22, 0x0A, 0x0D
LINE_BY_LINE = frozenset(
    "big5 big5hkscs cp932 cp949 cp950 euc_jis_2004 euc_jisx0213 euc_jp euc_kr gb18030 gb2312 gbk shift_jis shift_jis_2004 "
    "shift_jisx0213 johab".split()
)
"""Encodings of one or more bytes a letter in which no letter has a byte that is a line end."""
TWO_BYTES = {"utf-16": "", "utf-16-le": "little", "utf-16-be": "big"}
INSIDE, CLOSING, BROKEN = 1, 2, -1
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
                for batch in islice(_batches(reader), given, None):
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
    read = csv.ReadOptions(block_size=BLOCK_BYTES)
    # An empty line is a row of empty cells: passed over, one record would decide how many rows there are.
    parse = csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True, ignore_empty_lines=False)
    convert = csv.ConvertOptions(
        column_types=types, include_columns=None if names is None else list(names), decimal_point=form.decimal
    )
    try:
        reader = _answer(lambda: csv.open_csv(stream, read, parse, convert))
        yield reader
    finally:
        quotes.stop.set()
        _stop(reader, quotes)
        stream.close()


def _answer(ask: Callable[[], Any]) -> Any:
    """What Arrow answers, or a copy of its error.

    What `Quotes.passed` raises arrives here as the very object, and Arrow's thread still holds it. Its traceback would hold the
    frames on the way up, and with them the reader: if the thread were the last to let go, it would wait for its own end, for good.
    """
    import pyarrow as pa

    try:
        return ask()
    except StopIteration:
        raise
    except Exception as error:
        kind, args, said = type(error), error.args, str(error)
        error.__traceback__ = None
    # Out here, where it has no __context__, which would hold the other. What another kind would be made from nobody knows.
    raise kind(*args) if issubclass(kind, DataError | pa.ArrowInvalid | OSError) else pa.ArrowInvalid(said)


def _batches(reader: Any) -> Iterator[Any]:
    while True:
        try:
            batch = _answer(reader.read_next_batch)
        except StopIteration:
            return
        yield batch


def _stop(reader: Any, quotes: Quotes) -> None:
    """Take what was read ahead, to the end or to the error that tells that the thread has stopped."""
    try:
        for _ in _batches(reader) if reader is not None else ():
            pass
    except Exception:  # that error, or a row that cannot be read, which ends the batches before the thread
        quotes.stopped.wait(STOP_SECONDS)
    latest = time.monotonic() + STOP_SECONDS
    while quotes.raised() is not None and time.monotonic() < latest:
        time.sleep(0.001)  # to let go of an error a thread calls Python, too


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that is not known, or in which a line cannot be read by itself."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise DataError(f"The encoding {encoding!r} is not known: try 'utf-8', 'latin-1' or 'cp1252'.") from None
    if not (name in ("utf-8", "utf-8-sig", *LINE_BY_LINE, *TWO_BYTES) or _is_one_byte(name)):
        raise DataError(
            f"In the encoding {encoding!r} one odd byte can change all lines after it, so it is not read: save the file as UTF-8."
        )


EVERY_PAIR = bytes(each for first in range(256) for second in range(256) for each in (first, second))


@cache
def _is_one_byte(name: str) -> bool:
    """Whether every byte is a letter of its own, whatever stands before it: escapes and states need a pair of bytes at least."""
    try:
        letters = [bytes([byte]).decode(name, "replace") for byte in range(256)]
        return set(map(len, letters)) == {1} and EVERY_PAIR.decode(name, "replace") == "".join(
            letters[byte] for byte in EVERY_PAIR
        )
    except (LookupError, UnicodeError, ValueError):  # not an encoding of text, such as base64
        return False


def sound_bytes(file: str, encoding: str, quotes: Quotes) -> Any:
    """The bytes of a file, unpacked, in UTF-8, refused where a quote is not closed as it should be.

    A byte that the encoding does not have becomes a mark, in its own cell alone.
    """
    import pyarrow as pa

    stream = pa.input_stream(file)
    name = codecs.lookup(encoding).name
    if name not in ("utf-8", "utf-8-sig", "ascii"):  # those as they are: no cell need be text to be skipped or compared
        stream = pa.TransformInputStream(stream, _decoder(file, name))
    return pa.TransformInputStream(stream, quotes.passed)


def _decoder(file: str, name: str) -> Callable[[Any], bytes]:
    """From chunks of bytes to chunks of UTF-8, line by line."""
    if _is_one_byte(name):
        return lambda data: bytes(data).decode(name, "replace").encode()
    return _TwoBytes(file, name).decoded if name in TWO_BYTES else _Lines(name).decoded


class _Lines:
    """Lines in an encoding of several bytes a letter: whatever a line holds ends with it."""

    def __init__(self, name: str) -> None:
        self._name, self._rest = name, b""

    def decoded(self, data: Any) -> bytes:
        whole, mark, self._rest = (self._rest + bytes(data)).rpartition(b"\n")
        if not data:  # the end
            whole, mark, self._rest = self._rest, b"", b""
        lines = (whole + mark).split(b"\n")
        return b"\n".join(line.decode(self._name, "replace").encode() for line in lines)


class _TwoBytes:
    """UTF-16: lines are told apart before they are decoded, and each must have a whole number of letters."""

    def __init__(self, file: str, name: str) -> None:
        self._file, self._order, self._rest, self._begun = file, TWO_BYTES[name], b"", False

    def decoded(self, data: Any) -> bytes:
        held = self._rest + bytes(data)
        if not self._begun and (len(held) >= 2 or not data):
            self._begun = True
            marks = {codecs.BOM_UTF16_LE: "little", codecs.BOM_UTF16_BE: "big"}
            self._order = marks.get(held[:2], self._order or "little")
            held = held[2:] if held[:2] in marks else held
        *lines, self._rest = self._split(held)
        if not data:
            lines, self._rest = [*lines, self._rest], b""
        name = "utf-16-le" if self._order == "little" else "utf-16-be"
        if any(len(line) % 2 or (self._end in line and _shifted(line.decode(name, "replace"))) for line in lines):
            raise DataError(
                f"A line of {self._file!r} is not UTF-16, because it has half a letter: save the file as UTF-8."
            )
        text = [line.decode(name, "replace").encode() for line in lines]
        return b"".join(line + b"\n" for line in text) if data else b"\n".join(text)

    @property
    def _end(self) -> bytes:
        return b"\n\x00" if self._order == "little" else b"\x00\n"

    def _split(self, held: bytes) -> list[bytes]:
        """At line ends: the two bytes of one, but where they are the halves of two letters, as in U+0A05 U+0100."""
        lines: list[bytes] = []
        for part in held.split(self._end):
            if lines and len(lines[-1]) % 2:
                lines[-1] += self._end + part
            else:
                lines.append(part)
        return lines


def _shifted(text: str) -> bool:
    """Whether a line end was read as halves of two letters because half a letter before it is missing.

    It then stands in a letter from U+0A00 to U+0AFF, which is none of those that there are: a line of digits ends in U+0A00.
    """
    return any("\u0a00" <= letter <= "\u0aff" and unicodedata.category(letter) == "Cn" for letter in text)


class Quotes:
    """Quotes as bytes pass by: one that opens a cell must close it, with a delimiter or the end of the line behind it."""

    def __init__(self, file: str, delimiter: str) -> None:
        self._file, self._mark = file, ord(delimiter)
        self._state = NEWLINE << 2  # as `follow_quotes` has it
        self.stop, self.stopped = threading.Event(), threading.Event()
        self.raised: Callable[[], DataError | None] = lambda: None
        """The error that ended the reading, while anybody holds it."""

    def passed(self, data: Any) -> Any:
        """The same bytes, if they are sound so far; an error once `stop` is set, which ends the thread that reads ahead."""
        if self.stop.is_set():
            self.stopped.set()
            raise self._error("was stopped.")
        if data:
            self._state = (_follow_compiled or follow_quotes)(data, self._mark, self._state)
        if self._state < 0 or (not data and self._state & INSIDE and not self._state & CLOSING):
            raise self._error(
                "has a quote that is opened and not closed, or closed within a cell: correct that line, for it would take in the "
                "lines after it."
            )
        return data

    def _error(self, what: str) -> DataError:
        error = DataError(f"{self._file!r} {what}")
        self.raised = weakref.ref(error)
        return error


_follow_compiled = compiled_function("_grid", "follow_quotes")


def follow_quotes(data: Any, mark: int, state: int) -> int:
    """The state after some bytes, from quote to quote; BROKEN where one is not closed as it should be. Twin of the compiled one.

    A state is whether a quoted cell is open (INSIDE), whether the last byte was a quote in it, which closes it unless another
    follows (CLOSING), and the last byte, times four.
    """
    inside, closing = bool(state & INSIDE), bool(state & CLOSING)
    whole, place = bytes([state >> 2]) + bytes(data), 1  # its first byte was looked at before
    while place < len(whole):
        if closing:
            closing = False
            if whole[place] == QUOTE:  # two of them are one in the cell
                place += 1
            elif whole[place] in (mark, NEWLINE, RETURN):
                inside = False
            else:
                return BROKEN
            continue
        place = whole.find(b'"', place) + 1
        if not place:
            break
        if inside:
            closing = True
        else:
            inside = whole[place - 2] in (mark, NEWLINE, RETURN)
    return INSIDE * inside | CLOSING * closing | whole[-1] << 2
