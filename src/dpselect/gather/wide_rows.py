"""Private. Rows of a wide table, kept as they are beside their blocks: sums of products would be too many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study import Study
from dpselect.assume.vote_rule import deals_equally
from dpselect.assume.wide_rule import WideRule
from dpselect.errors import DataError
from dpselect.gather.dealing import WORD_BYTES, Assigner, fresh_assigner
from dpselect.gather.grid import Chunk
from dpselect.gather.summary import Summary, require_some

LARGEST_SINGLE = 3e38
"""Larger numbers are moved to this: a cell is kept in single precision, which holds all whole numbers of the grid."""
ROW_DIGEST_BYTES = 16
STAYS = "The rows of a wide table are kept on one machine: write them to Parquet files and give these, or state fewer columns."


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WideRows:
    """Private. The rows of a table, those that take part in some random split, and the block of each in every one.

    `cells` are (rows, columns without the intercept) in single precision, sorted by a digest of each row with its response: the
    order of two rows is a function of these two. `dealt` is (partitions, rows), `NOWHERE` where a row takes no part, and `again`
    is the like for the second look, without lines where there is none. `size`, `blocks`, `columns` and `study` (the study's hash)
    are public.
    """

    cells: NDArray[np.float32]
    response: NDArray[np.float64]
    dealt: NDArray[np.uint32]
    again: NDArray[np.uint32]
    size: int
    blocks: int
    columns: tuple[str, ...]
    study: str

    def __repr__(self) -> str:
        return f"WideRows(columns={len(self.columns)}, values=<private>)"

    @property
    def partitions(self) -> int:
        """How many random splits there are."""
        return len(self.dealt)


class _Some(NamedTuple):
    """Private. Rows of a chunk."""

    cells: NDArray[np.float32]
    response: NDArray[np.float64]
    dealt: NDArray[np.uint32]
    again: NDArray[np.uint32]


class WideSummary(Summary[WideRows]):
    """Private. Keeps the rows of a wide table, or a random part of them, and draws their blocks as for any votes.

    Whether a row is kept is decided by a coin of its own, drawn from the operating system, with the public chance `rule.share`:
    those of both of two neighbouring tables have the same coins, so that the kept ones are neighbours too. For a second look the
    rows have random splits of their own. `rows` is the number of rows where it was counted and is public; assigners are for tests.
    """

    def __init__(
        self,
        study: Study,
        rule: WideRule,
        rows: int | None,
        assigner: Assigner | None = None,
        again: Assigner | None = None,
    ) -> None:
        self._study, self._rule, self._counted, self._stated = study, rule, rows, (assigner, again)
        self._columns = tuple(column for column in study.columns if column.factors)
        equal = rows if rule.share == 1 and deals_equally(study, rows) else None
        self._assigner = assigner or fresh_assigner(study, rule.blocks, rule.partitions, equal)
        if again is None and rule.second is not None:
            again = fresh_assigner(study, rule.second.blocks, rule.second.partitions, equal)
        self._again = again
        self._kept: list[_Some] = []
        self._digests: list[bytes] = []
        self._n = 0

    def __repr__(self) -> str:
        return f"WideSummary(blocks={self._rule.blocks}, partitions={self._rule.partitions}, values=<private>)"

    def empty(self) -> WideSummary:
        """One of no rows that draws as this one does."""
        other = WideSummary(self._study, self._rule, None, self._assigner, self._again)
        other._counted, other._stated = self._counted, self._stated
        return other

    def fresh(self) -> WideSummary:
        """One of no rows that draws anew."""
        return WideSummary(self._study, self._rule, self._counted, *self._stated)

    def add(self, chunk: Chunk) -> None:
        """Keep some rows."""
        dealt = self._assigner.draw(chunk.cells, chunk.count)
        none = np.empty((0, chunk.count), np.uint32)
        again = none if self._again is None else self._again.draw(chunk.cells, chunk.count)
        lines = chunk.lines  # also where no row is kept: a missing cell is refused all the same
        kept = np.ones(chunk.count, bool) if chunk.left_out is None else ~chunk.left_out
        if self._rule.share < 1:
            coins = np.frombuffer(os.urandom(WORD_BYTES * chunk.count), np.uint32)
            kept &= coins < int(self._rule.share * 2**32)
        order = chunk.order[len(chunk.order) - len(self._columns) - 1 :]
        own = lines[order[:-1]]
        with np.errstate(all="ignore"):  # whatever the program has set: no exception may depend on a cell
            single = (own if kept.all() else own[:, kept]).astype(np.float32)
            np.clip(single, -LARGEST_SINGLE, LARGEST_SINGLE, out=single)
        # Zero added, so that there is one zero: rows that are equal have the same bytes.
        single += np.float32(0)
        cells, response = np.ascontiguousarray(single.T), lines[order[-1], kept] + 0.0
        self._digests += [_digest(own, each) for own, each in zip(cells, response, strict=True)]
        self._kept.append(_Some(cells, response, dealt[:, kept], again[:, kept]))
        self._n += chunk.count

    def merge(self, other: WideSummary) -> WideSummary:
        """The rows of both."""
        self._kept += other._kept
        self._digests += other._digests
        self._n += other._n
        return self

    def to_bytes(self) -> Iterator[bytes]:
        """Refused: no row leaves its machine."""
        _refuse()

    def from_bytes(self, pieces: Iterable[bytes]) -> WideSummary:
        """Refused: no row leaves its machine."""
        _refuse()

    @property
    def max_bytes(self) -> int:
        """Refused: no row leaves its machine."""
        _refuse()

    def result(self) -> WideRows:
        """All rows in the order of their digests, which nothing but they themselves decide."""
        require_some(self._n, self._study)
        ranks = np.empty(len(self._digests), np.intp)
        ranks[sorted(range(len(ranks)), key=self._digests.__getitem__)] = np.arange(len(ranks))
        cells = np.empty((len(ranks), len(self._columns)), np.float32)
        response = np.empty(len(ranks))
        dealt = np.empty((self._rule.partitions, len(ranks)), np.uint32)
        second = self._rule.second
        again = np.empty((0 if second is None else second.partitions, len(ranks)), np.uint32)
        start = 0
        while self._kept:
            some = self._kept.pop(0)  # one by one, so that memory for two tables is never needed
            places = ranks[start : start + len(some.cells)]
            cells[places], response[places], dealt[:, places], again[:, places] = some
            start += len(places)
        names = tuple(column.name for column in self._study.columns)
        rule = self._rule
        return WideRows(cells, response, dealt, again, rule.size, rule.blocks, names, self._study.hash)


def _digest(cells: NDArray[np.float32], response: float) -> bytes:
    return blake2b(cells.tobytes() + response.tobytes(), digest_size=ROW_DIGEST_BYTES).digest()  # type: ignore[attr-defined]


def _refuse() -> NoReturn:
    raise DataError(STAYS)
