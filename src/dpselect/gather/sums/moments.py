"""Private. The exact second moments of a clipped, rounded table: all that the losses need."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.sums.possible import are_possible

TWICE = (
    "The same gathering would be added twice: add each once, for a row that counts twice would need twice the noise."
)
Integers = tuple[int, list[list[int]], list[int], int]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Moments:
    """Private. n and the products of all columns and the response, as exact integers; `a + b` pools two tables.

    `products` is symmetric, one row a column and the response last, in units of 2^-40; `columns` and `assumptions` (the
    hash of the public statements that the rows were clipped to) are public. `gatherings` are random names, one for each time
    that rows were read, so that none is added twice.
    """

    n: int
    products: NDArray[np.object_]
    columns: tuple[str, ...]
    assumptions: str
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
        if (self.columns, self.assumptions) != (other.columns, other.assumptions):
            raise DataError(
                "These moments were gathered under different assumptions and cannot be pooled: gather both with the same ones."
            )
        for each in (self, other):
            if not each.n <= MAXIMUM_ROWS // 2:
                raise DataError(
                    f"Moments of more than {MAXIMUM_ROWS // 2:,} rows cannot be pooled: together they may have "
                    f"{MAXIMUM_ROWS:,} rows, the most that dpselect's error bounds cover."
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
        first.assumptions,
        first.gatherings | second.gatherings,
    )
    return sound(both) if first._sound and second._sound else both


def sound(moments: Moments) -> Moments:
    """The same moments, marked as those of a table: they were added up from rows here, or were checked."""
    object.__setattr__(moments, "_sound", True)
    return moments


def require_sound(moments: Moments, assumptions: Assumptions | None = None, sentence: str | None = None) -> Moments:
    """The same moments, refused if no table has them; those that were added up here are known to have one."""
    if not moments._sound and not are_possible(moments.n, moments.products, assumptions):
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
    content = f"{moments.assumptions} {moments.n} {moments.products.tolist()}"
    fresh = replace(moments, gatherings=frozenset([f"sums {hashlib.sha256(content.encode()).hexdigest()}"]))
    return sound(fresh) if moments._sound else fresh
