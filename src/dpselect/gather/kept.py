"""Private. Rows that are held in memory as they are on the grid, to be added up again and again without their source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sampling import SHARE_BITS
from dpselect.assume.study import Study
from dpselect.gather.dealing import study_shares
from dpselect.gather.grid import Cells, Chunk, Floats, beside_names
from dpselect.gather.summary import Summary

MAX_KEPT_BYTES = 2**29
"""Memory for rows that are kept; if there are more of them, none is."""
BESIDE_BYTES = 64
"""Of the name of a row's person or cluster, about, and more than its weight has."""

Value = TypeVar("Value")


class KeptRows(Summary["KeptRows"]):
    """Private. Keeps rows as grid integers, 4 bytes a cell; or as doubles, in a study in which a variable has no bounds.

    `whole` says whether all of them are kept; `replay` then adds them to any summary that asks for lines alone, and for persons,
    clusters and weights. They are kept on the machine that reads them: from a cluster of machines comes their number and no row.
    """

    def __init__(self, study: Study, limit: int = MAX_KEPT_BYTES) -> None:
        self._study, self._limit = study, limit
        self._store: _Store | None = None
        self._elsewhere = False
        self.count = 0

    def __repr__(self) -> str:
        return "KeptRows(values=<private>)"

    @staticmethod
    def fit(study: Study, rows: int) -> bool:
        """Whether so many rows may be kept."""
        cell = 8 if study.unbounded else 4
        beside = BESIDE_BYTES * len(beside_names(study))
        return rows * (cell * (len(study.columns) + 1) + beside) <= MAX_KEPT_BYTES

    @property
    def whole(self) -> bool:
        """Whether every row is kept."""
        return not self._elsewhere and (self._store is None or self._store.bytes <= self._limit)

    def replay(self, summary: Summary[Value]) -> Value:
        """What a summary comes to, of all rows; whatever it draws by chance is drawn anew."""
        assert self.whole
        whole = summary.fresh()
        for some in [] if self._store is None else self._store.rows:
            whole.add(Chunk(some.beside, some.lines.shape[1], _Replayed(some)))
        return whole.result()

    def empty(self) -> KeptRows:
        """One of no rows."""
        return KeptRows(self._study, self._limit)

    def for_threads(self, count: int) -> list[KeptRows]:
        """Some of no rows, with one limit for all."""
        store, summaries = _Store(self._limit), [self.empty() for _ in range(count)]
        for each in summaries:
            each._store = store
        return summaries

    def add(self, chunk: Chunk) -> None:
        """Keep some rows, as long as there is room."""
        self.count += chunk.count
        self._store = self._store or _Store(self._limit)
        lines = chunk.lines  # also where there is no room: a missing cell is refused all the same, and so is a weight
        if self._study.weights is not None:
            study_shares(chunk.cells, self._study, SHARE_BITS)
        if self.whole:
            kind = np.float64 if self._study.unbounded else np.int32
            beside = {name: np.array(chunk.cells[name]) for name in beside_names(self._study)}
            self._store.put([_Some(lines.astype(kind), chunk.order, chunk.left_out, beside)])

    def merge(self, other: KeptRows) -> KeptRows:
        """The rows of both."""
        self.count += other.count
        self._elsewhere = not (self.whole and other.whole)
        if self._store is None or other._store is None:
            self._store = self._store or other._store
        elif self._store is not other._store:
            self._store.put(other._store.rows)
        return self

    def to_bytes(self) -> Iterator[bytes]:
        """How many rows there are, and none of them."""
        yield str(self.count).encode()

    def from_bytes(self, pieces: Iterable[bytes]) -> KeptRows:
        """Rows that were kept nowhere."""
        whole = self.empty()
        whole.count, whole._elsewhere = sum(map(int, pieces)), True
        return whole

    @property
    def max_bytes(self) -> int:
        """As long as a number is."""
        return 20

    def result(self) -> KeptRows:
        """The rows themselves, which may be none."""
        return self


class _Some(NamedTuple):
    """Private. The rows of a chunk."""

    lines: NDArray[Any]
    order: NDArray[np.int64]
    left_out: NDArray[np.bool_] | None
    beside: Cells

    @property
    def bytes(self) -> int:
        return int(self.lines.nbytes + self.lines.shape[1] * BESIDE_BYTES * len(self.beside))


class _Store:
    """Private. Where all threads put their rows."""

    def __init__(self, limit: int) -> None:
        self.rows: list[_Some] = []
        self.bytes, self._limit = 0, limit
        self._lock = Lock()

    def put(self, rows: list[_Some]) -> None:
        """Keep them, unless there is no room for them: then let go of all."""
        with self._lock:
            self.rows += rows
            self.bytes += sum(each.bytes for each in rows)
            if self.bytes > self._limit:
                self.rows.clear()


class _Replayed:
    """Private. In the place of a design: lines that were made before."""

    def __init__(self, some: _Some) -> None:
        self._some = some
        self.order, self.left_out = some.order, some.left_out

    def chunk(self, cells: Cells, start: int, stop: int) -> Floats:
        """The lines as doubles, as a design gives them."""
        return self._some.lines[:, start:stop].astype(np.float64)
