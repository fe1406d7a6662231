"""Private. Which block a row goes to in each partition: drawn afresh for every release, never by the row's place.

What the proof needs (`assume/lemmas`) is that the draw knows nothing of the rows, that it has the same law for every row or
person, and that it is forgotten afterwards: then the law of the votes depends on the set of rows, and a sorted table is as
safe as a shuffled one. It need not be uniform to the last digit: a block's chance is off by at most 2^-32, which only makes
blocks of slightly different size.

Tested: tests/gather/sums/test_assign.py
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpselect.gather.sums.grid import Cells

Blocks = NDArray[np.uint32]

WORD = 4
"""Bytes of chance for each row and partition."""
DIGEST = 64
KEY = 32


class Assigner(Protocol):
    """Private. Draws blocks; tests put one of their own in its place."""

    def draw(self, cells: Cells, rows: int) -> Blocks:
        """The blocks (partitions, rows) of a batch."""


@dataclass(frozen=True, slots=True, repr=False)
class RowAssigner:
    """Private. Each row by a chance of its own, from the operating system."""

    blocks: int
    partitions: int

    def __repr__(self) -> str:
        return "RowAssigner(<private>)"

    def draw(self, cells: Cells, rows: int) -> Blocks:
        """The blocks (partitions, rows) of a batch, whatever its cells are."""
        words = np.frombuffer(os.urandom(WORD * self.partitions * rows), dtype=np.uint32)
        return spread(words.reshape(self.partitions, rows), self.blocks)


def _fresh_key() -> bytes:
    return os.urandom(KEY)


@dataclass(frozen=True, slots=True, repr=False)
class PersonAssigner:
    """Private. All rows of a person together: by BLAKE2b of the person, under a key that is drawn once a release.

    The key goes to whoever adds up rows, so that a person's rows meet in one block from every batch, thread and worker. To
    anybody without the key the blocks are as good as drawn: BLAKE2b with a key is a pseudorandom function (RFC 7693).
    """

    blocks: int
    partitions: int
    person: str
    key: bytes = field(default_factory=_fresh_key)

    def __repr__(self) -> str:
        return "PersonAssigner(<private>)"

    def draw(self, cells: Cells, rows: int) -> Blocks:
        """The blocks (partitions, rows) of a batch."""
        places, persons = _different(cells[self.person])
        digests = b"".join(self._digest(person) for person in persons)
        words = np.frombuffer(digests, dtype="<u4").reshape(len(persons), -1)[:, : self.partitions]
        return spread(np.ascontiguousarray(words.T), self.blocks)[:, places]

    def _digest(self, person: Any) -> bytes:
        # As text, so that 17 in one file and "17" in another are one person.
        content = str(person).encode("utf-8", "surrogatepass")
        if self.partitions * WORD <= DIGEST:
            return blake2b(content, key=self.key, digest_size=self.partitions * WORD).digest()
        pages = range(-(-self.partitions * WORD // DIGEST))
        return b"".join(blake2b(content, key=self.key, salt=page.to_bytes(8, "little")).digest() for page in pages)


def _different(persons: NDArray[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """For each row the place of its person, and the persons."""
    if persons.dtype != object:
        different, places = np.unique(persons, return_inverse=True)
        return places, different.tolist()
    codes: dict[Any, int] = {}
    places = np.array([codes.setdefault(person, len(codes)) for person in persons.tolist()], dtype=np.intp)
    return places, list(codes)


def spread(words: NDArray[np.uint32], blocks: int) -> Blocks:
    """Words below 2^32 to blocks, each block's share of the words being within one of 2^32 / blocks."""
    scaled: Blocks = (words.astype(np.uint64) * np.uint64(blocks) >> np.uint64(32)).astype(np.uint32)
    return scaled


def fresh_assigner(blocks: int, partitions: int, person: str | None) -> RowAssigner | PersonAssigner:
    """An assignment that nobody has used before."""
    return RowAssigner(blocks, partitions) if person is None else PersonAssigner(blocks, partitions, person)
