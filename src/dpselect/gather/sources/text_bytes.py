"""Private. The bytes of a text file as sound UTF-8, in which no record can change another.

Two things could let one record change others. A quote that is opened and never closed lets the parser go on into the next record,
up to a quote there. And in an encoding with a state, or of several bytes a letter, one odd byte can turn everything after it
into something else, line ends too. So quotes are checked as the bytes pass, and a file is decoded line by line, in encodings
whose line ends can be told before anything is decoded.
"""

from __future__ import annotations

import codecs
import threading
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

from dpselect.errors import DataError
from dpselect.gather.grid import compiled_function

QUOTE, NEWLINE, RETURN = 0x22, 0x0A, 0x0D
LINE_BY_LINE = frozenset(
    "big5 big5hkscs cp932 cp949 cp950 euc_jis_2004 euc_jisx0213 euc_jp euc_kr gb18030 gb2312 gbk shift_jis shift_jis_2004 "
    "shift_jisx0213 johab".split()
)
"""Encodings of one or more bytes a letter in which no letter has a byte that is a line end."""
TWO_BYTES = {"utf-16": "", "utf-16-le": "little", "utf-16-be": "big"}
INSIDE, CLOSING, BROKEN = 1, 2, -1


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

    def passed(self, data: Any) -> Any:
        """The same bytes, if they are sound so far; an error once `stop` is set, which ends the thread that reads ahead."""
        if self.stop.is_set():
            self.stopped.set()
            raise DataError(f"Reading {self._file!r} was stopped.")
        if not data:
            if self._state & INSIDE and not self._state & CLOSING:
                raise self._broken()
            return b""
        self._state = (_follow_compiled or follow_quotes)(data, self._mark, self._state)
        if self._state < 0:
            raise self._broken()
        return data

    def _broken(self) -> DataError:
        return DataError(
            f"{self._file!r} has a quote that is opened and not closed, or closed within a cell: correct that line, for it "
            "would take in the lines after it."
        )


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
