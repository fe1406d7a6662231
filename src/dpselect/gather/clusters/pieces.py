"""Private. Block sums on their way from a worker: the blocks that have rows, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dpselect.gather.sums.block_numpy import SLICES, merge_bins
from dpselect.gather.sums.blocks import BlockSums, WholeSums

PIECE = 2**24
"""Bytes that travel together, about."""


class Piece(NamedTuple):
    """Private. Places of some blocks among all of all partitions, and their sums, as bytes; tops where they are in bins."""

    places: bytes
    values: bytes
    tops: bytes


def pieces_of(sums: BlockSums) -> Iterator[Piece]:
    """The sums of the blocks that have rows."""
    values, tops = _flat(sums)
    counts = values[:, 0] if tops is None else values[:, 0, 0]
    places = np.flatnonzero(counts)
    some = max(1, PIECE // values[0].nbytes)
    for start in range(0, len(places), some):
        own = places[start : start + some]
        yield Piece(own.astype(np.int64).tobytes(), values[own].tobytes(), b"" if tops is None else tops[own].tobytes())


def add_piece(sums: BlockSums, piece: Piece) -> None:
    """Add a piece to sums of the same plan, in place."""
    values, tops = _flat(sums)
    places = np.frombuffer(piece.places, dtype=np.int64)
    own = np.frombuffer(piece.values, dtype=values.dtype).reshape(len(places), *values.shape[1:])
    if tops is None:
        values[places] += own
        return
    own_tops = np.frombuffer(piece.tops, dtype=np.int8).reshape(len(places), -1)
    tops[places], values[places] = merge_bins(tops[places], values[places], own_tops, own)


def _flat(sums: BlockSums) -> tuple[np.ndarray, np.ndarray | None]:
    """Views of the arrays in which all blocks of all partitions follow each other."""
    blocks = sums.partitions * sums.blocks
    if isinstance(sums.sums, WholeSums):
        return sums.sums.table.reshape(blocks, -1), None
    return sums.sums.slices.reshape(blocks, SLICES, -1), sums.sums.tops.reshape(blocks, -1)
