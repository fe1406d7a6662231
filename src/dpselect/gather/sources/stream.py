"""Private. What every source is turned into: a schema that is known at once, and record batches that are read on demand.

An offset beyond its buffer kills a process, so damaged Arrow columns are found before anything computes with them.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpselect.errors import DataError, DpselectError

BATCH_ROWS = 65_536
"""Rows read at a time: large enough for speed, small enough that a few of them in flight need little memory."""
MAX_BATCH_CELLS = 2**22
"""Cells of a batch of a file, at most: narrow tables are read in longer batches, wide ones in shorter."""
MIN_PART_ROWS = 524_288
"""Rows of a part, at least: beginning it must not count."""

LABEL, LEVELS = "dpselect:label", "dpselect:levels"
"""Under these words a field of a schema carries what the file's own dictionary says."""

CellKind = Literal["number", "number or missing", "text", "text or missing"]
Kinds = Mapping[str, CellKind]
"""Public. What the assumptions say a column holds, for sources whose types are a guess from its cells (CSV, folder names,
objects in memory): numbers, or text; or, where no cell may refuse the table, numbers or text wherever there are any."""
NUMBER_CELLS: tuple[CellKind, CellKind] = ("number", "number or missing")
TEXTS: tuple[CellKind, CellKind] = ("text", "text or missing")
_UNTYPED_SCAN = re.compile(r"\b(nd)?(csv|json) scan\b|\bread_(csv|json|ndjson|xlsx)", re.IGNORECASE)
"""How plans of polars, DuckDB and Arrow name the reading of a file without types."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Stream:
    """Private. An open table; `read` gives record batches of the named columns, `close` lets go of files and connections.

    `parts`, where there are any, give the same batches in pieces that several threads may read at the same time.
    `by_look` is whether cells may have decided the types of the columns, and `leaves_out` whether rows without a cell are not
    among the rows, as in a sheet.
    """

    schema: Any
    read: Callable[[Sequence[str]], Iterator[Any]]
    close: Callable[[], None] = lambda: None
    parts: Callable[[Sequence[str]], Iterator[Iterable[Any]]] | None = None
    by_look: bool = False
    leaves_out: bool = False

    def __repr__(self) -> str:
        return "Stream(values=<private>)"

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def in_parts(self, names: Sequence[str]) -> Iterator[Iterable[Any]]:
        """The batches in pieces, for threads: whoever takes a piece reads it, or it is one batch that was read here."""
        return ([batch] for batch in self.read(names)) if self.parts is None else self.parts(names)


def dictionary(label: str, levels: Mapping[Any, str] | None = None) -> dict[str, str] | None:
    """What a file says about a column apart from its rows, as an Arrow field carries it: a label, and labels of codes."""
    coded = [[_plain(code), str(text)] for code, text in (levels or {}).items()]
    said = {LABEL: label, LEVELS: json.dumps(coded) if coded else ""}
    return {key: value for key, value in said.items() if value} or None


def _plain(code: Any) -> Any:
    return int(code) if isinstance(code, float) and code.is_integer() else code


def batch_rows(columns: int) -> int:
    """Rows of a file to read at a time: a power of two, from 8,192 to 131,072."""
    fitting = max(MAX_BATCH_CELLS // max(columns, 1), 1)
    return int(min(max(1 << fitting.bit_length() - 1, 2**13), 2**17))


@contextmanager
def one_sentence(sentence: str) -> Iterator[None]:
    """Replace what a reader raises: its message may quote a cell, so only the name of its class is passed on."""
    try:
        yield
    except DpselectError:
        raise
    except Exception as error:
        try:
            raise DataError(f"{sentence} ({type(error).__name__}).") from None
        except DataError as said:
            # Its __context__ would keep the old one, which some log readers print. Raised again, it is not set again.
            said.__context__ = None
            raise


@dataclass(frozen=True, slots=True, repr=False)
class Progress:
    """Private. Confidential: the rows read so far and the seconds it took; public at the end, where n is."""

    rows: int
    seconds: float
    done: bool = False

    def __repr__(self) -> str:
        return "Progress(values=<private>)"

    @property
    def rows_per_second(self) -> float:
        """The speed so far."""
        return self.rows / max(self.seconds, 1e-9)


class Reporter:
    """Calls a function with the progress, ten times a second at most and once at the end."""

    def __init__(self, tell: Callable[[Progress], None] | None) -> None:
        self._tell = tell
        self._start = self._last = time.monotonic()

    def __call__(self, rows: int, *, done: bool = False) -> None:
        """Report that so many rows were read."""
        now = time.monotonic()
        if self._tell is not None and (done or now - self._last >= 0.1):
            self._last = now
            self._tell(Progress(rows, now - self._start, done))


def refuse_untyped_scan(plan: str, where: str) -> None:
    """Refuse a plan that reads text: its own reader takes the types, and DuckDB's the delimiter and the first row, from cells."""
    if _UNTYPED_SCAN.search(plan):
        raise DataError(
            f"{where} reads a file without types and decides by its cells what the columns hold: give the path of the CSV file "
            "itself, or store the rows as Parquet with types that you state."
        )


def require_whole(batch: Any, what: str) -> Any:
    """The same batch, refused if it is damaged."""
    if not is_whole(batch):
        raise DataError(f"{what} holds damaged columns: write it again from its source.")
    return batch


def is_whole(batch: Any) -> bool:
    """Whether every buffer of a record batch is as long as its columns need, and every offset and index is within them.

    Text is looked at as bytes: whether it is UTF-8 is a matter of single cells, which `missing` decides.
    """
    import pyarrow as pa

    try:
        for column in batch.columns:
            _check(column)
    except (pa.ArrowException, ValueError, OverflowError):  # its message may quote a cell
        return False
    return all(len(column) == batch.num_rows for column in batch.columns)


def _check(column: Any) -> None:
    import pyarrow as pa

    column.validate()
    if pa.types.is_dictionary(column.type):
        _check(column.dictionary)
        column.indices.validate(full=True)
        # Checked here and not by the column itself, which would look at its categories as text.
        pa.DictionaryArray.from_arrays(column.indices, pa.nulls(len(column.dictionary)))
        return
    as_bytes(column).validate(full=True)


def as_bytes(column: Any) -> Any:
    """The same column, text as bytes; nothing is copied and nothing is looked at."""
    import pyarrow as pa

    kinds = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    kind = kinds.get(column.type)
    if kind is None:
        return column
    if kind == pa.binary_view():  # it has as many buffers as it likes, which older versions of pyarrow miscount
        return column.view(kind)
    return pa.Array.from_buffers(kind, len(column), column.buffers(), -1, column.offset)


def as_text(column: Any) -> Any:
    """A column of bytes, called text without a look at them: what compares bytes may take it so."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.string(), len(column), column.buffers(), -1, column.offset)


def is_utf8(column: Any) -> bool:
    """Whether all cells of a column of text are text."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowException:
        return False
    return True


def as_numpy(numbers: Any, null: float) -> NDArray[Any]:
    """An Arrow array of numbers as NumPy's, of the same memory where no cell is NULL; `null` stands in the place of those that are.

    Arrow's own `to_numpy`, `array` and `scalar` look whether pandas is there, and so import it: a fifth of a second a command.
    """
    here, width = slice(numbers.offset, numbers.offset + len(numbers)), numbers.type.bit_width // 8
    known, memory = numbers.buffers()
    # The cells alone: memory may end within a number that is none of them.
    memory = memory and memory[width * here.start : width * here.stop]
    values: NDArray[Any] = np.frombuffer(memory or b"", dtype=numbers.type.to_pandas_dtype())
    if not numbers.null_count:
        return values
    bits = np.unpackbits(np.frombuffer(known, dtype=np.uint8), bitorder="little")
    return np.where(bits[here], values, values.dtype.type(null))


def as_large_binary(texts: Sequence[str]) -> Any:
    """The bytes of some texts as an Arrow array."""
    import pyarrow as pa

    written = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, written)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(written))]
    return pa.Array.from_buffers(pa.large_binary(), len(written), buffers)
