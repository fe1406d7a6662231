"""Private. What is added up from rows, whatever it is: the one form that threads, Spark and Dask know.

A summary is an element of a monoid: it starts as that of no rows, takes chunks of rows, and two are merged into that of the rows
of both. It is exact, so that the order of rows, chunks, threads and workers is nothing. A new sum is one class in one file that
says the seven things below that have no default; no engine and no source is touched for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, Self, TypeVar

from dpselect.assume.study import Study
from dpselect.errors import DataError
from dpselect.gather.grid import Cells, Chunk, Chunks, needed_names

MAX_PIECE_BYTES = 2**24
"""Bytes that travel together from a worker, about."""

Result_co = TypeVar("Result_co", covariant=True)
First = TypeVar("First")
Second = TypeVar("Second")


class Summary(Protocol[Result_co]):
    """Private. What is added up from rows, and what it comes to in the end.

    One of no rows is small and can be pickled: it is sent to the workers as it is.
    """

    rows_together: bool = False
    """Whether all rows of a person, or of a cluster where one is stated, must be added to the same summary."""

    def empty(self) -> Self:
        """One of no rows for another worker of the same gathering: same plan, same key."""

    def add(self, chunk: Chunk) -> None:
        """Add some rows."""

    def merge(self, other: Self) -> Self:
        """The summary of the rows of both; neither is used by itself afterwards."""

    def to_bytes(self) -> Iterator[bytes]:
        """What a worker sends, in pieces of about MAX_PIECE_BYTES. Each is a summary of its own, so their order is nothing."""

    def from_bytes(self, pieces: Iterable[bytes]) -> Self:
        """The summary of all rows whose pieces are given, from however many workers."""

    @property
    def max_bytes(self) -> int:
        """How many bytes one worker sends, at most: a public number, by which an engine chooses how many send at once."""

    def result(self) -> Result_co:
        """What was asked for, of a whole table; refused if no whole table may be so. Nothing is added afterwards."""

    def fresh(self) -> Self:
        """One of no rows for another gathering: whatever is drawn by chance is drawn anew."""
        return self.empty()

    def for_threads(self, count: int) -> list[Self]:
        """Some of no rows for threads of this machine, which may share memory until they are merged."""
        return [self.empty() for _ in range(count)]

    def finish(self) -> None:
        """Do what was put off. Each thread calls it when it has added its rows; merging, sending and `result` do too."""
        return

    def needs(self, study: Study) -> list[str]:
        """The columns that have to be read."""
        return needed_names(study)


def add_all(batches: Iterable[Cells], study: Study, summary: Summary[Any]) -> None:
    """Add batches of cells of any length to a summary, in this thread."""
    chunks = Chunks(study)
    for cells in batches:
        for chunk in chunks.of(cells):
            summary.add(chunk)
    summary.finish()


def require_some(rows: int, study: Study) -> None:
    """Refuse a table without rows where their number is public."""
    if rows == 0 and study.neighbors == "replace-one":
        raise DataError("The table has no rows; give at least one.")


class Count(Summary[int]):
    """Private. How many rows there are."""

    def __init__(self) -> None:
        self._rows = 0

    def __repr__(self) -> str:
        return "Count(values=<private>)"

    def empty(self) -> Count:
        """One of no rows."""
        return Count()

    def add(self, chunk: Chunk) -> None:
        """Count some rows."""
        self._rows += chunk.count

    def merge(self, other: Count) -> Count:
        """The rows of both."""
        self._rows += other._rows
        return self

    def to_bytes(self) -> Iterator[bytes]:
        """One number."""
        yield str(self._rows).encode()

    def from_bytes(self, pieces: Iterable[bytes]) -> Count:
        """The rows of all workers."""
        whole = Count()
        whole._rows = sum(map(int, pieces))
        return whole

    @property
    def max_bytes(self) -> int:
        """As long as a number is."""
        return 20

    def result(self) -> int:
        """The number of rows, which may be none."""
        return self._rows

    def needs(self, study: Study) -> list[str]:
        """Any column would do."""
        return [study.response.name]


class Several(Summary[tuple[First, ...]], Generic[First]):
    """Private. Any number of summaries of one kind in one pass over the rows, at most 256."""

    def __init__(self, summaries: Iterable[Summary[First]]) -> None:
        self._each = tuple(summaries)
        self.rows_together = any(each.rows_together for each in self._each)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._each))})"

    def _of(self, summaries: Iterable[Summary[First]]) -> Self:
        return type(self)(summaries)

    def empty(self) -> Self:
        """All of no rows."""
        return self._of(each.empty() for each in self._each)

    def fresh(self) -> Self:
        """All of no rows for another gathering."""
        return self._of(each.fresh() for each in self._each)

    def for_threads(self, count: int) -> list[Self]:
        """Some of all."""
        return [self._of(own) for own in zip(*(each.for_threads(count) for each in self._each), strict=True)]

    def add(self, chunk: Chunk) -> None:
        """Add some rows to all."""
        for each in self._each:
            each.add(chunk)

    def finish(self) -> None:
        """Do what they put off."""
        for each in self._each:
            each.finish()

    def merge(self, other: Self) -> Self:
        """The summaries of the rows of both."""
        return self._of(mine.merge(others) for mine, others in zip(self._each, other._each, strict=True))

    def to_bytes(self) -> Iterator[bytes]:
        """The pieces of all; the first byte says whose."""
        # Pieces of all of them travel together and arrive in any order, so each says in front whose it is.
        for place, each in enumerate(self._each):
            yield from (bytes([place]) + piece for piece in each.to_bytes())

    def from_bytes(self, pieces: Iterable[bytes]) -> Self:
        """The summaries of all rows whose pieces are given."""
        own: list[list[bytes]] = [[] for _ in self._each]
        for piece in pieces:
            own[piece[0]].append(piece[1:])
        return self._of(each.from_bytes(some) for each, some in zip(self._each, own, strict=True))

    @property
    def max_bytes(self) -> int:
        """As many as all of them."""
        return sum(each.max_bytes for each in self._each)

    def result(self) -> tuple[First, ...]:
        """What each comes to."""
        return tuple(each.result() for each in self._each)

    def needs(self, study: Study) -> list[str]:
        """The columns that any of them needs."""
        wanted = {name for each in self._each for name in each.needs(study)}
        return [name for name in needed_names(study) if name in wanted]


class Both(Several[Any], Generic[First, Second]):
    """Private. Two summaries of any kinds in one pass over the rows, which are put on the grid once."""

    def __init__(self, first: Summary[First], second: Summary[Second]) -> None:
        super().__init__((first, second))
        self._first, self._second = first, second

    def _of(self, summaries: Iterable[Summary[Any]]) -> Self:
        return type(self)(*summaries)

    def result(self) -> tuple[First, Second]:
        """What both come to."""
        return self._first.result(), self._second.result()
