"""Private. What a round of Newton's method needs of the rows, as exact whole numbers: they are read again for each round."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.logistic import GRID_BITS, STEP_BITS, Links
from dpselect.assume.study import Study
from dpselect.assume.variables import GRID
from dpselect.gather.grid import Chunk
from dpselect.gather.persons import PersonRows
from dpselect.gather.summary import Summary, require_some

MAX_EXACT_ROWS = 2048
"""Rows whose sums stay below 2^53, so that doubles are exact."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LogisticSums:
    """Private. Twice the numbers of yes and no; the sum of (y - p) x in units of 2^-41; that of w xx' in units of 2^-40."""

    counts: tuple[int, int]
    gradient: tuple[int, ...]
    gram: tuple[tuple[int, ...], ...]

    def __repr__(self) -> str:
        return f"LogisticSums(width={len(self.gradient)}, values=<private>)"


class LogisticSummary(Summary[LogisticSums]):
    """Private. Adds up at public coefficients `center`, in whole numbers of 2^-20, for the columns at some places.

    The table of chances travels to the workers with the rest: a worker's own logarithms might end in another digit. Of each
    person the same rows count as in moments (`gather/persons.py`). Nobody is filled up with rows of zeros: these would add
    nothing to gradient and Gram, and half a yes each to the base rate.
    """

    persons_together = True

    def __init__(self, study: Study, columns: Sequence[int], center: Sequence[int], table: Links) -> None:
        self._study, self._columns, self._center, self._table = study, tuple(columns), tuple(center), table
        width = len(self._columns)
        self._at = np.array(self._center, dtype=np.float64)
        self._yes = self._rows = 0
        self._gradient: NDArray[np.object_] = np.zeros(width, dtype=object)
        self._gram: NDArray[np.object_] = np.zeros((width, width), dtype=object)
        self._persons: PersonRows | None = None

    def __repr__(self) -> str:
        return f"LogisticSummary(width={len(self._columns)}, values=<private>)"

    def empty(self) -> LogisticSummary:
        """One of no rows, at the same coefficients."""
        return LogisticSummary(self._study, self._columns, self._center, self._table)

    def add(self, chunk: Chunk) -> None:
        """Add some rows; a response is -GRID, GRID, or 0 where it is missing."""
        if self._study.person is not None:
            self._persons = self._persons or PersonRows(self._study)
            self._persons.add(chunk)
            return
        self._add(chunk.lines[chunk.order[list(self._columns)]], chunk.lines[chunk.order[-1]])

    def _add(self, design: NDArray[np.float64], response: NDArray[np.float64]) -> None:
        for start in range(0, response.size, MAX_EXACT_ROWS):
            own = slice(start, start + MAX_EXACT_ROWS)
            self._add_exactly(design[:, own], response[own])

    def _add_exactly(self, design: NDArray[np.float64], response: NDArray[np.float64]) -> None:
        # Sums of whole numbers below 2^53 in doubles: exact, in any order.
        table = self._table
        step = np.floor(self._at @ design * 2.0 ** -(2 * GRID_BITS - STEP_BITS) + 0.5).astype(np.int64) + table.steps
        residual = response + GRID - 2 * table.chances[step]
        weighted = np.floor(design * table.weights[step] * (1 / GRID) + 0.5)
        self._gradient = self._gradient + (design @ residual).astype(np.int64).astype(object)
        self._gram = self._gram + (weighted @ design.T).astype(np.int64).astype(object)
        self._yes += int(response.sum() + GRID * response.size) // GRID
        self._rows += response.size

    def finish(self) -> None:
        """Add up the rows of persons, of which there will be no others."""
        if self._persons is not None:
            rows, self._persons = self._persons.rows(), None
            for start in range(0, len(rows), MAX_EXACT_ROWS):
                own = rows[start : start + MAX_EXACT_ROWS].T.astype(np.float64)
                self._add_exactly(own[list(self._columns)], own[-1])

    def merge(self, other: LogisticSummary) -> LogisticSummary:
        """The sums of the rows of both."""
        self.finish()
        other.finish()
        self._yes, self._rows = self._yes + other._yes, self._rows + other._rows
        self._gradient, self._gram = self._gradient + other._gradient, self._gram + other._gram
        return self

    def to_bytes(self) -> Iterator[bytes]:
        """All sums as one text; a model has few columns."""
        self.finish()
        yield json.dumps([self._yes, self._rows, self._gradient.tolist(), self._gram.tolist()]).encode()

    def from_bytes(self, pieces: Iterable[bytes]) -> LogisticSummary:
        """The sums of all workers."""
        whole = self.empty()
        for piece in pieces:
            yes, rows, gradient, gram = json.loads(piece)
            whole._yes, whole._rows = whole._yes + yes, whole._rows + rows
            whole._gradient = whole._gradient + np.array(gradient, dtype=object)
            whole._gram = whole._gram + np.array(gram, dtype=object)
        return whole

    @property
    def max_bytes(self) -> int:
        """Of all sums as text."""
        return 32 * (len(self._columns) + 2) ** 2

    def result(self) -> LogisticSums:
        """The sums of a whole table."""
        self.finish()
        require_some(self._rows, self._study)
        gram = tuple(tuple(row) for row in self._gram.tolist())
        return LogisticSums((self._yes, 2 * self._rows - self._yes), tuple(self._gradient.tolist()), gram)
