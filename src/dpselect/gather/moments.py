"""Private. The exact second moments of a clipped, rounded table: all that the losses need."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS
from dpselect.assume.study import Study
from dpselect.errors import DataError
from dpselect.gather.grid import MAX_CHUNK_ROWS, Chunk
from dpselect.gather.persons import PersonRows
from dpselect.gather.possible import are_possible
from dpselect.gather.summary import MAX_PIECE_BYTES, Summary, require_some

TWICE = (
    "The same gathering would be added twice: add each once, for a row that counts twice would need twice the noise."
)
MAX_CHUNKS = 512
"""Chunks whose sums an int64 can hold: 2^9 of at most 2^53 each stay within 2^62; then they move to Python's integers."""
PRODUCT_BYTES = 32
"""Of a product as text: at most 2^79, its sign and what stands between two."""
Integers = tuple[int, list[list[int]], list[int], int]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Moments:
    """Private. n and the products of all columns and the response, as exact integers; `a + b` pools two tables.

    They are made by `gather`, `load_moments` and `moments_from_answer`.

    Attributes
    ----------
    n : int
        The number of rows. Private where it is secret.
    products : array of int
        Symmetric, one row a column and the response last, in units of 2^-40. Private.
    columns : tuple of str
        The names of the design's columns.
    study : str
        The hash of the public statements that the rows were clipped to.
    gatherings : frozenset of str
        Random names, one for each time that rows were read, so that none is added twice.
    """

    n: int
    products: NDArray[np.object_]
    columns: tuple[str, ...]
    study: str
    gatherings: frozenset[str] = frozenset()
    _sound: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        fixed = self.products.view()
        fixed.setflags(write=False)  # what was checked stays as it was
        object.__setattr__(self, "products", fixed)

    def __repr__(self) -> str:
        return f"Moments(columns={len(self.columns)}, values=<private>)"

    def __add__(self, other: Moments) -> Moments:
        """The moments of both tables; each side is checked by itself, so that no refusal compares one site with another."""
        if not isinstance(other, Moments):
            return NotImplemented
        if (self.columns, self.study) != (other.columns, other.study):
            raise DataError(
                "These moments were gathered under different assumptions and cannot be pooled: gather both with the same ones."
            )
        for each in (self, other):
            if not each.n <= MAXIMUM_ROWS // 2:
                raise DataError(
                    f"Moments of more than {MAXIMUM_ROWS // 2:,} rows cannot be pooled: together they may have "
                    f"{MAXIMUM_ROWS:,} rows, the most that dpselect can sum exactly."
                )
        if self is other or self.gatherings & other.gatherings:
            raise DataError(TWICE)
        for each in (self, other):
            require_sound(each)
        return pooled(self, other)

    def integers(self) -> Integers:
        """(n, X'X, X'y, y'y): Python ints on the 2^-20 grid, so products are in units of 2^-40. Private."""
        table = self.products.tolist()
        return self.n, [row[:-1] for row in table[:-1]], [row[-1] for row in table[:-1]], table[-1][-1]

    def scaled(self) -> NDArray[np.float64]:
        """The products as doubles, columns and response in [-1, 1]; each entry is off by at most 2^-53 of itself. Private."""
        return self.products.astype(np.float64) * 2.0**-40


def pooled(first: Moments, second: Moments) -> Moments:
    """The moments of both tables, whose rows are known to be different ones: parts of one table, or checked by `+`."""
    both = Moments(
        first.n + second.n,
        first.products + second.products,
        first.columns,
        first.study,
        first.gatherings | second.gatherings,
    )
    return sound(both) if first._sound and second._sound else both


def sound(moments: Moments) -> Moments:
    """The same moments, marked as those of a table: they were added up from rows here, or were checked."""
    object.__setattr__(moments, "_sound", True)
    return moments


def require_sound(moments: Moments, study: Study | None = None, sentence: str | None = None) -> Moments:
    """The same moments, refused if no table has them; those that were added up here are known to have one."""
    if not moments._sound and not are_possible(moments.n, moments.products, study):
        raise DataError(sentence or "These moments hold sums that no table has: gather them again.")
    return sound(moments)


def named(moments: Moments) -> Moments:
    """The moments of a whole table with the name of its gathering: a new one, if it has none."""
    if moments.gatherings:
        return moments
    fresh = replace(moments, gatherings=frozenset([secrets.token_hex(16)]))
    return sound(fresh) if moments._sound else fresh


def named_by_content(moments: Moments) -> Moments:
    """The moments with a name that says what they hold: for sums that came without one, so that they meet themselves again."""
    content = f"{moments.study} {moments.n} {moments.products.tolist()}"
    fresh = replace(moments, gatherings=frozenset([f"sums {hashlib.sha256(content.encode()).hexdigest()}"]))
    return sound(fresh) if moments._sound else fresh


class MomentSummary(Summary[Moments]):
    """Private. Adds rows to the moments of one table; with persons, those rows of each that count."""

    rows_together = True

    def __init__(self, study: Study) -> None:
        study.require_bounds("Adding up moments")
        self._study = study
        self._width = len(study.columns) + 1
        self._n = 0
        self._products: NDArray[np.object_] | None = None
        self._recent: NDArray[np.int64] | None = None
        self._order: NDArray[np.int64] | None = None
        self._chunks = 0
        self._persons: PersonRows | None = None
        self._sound = True

    def __repr__(self) -> str:
        return "MomentSummary(values=<private>)"

    def empty(self) -> MomentSummary:
        """One of no rows."""
        return MomentSummary(self._study)

    def add(self, chunk: Chunk) -> None:
        """Add some rows."""
        if self._study.person is not None:
            self._persons = self._persons or PersonRows(self._study)
            self._persons.add(chunk)
            return
        lines, self._order = chunk.lines, chunk.order
        products = (lines @ lines.T).astype(np.int64)
        self._recent = products if self._recent is None else self._recent + products
        self._chunks += 1
        if self._chunks % MAX_CHUNKS == 0:
            self.finish()
        self._n += chunk.count

    def finish(self) -> None:
        """Move what is in 64 bits to Python's integers; add up the rows of persons, of which there will be no others."""
        if self._recent is not None:
            self._products = self._sums() + self._recent[np.ix_(self._order, self._order)].astype(object)  # type: ignore[arg-type]
            self._recent = None
        if self._persons is not None:
            self._products = self._sums() + exact_products(self._persons.rows())
            self._n += self._study.rows_per_person * self._persons.count
            self._persons = None

    def _sums(self) -> NDArray[np.object_]:
        if self._products is None:
            self._products = np.zeros((self._width, self._width), dtype=object)
        return self._products

    def merge(self, other: MomentSummary) -> MomentSummary:
        """The moments of the rows of both."""
        self.finish()
        other.finish()
        self._products = self._sums() + other._sums()
        self._n += other._n
        self._sound = self._sound and other._sound
        return self

    def to_bytes(self) -> Iterator[bytes]:
        """Some rows of the products at a time, as numbers of any length; n goes with the first."""
        self.finish()
        table = self._sums().tolist()
        some = max(1, MAX_PIECE_BYTES // (PRODUCT_BYTES * self._width))
        for start in range(0, self._width, some):
            n = self._n if start == 0 else 0
            yield json.dumps([n, start, table[start : start + some]]).encode()

    def from_bytes(self, pieces: Iterable[bytes]) -> MomentSummary:
        """The moments of all workers; they came from elsewhere, so in the end it is asked whether a table has them."""
        whole = self.empty()
        whole._sound = False
        for piece in pieces:
            n, start, rows = json.loads(piece)
            whole._n += n
            whole._sums()[start : start + len(rows)] += np.array(rows, dtype=object)
        return whole

    @property
    def max_bytes(self) -> int:
        """Of all products as text."""
        return PRODUCT_BYTES * (self._width + 1) * self._width

    def result(self) -> Moments:
        """The moments of a whole table, with a name of its own."""
        self.finish()
        names = tuple(column.name for column in self._study.columns)
        moments = Moments(self._n, self._sums(), names, self._study.hash)
        return checked(sound(moments) if self._sound else require_sound(moments, self._study), self._study)


def exact_products(rows: NDArray[np.int32]) -> NDArray[np.object_]:
    """The products of rows of grid integers, as Python's integers."""
    total: NDArray[np.object_] = np.zeros((rows.shape[1], rows.shape[1]), dtype=object)
    for start in range(0, len(rows), MAX_CHUNK_ROWS):
        piece = rows[start : start + MAX_CHUNK_ROWS].astype(np.float64)
        total = total + (piece.T @ piece).astype(np.int64).astype(object)
    return total


def checked(moments: Moments, study: Study) -> Moments:
    """The moments of a whole table with a name of its own, refused if it is empty where n is public, or too long."""
    require_some(moments.n, study)
    if moments.n > MAXIMUM_ROWS:
        raise DataError(f"The table has more than {MAXIMUM_ROWS:,} rows, the most that dpselect can sum exactly.")
    return named(moments)
