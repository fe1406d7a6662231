"""Public. The candidate models: sets of columns, as bit masks, by a rule or as a list.

Bit j of a mask is column j. A rule is never stored as a list: it can be counted, indexed and walked from its few numbers,
however many candidates it stands for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.errors import AssumptionError

LISTED_AT_MOST = 2**24
"""More candidates than this are not scored one by one."""


def columns_of(mask: int) -> tuple[int, ...]:
    """The columns of a mask, in order: 0b101 is (0, 2)."""
    return tuple(j for j in range(mask.bit_length()) if mask >> j & 1)


def mask_of(columns: Sequence[int]) -> int:
    """The mask of some columns: (0, 2) is 0b101."""
    mask = 0
    for j in columns:
        mask |= 1 << j
    return mask


class Candidates(ABC):
    """Public. Candidate models over `width` columns, in a fixed order."""

    width: int

    @property
    @abstractmethod
    def count(self) -> int:
        """How many there are; may be far beyond what `len` can say."""

    @abstractmethod
    def mask(self, index: int) -> int:
        """The candidate at a place, as a bit mask."""

    @abstractmethod
    def index(self, mask: int) -> int:
        """The place of a candidate; `ValueError` if it is none."""

    @abstractmethod
    def masks(self) -> NDArray[np.uint64]:
        """All of them, listed; at most 2^24 and at most 64 columns."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Plain values that say which candidates these are."""

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        return (self.mask(index) for index in range(self.count))

    def __getitem__(self, index: int) -> tuple[int, ...]:
        return columns_of(self.mask(range(self.count)[index]))

    def sizes(self) -> NDArray[np.int64]:
        """How many columns each candidate has."""
        return np.bitwise_count(self.masks()).astype(np.int64)

    def largest(self) -> int:
        """The most columns that a candidate has."""
        return int(self.sizes().max())

    def require_listable(self) -> None:
        """Refuse what is too long to score one by one."""
        if self.count > LISTED_AT_MOST:
            raise AssumptionError(
                f"There are {self.count:,} candidate models, and at most {LISTED_AT_MOST:,} can be scored one by one: "
                "set max_size, name fewer columns, or give a list of candidates."
            )
        if self.width > 64:
            raise AssumptionError(
                f"The candidates range over {self.width} columns, and at most 64 can be scored one by one: "
                "name fewer predictors."
            )


@dataclass(frozen=True)
class SubsetRule(Candidates):
    """Public. Unions of terms: any set of them, on top of the columns that are always in.

    A term is a mask whose columns enter and leave together. `max_size` bounds the columns of a candidate, those that are
    always in not counted. Candidates are ordered by the set of their terms read as a binary number, so with one-column terms
    and nothing always in they are the masks in integer order.
    """

    width: int
    terms: tuple[int, ...]
    always: int = 0
    max_size: int | None = None
    empty: bool = False
    _ways: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        taken = self.always
        if not 0 <= taken < 1 << self.width:
            raise AssumptionError(f"A column that is always in is outside the table's {self.width} columns.")
        for term in self.terms:
            if not 0 < term < 1 << self.width or term & taken:
                raise AssumptionError("Each term needs columns of its own, inside the table's columns.")
            taken |= term
        if (limit := self.max_size) is not None:
            if not isinstance(limit, int | np.integer) or isinstance(limit, bool) or limit < 0:
                raise AssumptionError(f"max_size is {limit!r}; it must be a whole number, 0 or more.")
            object.__setattr__(self, "max_size", int(limit))  # NumPy's cannot be written to a report
        object.__setattr__(self, "_ways", self._count_ways())
        if self.count < 1:
            raise AssumptionError("No candidate model is left: allow the empty one, more columns or a larger max_size.")

    @property
    def room(self) -> int:
        """The largest number of optional columns that can occur."""
        total = sum(term.bit_count() for term in self.terms)
        return total if self.max_size is None else min(total, self.max_size)

    def _count_ways(self) -> tuple[tuple[int, ...], ...]:
        """ways[t][c]: how many sets of the first t terms have at most c columns."""
        rows = [(1,) * (self.room + 1)]
        for term in self.terms:
            size, last = term.bit_count(), rows[-1]
            rows.append(tuple(last[c] + (last[c - size] if c >= size else 0) for c in range(self.room + 1)))
        return tuple(rows)

    @property
    def skipped(self) -> int:
        """1 when the empty model would come first and is not allowed."""
        return int(not self.empty and self.always == 0)

    @property
    def count(self) -> int:
        return self._ways[-1][-1] - self.skipped

    @property
    def is_full_lattice(self) -> bool:
        """Whether every set of columns competes, the empty one perhaps not."""
        single = tuple(1 << j for j in range(self.width))
        return self.terms == single and self.room == self.width

    def mask(self, index: int) -> int:
        left, room, mask = index + self.skipped, self.room, self.always
        for t in reversed(range(len(self.terms))):
            without = self._ways[t][room]
            if left >= without:
                left -= without
                mask |= self.terms[t]
                room -= self.terms[t].bit_count()
        return mask

    def index(self, mask: int) -> int:
        place, room, rebuilt = -self.skipped, self.room, self.always
        for t in reversed(range(len(self.terms))):
            if mask & self.terms[t]:
                place += self._ways[t][room]
                rebuilt |= self.terms[t]
                room -= self.terms[t].bit_count()
                if room < 0:
                    raise ValueError("too many columns")
        if rebuilt != mask or place < 0:
            raise ValueError("not a candidate")
        return place

    def masks(self) -> NDArray[np.uint64]:
        self.require_listable()
        listed = np.array([self.always], np.uint64)
        sizes = np.zeros(1, np.int64)
        for term in self.terms:
            fits = sizes + term.bit_count() <= self.room
            listed = np.concatenate([listed, listed[fits] | np.uint64(term)])
            sizes = np.concatenate([sizes, sizes[fits] + term.bit_count()])
        return listed[self.skipped :]

    def describe(self) -> dict[str, Any]:
        return {
            "rule": "subsets",
            "width": self.width,
            "terms": [list(columns_of(term)) for term in self.terms],
            "always": list(columns_of(self.always)),
            "max_size": self.max_size,
            "empty": self.empty,
        }


@dataclass(frozen=True)
class CandidateList(Candidates):
    """Public. Candidates named one by one, in the order given."""

    width: int
    listed: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.listed:
            raise AssumptionError("The list of candidates is empty; name at least one model.")
        if not all(0 <= mask < 1 << self.width for mask in self.listed):
            raise AssumptionError(f"A candidate names a column outside the table's {self.width} columns.")
        if any(a == b for a, b in pairwise(sorted(self.listed))):
            raise AssumptionError("The list of candidates names the same model twice; name each once.")

    @property
    def count(self) -> int:
        return len(self.listed)

    def mask(self, index: int) -> int:
        return self.listed[index]

    def index(self, mask: int) -> int:
        return self.listed.index(mask)

    def masks(self) -> NDArray[np.uint64]:
        self.require_listable()
        return np.array(self.listed, np.uint64)

    def describe(self) -> dict[str, Any]:
        return {
            "rule": "list",
            "width": self.width,
            "models": [list(columns_of(mask)) for mask in self.listed],
        }


def all_subsets(width: int, *, empty: bool = False) -> SubsetRule:
    """Every set of `width` columns, in integer order of its mask."""
    return SubsetRule(width, tuple(1 << j for j in range(width)), empty=empty)


def vote_units(candidates: Candidates) -> tuple[int, ...]:
    """What is voted on, as masks: the terms of a rule, or the single columns that tell listed models apart. Public."""
    if isinstance(candidates, SubsetRule):
        return candidates.terms
    assert isinstance(candidates, CandidateList)
    some, every = 0, (1 << candidates.width) - 1
    for mask in candidates.listed:
        some, every = some | mask, every & mask
    return tuple(1 << j for j in columns_of(some & ~every))
