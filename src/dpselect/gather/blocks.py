"""Private. Rows to the exact sums of their blocks, products and cubes: all that the votes need.

They are added up by compiled loops, or by their NumPy twin where there was no compiler: the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.edge_rule import EdgeRule, equal_blocks
from dpselect.assume.study import Intercept, Study
from dpselect.assume.vote_rule import VoteRule, deals_equally
from dpselect.assume.wide_rule import WideRule
from dpselect.errors import DataError, StudyError
from dpselect.gather import block_numpy
from dpselect.gather.block_numpy import (
    BINNED_CUBES,
    CUBE_UNIT,
    LOWEST,
    SLICES,
    WHOLE_CUBES,
    Places,
    merge_bins,
)
from dpselect.gather.dealing import NOWHERE, Assigner, fresh_assigner
from dpselect.gather.grid import MAX_CHUNK_ROWS, Chunk, compiled_function
from dpselect.gather.summary import MAX_PIECE_BYTES, Several, Summary, require_some
from dpselect.gather.wide_rows import WideSummary

_sort_rows = compiled_function("_blocks", "sort_rows")
_take_rows = compiled_function("_blocks", "take_rows")
_add_whole = compiled_function("_blocks", "add_whole") or block_numpy.add_whole
_add_binned = compiled_function("_blocks", "add_binned") or block_numpy.add_binned

BYTES_ON_THE_GRID = 8
BYTES_IN_BINS = 8 * SLICES + 1
MAX_BLOCK_BYTES = 512 * 2**20
"""Memory for the sums of all blocks; a rule that asks for more is refused before a row is read."""
MAX_BLOCKS = 2**31 - 1
BUFFER_BYTES = 2**26
"""Bytes of rows that all threads hold before they add them to their blocks: the more, the more rows a block gets at a time."""
MAX_STRIPES = 16
"""Ranges of blocks that threads may write to at the same time."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WholeSums:
    """Private. Sums of products and cubes of grid integers, (partitions, blocks, numbers)."""

    table: NDArray[np.int64]

    def __repr__(self) -> str:
        return "WholeSums(values=<private>)"

    def __add__(self, other: WholeSums) -> WholeSums:
        return WholeSums(self.table + other.table)

    def add(
        self, partition: int, rows: NDArray[np.int32], order: Places, starts: Places, first: int, last: int
    ) -> None:
        """Add the rows of some blocks of a partition, sorted by block."""
        _add_whole(rows, order, starts, self.table[partition], first, last)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BinnedSums:
    """Private. Sums of products and cubes of doubles in bins: tops (partitions, blocks, numbers), slices (.., SLICES, numbers)."""

    tops: NDArray[np.int8]
    slices: NDArray[np.float64]

    def __repr__(self) -> str:
        return "BinnedSums(values=<private>)"

    def __add__(self, other: BinnedSums) -> BinnedSums:
        return BinnedSums(*merge_bins(self.tops, self.slices, other.tops, other.slices))

    def add(
        self, partition: int, rows: NDArray[np.float64], order: Places, starts: Places, first: int, last: int
    ) -> None:
        """Add the rows of some blocks of a partition, sorted by block."""
        tops, slices = self.tops[partition], self.slices[partition]
        _add_binned(rows, order, starts, tops, slices, first, last)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BlockSums:
    """Private. The sums of every block; `a + b` pools the rows of two tables that were assigned alike.

    `columns` and `intercept` are those of the study, `study` its hash: public. `n` counts the rows that were read, those that
    count in no block among them.
    """

    sums: WholeSums | BinnedSums
    n: int
    partitions: int
    blocks: int
    columns: tuple[str, ...]
    intercept: Intercept
    study: str

    def __repr__(self) -> str:
        return f"BlockSums(partitions={self.partitions}, blocks={self.blocks}, values=<private>)"

    def __add__(self, other: BlockSums) -> BlockSums:
        if not isinstance(other, BlockSums):
            return NotImplemented
        public = [(each.partitions, each.blocks, each.columns, each.study) for each in (self, other)]
        if public[0] != public[1]:
            raise DataError("These block sums were gathered under different rules and cannot be pooled.")
        sums = self.sums + other.sums  # type: ignore[operator]
        rest = (self.partitions, self.blocks, self.columns, self.intercept, self.study)
        return BlockSums(sums, self.n + other.n, *rest)

    @property
    def width(self) -> int:
        """Entries of (1, x, y)."""
        return len(self.columns) - (self.intercept != "none") + 2


def is_on_grid(study: Study) -> bool:
    """Whether every variable has bounds, so that all sums are of whole numbers."""
    return not study.unbounded


def row_width(study: Study) -> int:
    """Entries of (1, x, y): the intercept is the one, stated or not."""
    return sum(bool(column.factors) for column in study.columns) + 2


def sums_bytes(study: Study, blocks: int, partitions: int) -> int:
    """Memory that the sums need."""
    each = BYTES_ON_THE_GRID if is_on_grid(study) else BYTES_IN_BINS
    return blocks * partitions * _numbers(study) * each


def _numbers(study: Study) -> int:
    return count_numbers(row_width(study), WHOLE_CUBES if is_on_grid(study) else BINNED_CUBES)


def empty_sums(study: Study, blocks: int, partitions: int) -> BlockSums:
    """The sums of no rows."""
    shape = (partitions, blocks, _numbers(study))
    sums: WholeSums | BinnedSums
    if is_on_grid(study):
        sums = WholeSums(np.zeros(shape, dtype=np.int64))
    else:
        slices = np.zeros((partitions, blocks, SLICES, shape[2]))
        sums = BinnedSums(np.full(shape, LOWEST, dtype=np.int8), slices)
    names = tuple(column.name for column in study.columns)
    return BlockSums(sums, 0, partitions, blocks, names, study.intercept, study.hash)


def count_numbers(width: int, cubes: int) -> int:
    """Sums of a block: the upper triangle of (1, x, y), then so many numbers for the cubes of each of x and y."""
    return width * (width + 1) // 2 + cubes * (width - 1)


def sort_rows(ids: Places, blocks: int) -> tuple[Places, Places]:
    """Where each block starts, and the rows sorted by block."""
    if _sort_rows is None:
        return block_numpy.sort_rows(ids, blocks)
    starts, order = np.empty(blocks + 1, dtype=np.uint32), np.empty(len(ids), dtype=np.uint32)
    _sort_rows(ids, starts, order)
    return starts, order


def take_rows(work: NDArray[np.float64], lines: NDArray[np.int64], out: NDArray[Any]) -> None:
    """Lines of a design, one a column, to rows."""
    if _take_rows is None:
        out[:] = work[lines].T
    else:
        _take_rows(work, lines, out)


class BlockTable:
    """Private. The sums of all blocks, shared by threads: one copy, and who writes to a range of blocks holds its lock."""

    def __init__(self, study: Study, blocks: int, partitions: int, threads: int = 1) -> None:
        self.sums = empty_sums(study, blocks, partitions)
        stripes = min(MAX_STRIPES, blocks) if threads > 1 else 1
        cuts = [blocks * i // stripes for i in range(stripes + 1)]
        self._ranges = list(pairwise(cuts))
        self._locks = [[Lock() for _ in self._ranges] for _ in range(partitions)]

    def __repr__(self) -> str:
        return "BlockTable(values=<private>)"

    def add(self, rows: NDArray[np.generic], ids: NDArray[np.uint32]) -> None:
        """Add rows (n, width - 1) to their blocks (partitions, n); those of the block `NOWHERE` to none."""
        for partition, own in enumerate(ids):
            if (own != NOWHERE).all():
                starts, order = sort_rows(own, self.sums.blocks)
            else:
                part = np.flatnonzero(own != NOWHERE)
                starts, order = sort_rows(own[part], self.sums.blocks)
                order = part[order].astype(np.uint32)
            waiting = list(range(len(self._ranges)))
            while waiting:
                # The first range that nobody writes to; if there is none, the first.
                free = next((r for r in waiting if self._locks[partition][r].acquire(blocking=False)), None)
                if free is None:
                    free = waiting[0]
                    self._locks[partition][free].acquire()
                try:
                    self.sums.sums.add(partition, rows, order, starts, *self._ranges[free])  # type: ignore[arg-type]
                finally:
                    self._locks[partition][free].release()
                waiting.remove(free)


class BlockSummary(Summary[BlockSums]):
    """Private. Adds rows to the sums of their blocks.

    In every partition each row goes to a block by a chance of its own, drawn afresh for every gathering; all rows of a person or a
    cluster go together, and weights decide how often a row takes part. Blocks are equal where `equal_rows`, the number of rows, is
    public and counted. `assigner` is for tests. A row with a missing cell counts in no block, unless it is refused or the middle of
    stated bounds is put there (`missing`); a number without bounds counts up to 1e75.
    """

    def __init__(
        self,
        study: Study,
        blocks: int,
        partitions: int,
        assigner: Assigner | None = None,
        *,
        equal_rows: int | None = None,
        buffer_bytes: int = BUFFER_BYTES,
    ) -> None:
        _check(study, blocks, partitions)
        if equal_rows is not None and study.neighbors != "replace-one":
            raise StudyError("Equal blocks need a number of rows that is public: neighbors='replace-one'.")
        self._study, self._blocks, self._partitions = study, blocks, partitions
        self._width = row_width(study) - 1
        """Of (1, x, y) without the one, which is every row's own."""
        self._stated, self._equal_rows = assigner, equal_rows
        self._assigner = assigner or fresh_assigner(study, blocks, partitions, equal_rows)
        self._table: BlockTable | None = None
        self._buffer = buffer_bytes
        self._rows: NDArray[np.generic] | None = None
        self._ids = np.empty((partitions, 0), dtype=np.uint32)
        self._filled = 0
        self._n = 0

    def __repr__(self) -> str:
        return f"BlockSummary(blocks={self._blocks}, partitions={self._partitions}, values=<private>)"

    def empty(self) -> BlockSummary:
        """One of no rows that draws as this one does."""
        other = BlockSummary(self._study, self._blocks, self._partitions, self._assigner, buffer_bytes=self._buffer)
        other._stated, other._equal_rows = self._stated, self._equal_rows
        return other

    def fresh(self) -> BlockSummary:
        """One of no rows that draws anew."""
        rule = self._study, self._blocks, self._partitions, self._stated
        return BlockSummary(*rule, equal_rows=self._equal_rows, buffer_bytes=self._buffer)

    def for_threads(self, count: int) -> list[BlockSummary]:
        """Some of no rows that add to one table."""
        table = BlockTable(self._study, self._blocks, self._partitions, count)
        summaries = [self.empty() for _ in range(count)]
        for each in summaries:
            each._table, each._buffer = table, self._buffer // count
        return summaries

    def add(self, chunk: Chunk) -> None:
        """Add some rows: they wait until there are many, so that a block gets many at a time."""
        ids = self._assigner.draw(chunk.cells, chunk.count)
        lines = chunk.lines
        if chunk.left_out is not None:
            kept = ~chunk.left_out
            lines, ids = np.ascontiguousarray(lines[:, kept]), ids[:, kept]
        rows, count = self._room(), ids.shape[1]
        if self._filled + count > len(rows):
            self.finish()
        place = slice(self._filled, self._filled + count)
        take_rows(lines, chunk.order[len(chunk.order) - self._width :].astype(np.int64), rows[place])
        self._ids[:, place] = ids
        self._filled += count
        self._n += chunk.count

    def _room(self) -> NDArray[np.generic]:
        if self._rows is None:
            kind = np.dtype(np.int32 if is_on_grid(self._study) else np.float64)
            room = max(MAX_CHUNK_ROWS, self._buffer // (kind.itemsize * self._width + 4 * self._partitions + 4))
            self._rows = np.empty((room, self._width), dtype=kind)
            self._ids = np.empty((self._partitions, room), dtype=np.uint32)
        return self._rows

    def _sums(self) -> BlockTable:
        if self._table is None:
            self._table = BlockTable(self._study, self._blocks, self._partitions)
        return self._table

    def finish(self) -> None:
        """Add the rows that wait to their blocks."""
        if self._rows is not None:
            self._sums().add(self._rows[: self._filled], self._ids[:, : self._filled])
            self._filled = 0

    def merge(self, other: BlockSummary) -> BlockSummary:
        """The sums of the rows of both."""
        self.finish()
        other.finish()
        mine, others = self._sums(), other._sums()
        if mine is not others:
            mine.sums = mine.sums + others.sums
        self._n += other._n
        return self

    def to_bytes(self) -> Iterator[bytes]:
        """The sums of the blocks that have rows, some at a time; the number of rows goes with the first."""
        self.finish()
        values, tops = _flat(self._sums().sums)
        counts = values[:, 0] if tops is None else values[:, 0, 0]
        places = np.flatnonzero(counts).astype(np.int64)
        some = max(1, MAX_PIECE_BYTES // values[0].nbytes)
        for start in range(0, max(len(places), 1), some):
            own = places[start : start + some]
            head = np.array([self._n if start == 0 else 0, len(own)], dtype=np.int64)
            yield b"".join(each.tobytes() for each in (head, own, values[own], *([] if tops is None else [tops[own]])))

    def from_bytes(self, pieces: Iterable[bytes]) -> BlockSummary:
        """The sums of all workers that draw as this one does."""
        whole = self.empty()
        values, tops = _flat(whole._sums().sums)
        for piece in pieces:
            n, count = np.frombuffer(piece, dtype=np.int64, count=2).tolist()
            places = np.frombuffer(piece, dtype=np.int64, count=count, offset=16)
            end = 16 + 8 * count + values[:count].nbytes
            own = np.frombuffer(piece[16 + 8 * count : end], dtype=values.dtype).reshape(count, *values.shape[1:])
            whole._n += n
            if tops is None:
                values[places] += own
                continue
            own_tops = np.frombuffer(piece[end:], dtype=np.int8).reshape(count, tops.shape[1])
            tops[places], values[places] = merge_bins(tops[places], values[places], own_tops, own)
        return whole

    @property
    def max_bytes(self) -> int:
        """Of the sums of all blocks and their places."""
        return sums_bytes(self._study, self._blocks, self._partitions) + 8 * self._blocks * self._partitions + 16

    def result(self) -> BlockSums:
        """The sums of the blocks of a whole table."""
        self.finish()
        require_some(self._n, self._study)
        return replace(self._sums().sums, n=self._n)


def vote_summary(study: Study, rule: VoteRule | EdgeRule | WideRule, rows: int | None) -> Summary[Any]:
    """What has to be added up for votes that are held by a rule; `rows` is their number, where it is public."""
    if isinstance(rule, EdgeRule):
        return edge_families(study, rule, rows)
    if isinstance(rule, WideRule):
        return WideSummary(study, rule, rows)
    return BlockSummary(study, rule.blocks, rule.partitions)


def edge_families(study: Study, rule: EdgeRule, rows: int | None) -> Several[BlockSums]:
    """The block sums of every family of edge votes in one pass; `rows` is their number, where it is public.

    Each family has random splits of its own, into blocks of its own size: equal ones where rows were counted, their number is
    public and nobody's go together. A number that was stated may be wrong, and then a row's place would decide its block
    (`EqualAssigner`).
    """
    equal = rows is not None and deals_equally(study, rows) and equal_blocks(rule, rows)
    buffer = BUFFER_BYTES // len(rule.blocks)
    return Several(
        BlockSummary(study, blocks, rule.partitions, equal_rows=rows if equal else None, buffer_bytes=buffer)
        for blocks in rule.blocks
    )


def _check(study: Study, blocks: int, partitions: int) -> None:
    for what, value in (("blocks", blocks), ("partitions", partitions)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_BLOCKS:
            raise StudyError(f"{what} is {value!r}; it must be a whole number from 1 to {MAX_BLOCKS:,}.")
    if not sums_bytes(study, blocks, partitions) <= MAX_BLOCK_BYTES:
        raise StudyError(
            f"{blocks:,} blocks in {partitions} partition(s) of this study need more than {MAX_BLOCK_BYTES // 2**20} MB: use "
            "fewer, larger blocks."
        )


def _flat(sums: BlockSums) -> tuple[NDArray[Any], NDArray[np.int8] | None]:
    """Views of the arrays in which all blocks of all partitions follow each other; tops where the sums are in bins."""
    blocks = sums.partitions * sums.blocks
    if isinstance(sums.sums, WholeSums):
        return sums.sums.table.reshape(blocks, -1), None
    return sums.sums.slices.reshape(blocks, SLICES, -1), sums.sums.tops.reshape(blocks, -1)


def lanes_of(flat: NDArray[Any], width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums as doubles and what they leave out, (sums, lanes) each; the two parts of a cube on the grid as one."""
    with np.errstate(all="ignore"):
        if flat.dtype == np.int64:
            high: NDArray[np.float64] = flat.astype(np.float64)
            # Of a block that is too long to count, the largest sum may be 2^63 as a double.
            back = np.where(high < 2.0**63, high, 0.0).astype(np.int64)
            low = (flat - back).astype(np.float64)
            coarse, rests = slice(-2 * (width - 1), 1 - width), slice(1 - width, None)
            cubes = _settled(CUBE_UNIT * high[:, coarse], high[:, rests], CUBE_UNIT * low[:, coarse] + low[:, rests])
            high[:, coarse], low[:, coarse] = cubes
            high, low = high[:, : 1 - width], low[:, : 1 - width]
        else:
            high, low = _settled(*(flat[:, s] for s in range(3)))
    return high.T, low.T


def _settled(
    first: NDArray[np.float64], second: NDArray[np.float64], third: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Three doubles, each far below the one before or of its size, as one and what it leaves out."""
    total = first + second
    part = total - first
    rest = ((first - (total - part)) + (second - part)) + third
    high = total + rest
    return high, rest - (high - total)
