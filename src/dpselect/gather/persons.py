"""Private. At most k rows of each person, whichever order, batches or engine the rows come in.

Of a person's rows on the grid the first k in a fixed public order count: by a number mixed from all their values, ties by the
values themselves. The order is the same for every table, so which rows of a person count depends on that person's rows alone;
and it says nothing about where rows are stored, so every engine keeps the same ones. A person with fewer rows is filled up
with rows of zeros, so that n is k times the number of persons and replacing a person leaves it as it is. Tables that differ in
one person therefore differ in k rows and no more, and every sensitivity is k times that of one row (`loss_sensitivity`,
`loss_range`, `moment_scale`).

Tested: tests/gather/test_persons.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study import Study
from dpselect.assume.variables import GRID
from dpselect.gather.dealing import Names
from dpselect.gather.grid import Chunk

PRIME = 2**31 - 1
MULTIPLIER = 1_583_458_089
"""With PRIME, L'Ecuyer's multiplier for a good linear congruential generator; products stay below 2^62 in every engine."""

MAX_WAITING_ROWS = 1_000_000
"""Rows that may wait before those beyond k are dropped."""


MAX_CLUSTERS = 2**32
"""More than there are rows."""


class PersonRows:
    """Private. The rows that count of every person, for whatever sums are made of them in the end.

    All rows of a person must be added to the same one. It holds the rows, so its memory grows with the number of persons.
    """

    def __init__(self, study: Study) -> None:
        assert study.person is not None
        self._person, self._most, self._width = study.person, study.rows_per_person, len(study.columns) + 1
        self._names, self._within = Names(), Names()
        self._persons: list[NDArray[np.int64]] = []
        self._values: list[NDArray[Any]] = []
        # Without limits a row is its doubles, which are told apart by their bits.
        self._kind: type[np.float64 | np.int32] = np.float64 if study.unbounded else np.int32
        self._waiting = 0

    def __repr__(self) -> str:
        return "PersonRows(values=<private>)"

    def add(self, chunk: Chunk) -> None:
        """Add some rows, which are on the grid."""
        self.add_rows(chunk.lines[chunk.order], chunk.cells[self._person])

    def add_rows(
        self, lines: NDArray[np.float64], persons: NDArray[Any], clusters: NDArray[np.int64] | None = None
    ) -> None:
        """Add some rows, a line for each column of the design and the response last, and whose they are.

        With the number of each row's cluster, all rows or none, the same name in two clusters is two persons.
        """
        numbers = self._names.numbers(persons)
        if clusters is not None:
            numbers = self._within.numbers(numbers * MAX_CLUSTERS + clusters)
        self._values.append(lines.T.astype(self._kind))
        self._persons.append(numbers)
        self._waiting += len(persons)
        if self._waiting > MAX_WAITING_ROWS:
            self._drop()
            self._waiting = 0

    def _drop(self) -> None:
        """Keep the first k rows of every person."""
        persons, values = np.concatenate(self._persons), np.concatenate(self._values)
        many = np.bincount(persons)[persons] > self._most
        kept = np.flatnonzero(~many)
        if many.any():
            places = np.flatnonzero(many)
            picked = values[places]
            places = places[np.lexsort((*picked.T[::-1], mixed(picked), persons[places]))]
            first = np.searchsorted(persons[places], persons[places])
            kept = np.append(kept, places[np.arange(len(places)) - first < self._most])
        self._persons, self._values = [persons[kept]], [values[kept]]

    @property
    def count(self) -> int:
        """How many persons there are."""
        return len(self._within.known or self._names.known)

    def rows(self) -> NDArray[Any]:
        """The rows added so far that count: one row of columns and response each, and none that fills up."""
        if not self._persons:
            return np.zeros((0, self._width), dtype=self._kind)
        self._drop()
        return self._values[0]

    def clusters(self) -> NDArray[np.int64]:
        """The number of the cluster of each of `rows`, which are asked for first; that of the person where none was given."""
        if not self._persons or not self._within.known:
            return self._persons[0] if self._persons else np.zeros(0, dtype=np.int64)
        return np.array([int(pair) % MAX_CLUSTERS for pair in self._within.known], dtype=np.int64)[self._persons[0]]


def mixed(values: NDArray[Any]) -> NDArray[np.int64]:
    """A number below PRIME from all values of a row, whole numbers or doubles; of whole numbers the same in SQL."""
    number = np.zeros(len(values), dtype=np.int64)
    for column in values.T:
        whole = column if column.dtype == np.int32 else np.ascontiguousarray(column).view(np.int64) % PRIME
        number = (number + whole + GRID) % PRIME * MULTIPLIER % PRIME
    return number
