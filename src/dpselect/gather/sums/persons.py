"""Private. At most k rows of each person, whichever order, batches or engine the rows come in.

Of a person's rows on the grid the first k in a fixed public order count: by a number mixed from all their values, ties by the
values themselves. The order is the same for every table, so which rows of a person count depends on that person's rows alone;
and it says nothing about where rows are stored, so every engine keeps the same ones. A person with fewer rows is filled up
with rows of zeros, so that n is k times the number of persons and replacing a person leaves it as it is. Tables that differ in
one person therefore differ in k rows and no more, and every sensitivity is k times that of one row (`loss_sensitivity`,
`loss_range`, `moment_scale`).

Tested: tests/gather/sums/test_persons.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import GRID
from dpselect.gather.sums.accumulate import CHUNK, exact_products
from dpselect.gather.sums.grid import Cells, Design
from dpselect.gather.sums.moments import Moments, sound

PRIME = 2**31 - 1
MULTIPLIER = 1_583_458_089
"""With PRIME, L'Ecuyer's multiplier for a good linear congruential generator; products stay below 2^62 in every engine."""

PENDING = 1_000_000
"""Rows that may wait before those beyond k are dropped."""


class PersonAccumulator:
    """Private. Adds batches of cells to the moments of a table with at most k rows of each person.

    It holds the rows that count, so its memory grows with the number of persons.
    """

    def __init__(self, assumptions: Assumptions) -> None:
        self._assumptions = assumptions
        self._design = Design(assumptions, CHUNK)
        self._codes: dict[str, int] = {}
        self._persons: list[NDArray[np.int64]] = []
        self._values: list[NDArray[np.int32]] = []
        self._waiting = 0
        self.rows = 0

    def __repr__(self) -> str:
        return "PersonAccumulator(values=<private>)"

    def add(self, cells: Cells) -> None:
        """Add a batch of rows, of any length."""
        rows = len(cells[self._assumptions.response.name])
        for start in range(0, rows, CHUNK):
            stop = min(start + CHUNK, rows)
            self.add_chunk(self._design.chunk(cells, start, stop), cells, start, stop)

    def add_chunk(self, work: NDArray[np.float64], cells: Cells, start: int, stop: int) -> None:
        """Add rows that are on the grid already, as a `Design` of these assumptions puts them there."""
        assert self._assumptions.person is not None
        self._values.append(work[self._design.order].T.astype(np.int32))
        self._persons.append(self._coded(cells[self._assumptions.person][start:stop]))
        self.rows += stop - start
        self._waiting += stop - start
        if self._waiting > PENDING:
            self._drop()
            self._waiting = 0

    def _coded(self, persons: NDArray[Any]) -> NDArray[np.int64]:
        different, places = np.unique(persons, return_inverse=True)
        codes = [self._codes.setdefault(str(person), len(self._codes)) for person in different.tolist()]
        return np.array(codes, dtype=np.int64)[places]

    def _drop(self) -> None:
        """Keep the first k rows of every person."""
        most = self._assumptions.rows_per_person
        persons, values = np.concatenate(self._persons), np.concatenate(self._values)
        many = np.bincount(persons)[persons] > most
        kept = np.flatnonzero(~many)
        if many.any():
            places = np.flatnonzero(many)
            picked = values[places]
            places = places[np.lexsort((*picked.T[::-1], mixed(picked), persons[places]))]
            first = np.searchsorted(persons[places], persons[places])
            kept = np.append(kept, places[np.arange(len(places)) - first < most])
        self._persons, self._values = [persons[kept]], [values[kept]]

    def kept(self) -> NDArray[np.int32]:
        """The rows added so far that count, on the grid: one row of columns and response each, and none that fills up."""
        if not self._persons:
            return np.zeros((0, len(self._assumptions.columns) + 1), dtype=np.int32)
        self._drop()
        return self._values[0]

    def partial(self) -> Moments:
        """The moments of the rows added so far, which may be none."""
        values = self.kept()
        names = tuple(column.name for column in self._assumptions.columns)
        n = self._assumptions.rows_per_person * len(self._codes)
        return sound(Moments(n, exact_products(values), names, self._assumptions.hash))


def mixed(values: NDArray[np.int32]) -> NDArray[np.int64]:
    """A number below PRIME from all values of a row; the same in SQL."""
    number = np.zeros(len(values), dtype=np.int64)
    for column in values.T:
        number = (number + column + GRID) % PRIME * MULTIPLIER % PRIME
    return number
