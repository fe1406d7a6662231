"""Private. Which block a row goes to in each partition: drawn afresh for every release, never by the row's place.

What the proof needs (`assume/lemmas`) is that the draw knows nothing of the rows, that it has the same law for every row or
person, and that it is forgotten afterwards: then the law of the votes depends on the set of rows, and a sorted table is as
safe as a shuffled one. It need not be uniform to the last digit: a block's chance is off by at most 2^-32, which only makes
blocks of slightly different size.

Survey weights thin the rows: in each partition a row takes part by a coin of its own (`Thinned`), and all rows of a cluster go
together as those of a person do (`assume.lemmas.sampling`).

Where the number of rows is public, blocks may be equal: labels in a random order, the i-th for the row that arrives i-th. In blocks
of a few rows that makes the votes a tenth clearer.

Tested: tests/gather/test_dealing.py
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sampling import SHARE_BITS
from dpselect.assume.study import Missing, Study
from dpselect.assume.variables import LEAVE_OUT
from dpselect.errors import DataError
from dpselect.gather.grid import Cells

Blocks = NDArray[np.uint32]

NOWHERE = 2**32 - 1
"""The block of a row that takes no part in a partition; there are never as many blocks."""

WORD_BYTES = 4
"""Bytes of chance for each row and partition."""
DIGEST_BYTES = 64
KEY_BYTES = 32


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
        words = np.frombuffer(os.urandom(WORD_BYTES * self.partitions * rows), dtype=np.uint32)
        return spread(words.reshape(self.partitions, rows), self.blocks)


class EqualAssigner:
    """Private. Equal blocks: in each partition the labels of all blocks in a random order, handed out as rows arrive.

    For tables whose number of rows is public and that are compared with others of as many rows (replace-one). Why it is as private
    as chances of their own: the order pi of the labels is uniform, drawn from the operating system without a look at a row. Rows
    arrive in some order o, which may depend on the rows, on threads and on the machine, but not on pi, which nobody has seen; so
    the row that is i-th in the table has the label pi(o(i)), and pi o is uniform again, whatever o is: each set of rows has the law
    of a random split into equal blocks. For neighbouring tables with orders o and o', let the new row stand in the old one's place
    and pi' be pi o o'^-1, as uniform as pi: all rows but the one that differs are in the same blocks
    (`assume.lemmas.sensitivity.edge_range`).

    All rows must have labels: if some had blocks by chances of their own because they came last, their place would decide how, and
    pi o o'^-1 would not be as uniform as pi. So the number must have been counted, and more rows than that are refused: it is
    public, and the table has changed. Labels that are left over go to nobody, which keeps the rows exchangeable.
    A copy that is sent to another process draws row by row: nobody could hand out labels there.
    """

    def __init__(self, blocks: int, partitions: int, rows: int) -> None:
        self._beyond, self._rows = RowAssigner(blocks, partitions), rows
        self._labels: Blocks | None = None  # until the first row comes: a plan of a gathering needs none
        self._taken = 0
        self._lock = Lock()

    def __repr__(self) -> str:
        return "EqualAssigner(<private>)"

    def __reduce__(self) -> tuple[type[RowAssigner], tuple[int, int]]:
        return RowAssigner, (self._beyond.blocks, self._beyond.partitions)

    def draw(self, cells: Cells, rows: int) -> Blocks:
        """The blocks (partitions, rows) of a batch, whatever its cells are."""
        with self._lock:
            if self._labels is None:
                own = self._beyond
                self._labels = np.stack([_random_labels(own.blocks, self._rows) for _ in range(own.partitions)])
            labels = self._labels[:, self._taken : self._taken + rows]
            self._taken += rows
        if labels.shape[1] < rows:
            raise DataError("The table has more rows now than when they were counted: leave it alone while it is read.")
        return labels


def _random_labels(blocks: int, rows: int) -> Blocks:
    """Labels of equal blocks in a uniformly random order: that of words which are all different, so that any order is as likely.

    A word's last bits make room for its place, so that words and places are sorted as one number.
    """
    bits = np.uint64(rows.bit_length())
    places = np.arange(rows, dtype=np.uint64)
    while True:
        words = np.sort(np.frombuffer(os.urandom(8 * rows), dtype=np.uint64) >> bits << bits | places)
        drawn = words >> bits
        if (drawn[1:] > drawn[:-1]).all():
            break
    labels = np.empty(rows, dtype=np.uint32)
    labels[words & ((np.uint64(1) << bits) - np.uint64(1))] = places * np.uint64(blocks) // np.uint64(max(rows, 1))
    return labels


def _fresh_key() -> bytes:
    return os.urandom(KEY_BYTES)


@dataclass(frozen=True, slots=True, repr=False)
class PersonAssigner:
    """Private. All rows of a person, or of a cluster, together: by BLAKE2b of its name, under a key that is drawn once a release.

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
        places, persons = different_persons(cells[self.person])
        digests = b"".join(self._digest(person) for person in persons)
        width = len(self._digest(""))  # the same for all, also where a batch has no rows
        words = np.frombuffer(digests, dtype="<u4").reshape(len(persons), width // WORD_BYTES)[:, : self.partitions]
        return spread(np.ascontiguousarray(words.T), self.blocks)[:, places]

    def _digest(self, person: Any) -> bytes:
        # As text, so that 17 in one file and "17" in another are one person.
        content = str(person).encode("utf-8", "surrogatepass")
        if self.partitions * WORD_BYTES <= DIGEST_BYTES:
            return blake2b(content, key=self.key, digest_size=self.partitions * WORD_BYTES).digest()
        pages = range(-(-self.partitions * WORD_BYTES // DIGEST_BYTES))
        return b"".join(blake2b(content, key=self.key, salt=page.to_bytes(8, "little")).digest() for page in pages)


def different_persons(persons: NDArray[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """For each row the place of its person, and the persons; whoever stands there as 17 and as "17" is listed twice."""
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


@dataclass(frozen=True, slots=True, repr=False)
class Thinned:
    """Private. Blocks as another draws them, of the rows that take part: in each partition by a coin of the row's own.

    A row with the weight w takes part with the chance min(w/limit, 1), so that in each partition a population's rows are met as if
    they had been sampled alike.
    """

    unthinned: Assigner
    weights: str
    limit: float
    missing: Missing

    def __repr__(self) -> str:
        return "Thinned(<private>)"

    def draw(self, cells: Cells, rows: int) -> Blocks:
        """The blocks (partitions, rows) of a batch, `NOWHERE` where a row takes no part."""
        blocks = self.unthinned.draw(cells, rows)
        shares = weight_shares(cells[self.weights], self.limit, self.missing, self.weights)
        coins = np.frombuffer(os.urandom(WORD_BYTES * blocks.size), dtype=np.uint32).reshape(blocks.shape)
        return thinned(blocks, shares, coins)


def thinned(blocks: Blocks, shares: NDArray[np.uint64], coins: NDArray[np.uint32]) -> Blocks:
    """The blocks, `NOWHERE` where a row's coin is not below its share of 2^32."""
    return np.where(coins < shares, blocks, np.uint32(NOWHERE))


def weight_shares(weights: NDArray[np.float64], limit: float, missing: Missing, name: str) -> NDArray[np.uint64]:
    """Each row's share min(w/limit, 1) as a whole number of 2^-32, by its own weight and one double operation after the other.

    A weight of zero is a share of zero. One that is missing, negative or infinite is refused where missing cells are, naming the
    column alone; else its row takes no part.
    """
    with np.errstate(all="ignore"):  # whatever the program has set: no exception may depend on a cell
        usable = (weights >= 0) & np.isfinite(weights)
        if missing == "error" and not usable.all():
            raise DataError(
                f"The weights {name!r} have missing, negative or infinite values: correct them, or leave such rows out by "
                f"{LEAVE_OUT}."
            )
        shares = np.floor(np.minimum(np.where(usable, weights, 0.0) / limit, 1.0) * 2.0**SHARE_BITS + 0.5)
    return shares.astype(np.uint64)


def study_shares(cells: Cells, study: Study, bits: int) -> NDArray[np.float64]:
    """The shares of a weighted study's rows in whole numbers of 2^-bits, as doubles."""
    assert study.weights is not None and study.weight_limit is not None
    shares = weight_shares(cells[study.weights], study.weight_limit, study.missing, study.weights)
    return np.floor(shares.astype(np.float64) * 2.0 ** (bits - SHARE_BITS) + 0.5)


def fresh_assigner(study: Study, blocks: int, partitions: int, equal_rows: int | None = None) -> Assigner:
    """An assignment that nobody has used before; into equal blocks where `equal_rows`, the public number of rows, is given."""
    drawn: Assigner
    if study.together is not None:
        drawn = PersonAssigner(blocks, partitions, study.together)
    elif equal_rows is not None:
        drawn = EqualAssigner(blocks, partitions, equal_rows)
    else:
        drawn = RowAssigner(blocks, partitions)
    if study.weights is None:
        return drawn
    assert study.weight_limit is not None
    return Thinned(drawn, study.weights, study.weight_limit, study.missing)


class Names:
    """Private. A number for each name, from 0 on in the order in which they come; 17 and "17" are one name."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def __repr__(self) -> str:
        return "Names(values=<private>)"

    def numbers(self, cells: NDArray[Any]) -> NDArray[np.int64]:
        """The number of each cell's name."""
        places, different = different_persons(cells)
        return np.array([self.known.setdefault(str(name), len(self.known)) for name in different], dtype=np.int64)[
            places
        ]
