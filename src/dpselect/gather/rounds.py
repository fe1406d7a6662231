"""Private. The answers to the queries of a round, as exact whole numbers: the same from every engine, chunking and order.

What a row adds is made in `round_views`, by compiled loops where there are any (`round_loops`); here it is added up, one class for
each kind of answer.

Clusters: a row's clipped vector is added to that of its cluster, and what the clusters come to is clipped in the end. So all rows
of a cluster are added to one summary, as all rows of a person are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.rounds import clip_bits, squared_cluster_radius, squared_radius, vector_width
from dpselect.assume.lemmas.sampling import SHARE_STEP_BITS
from dpselect.assume.queries import (
    ClusterNorms,
    Gradient,
    Gram,
    Histograms,
    Norms,
    Query,
    Rows,
    Sandwich,
    column_kinds,
)
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary
from dpselect.errors import StudyError
from dpselect.gather.dealing import Names, study_shares
from dpselect.gather.grid import MAX_CHUNK_ROWS, Chunk, Floats
from dpselect.gather.persons import PersonRows
from dpselect.gather.round_loops import Bins, CompiledSums
from dpselect.gather.round_views import RESPONSE_COLUMN, Integers, Tables, Views
from dpselect.gather.summary import Summary, require_some

MAX_WAITING_CHUNKS = 512
"""Sums of products of a chunk are at most 2^53: so many of them fit in 64 bits."""

Sums = tuple[tuple[int, ...], ...]
"""Private. The exact answer to each query, a flat list of whole numbers; of a matrix all cells, row by row."""


class RoundSummary(Summary[Sums]):
    """Private. Answers all queries of one ask in one pass.

    Rows that the study's policy leaves out add nothing, and neither do those whose response of no and yes is missing: which rows
    these are is decided by each of them alone. Of each person at most k rows count (`gather/persons.py`), and nobody is filled up.
    """

    def __init__(self, study: Study, queries: Sequence[Query], tables: Tables | None = None) -> None:
        self._study, self._queries = study, tuple(queries)
        self._clustered = any(map(is_of_clusters, self._queries))
        if self._clustered and study.together is None:
            raise StudyError("A round asks about clusters, and none are stated; this is a fault of the program.")
        self.rows_together = self._clustered or study.person is not None
        self._names = Names()
        self._views = Views(study, self._queries, tables)
        self._loops: CompiledSums | None = None  # made with the first rows: what is sent to workers is small
        self._answers = [_answer(query, study) for query in self._queries]
        self._rows = 0
        self._persons: PersonRows | None = None

    def __repr__(self) -> str:
        return f"RoundSummary(queries={len(self._queries)}, values=<private>)"

    def empty(self) -> RoundSummary:
        """One of no rows, for the same queries and with the same tables."""
        return RoundSummary(self._study, self._queries, self._views.tables)

    def add(self, chunk: Chunk) -> None:
        """Add some rows."""
        lines, order = chunk.lines, chunk.order
        counts = [] if chunk.left_out is None else [~chunk.left_out]
        if isinstance(self._study.response, Binary):
            counts.append(lines[order[-1]] != 0)
        self._rows += chunk.count
        shares = None
        if self._study.weights is not None:
            shares = study_shares(chunk.cells, self._study, SHARE_STEP_BITS)
            counts.append(shares > 0)
        counted = np.logical_and.reduce(counts) if counts else None
        if counted is None or counted.all():
            counted = slice(None)
        else:
            lines = np.compress(counted, lines, axis=1)
            shares = None if shares is None else shares[counted]
        person, cluster = self._study.person, self._study.cluster
        clusters = None if cluster in (None, person) else self._names.numbers(chunk.cells[cluster][counted])
        if person is None:
            self._add(lines, order, shares, clusters)
            return
        # One more line, which persons keep with their rows: the share in whole numbers of 2^-20.
        kept = lines[order] if shares is None else np.vstack([lines[order], shares])
        self._persons = self._persons or PersonRows(self._study)
        self._persons.add_rows(kept, chunk.cells[person][counted], clusters)

    def _add(self, lines: Floats, order: Integers, shares: Floats | None, clusters: Integers | None) -> None:
        with np.errstate(all="ignore"):  # whatever the program has set: no exception may depend on a cell
            parts = None if shares is None else shares * 2.0**-SHARE_STEP_BITS
            self._views.look(lines, parts, clusters, order)
            self._loops = self._loops or CompiledSums(self._queries, self._views.tables)
            sums = self._loops.of(self._views)
            for place, (query, answer) in enumerate(zip(self._queries, self._answers, strict=True)):
                if place in sums:
                    answer.add_sums(sums[place])
                else:
                    answer.add(query, self._views)

    def finish(self) -> None:
        """Add up the rows of persons, and what clusters have come to: there will be no other rows of any of them."""
        if self._persons is not None:
            rows, clusters, self._persons = self._persons.rows(), self._persons.clusters(), None
            for start in range(0, len(rows), MAX_CHUNK_ROWS):
                some = slice(start, start + MAX_CHUNK_ROWS)
                lines = np.ascontiguousarray(rows[some].T, dtype=np.float64)
                shares = None if self._study.weights is None else lines[-1]
                order = np.arange(len(lines) - (shares is not None))
                self._add(lines, order, shares, clusters[some])
        for query, answer in zip(self._queries, self._answers, strict=True):
            answer.close(query)
        self._names = Names()

    def merge(self, other: RoundSummary) -> RoundSummary:
        """The sums of the rows of both."""
        self.finish()
        other.finish()
        self._rows += other._rows
        for mine, others in zip(self._answers, other._answers, strict=True):
            mine.put(others.numbers())
        return self

    def to_bytes(self) -> Iterator[bytes]:
        """All sums as one text."""
        self.finish()
        yield json.dumps([self._rows, [answer.numbers() for answer in self._answers]]).encode()

    def from_bytes(self, pieces: Iterable[bytes]) -> RoundSummary:
        """The sums of all workers."""
        whole = self.empty()
        for piece in pieces:
            rows, answers = json.loads(piece)
            whole._rows += rows
            for mine, numbers in zip(whole._answers, answers, strict=True):
                mine.put(numbers)
        return whole

    @property
    def max_bytes(self) -> int:
        """Of all sums as text."""
        return 32 + sum(26 * answer.size for answer in self._answers)

    def result(self) -> Sums:
        """The sums of a whole table."""
        self.finish()
        require_some(self._rows, self._study)
        return tuple(tuple(answer.numbers()) for answer in self._answers)


def is_of_clusters(query: Query) -> bool:
    """Whether a query asks about clusters."""
    return isinstance(query, ClusterNorms) or (isinstance(query, Sandwich) and query.cluster_radius is not None)


def _cluster_answer(query: Any) -> _Clusters:
    width = vector_width(query)
    if isinstance(query, ClusterNorms):
        return _ClusterLengths(len(query.edges), width)
    return _ClusterProducts(width**2, width)


def _answer(query: Query, study: Study) -> _Counts:
    if is_of_clusters(query):
        return _cluster_answer(query)
    if isinstance(query, Rows):
        return _RowCount(1)
    if isinstance(query, Histograms):
        return _Bins(query, study)
    if isinstance(query, Norms):
        return _Lengths(query.lines * len(query.edges))
    if isinstance(query, Gradient):
        return _Vector(vector_width(query))
    return _Products(vector_width(query) ** 2)


class _Counts:
    """Private. Whole numbers that rows add to, as one flat list."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._whole: NDArray[np.object_] = np.zeros(size, dtype=object)
        self._waiting, self._chunks = np.zeros(size, dtype=np.int64), 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}(values=<private>)"

    def add(self, query: Any, rows: Views) -> None:
        """Add some rows."""
        self.add_sums(self.of(query, rows))

    def add_sums(self, sums: Integers) -> None:
        """Add the sums of at most MAX_CHUNK_ROWS rows, so that each number is at most 2^53."""
        self._waiting += sums
        self._chunks += 1
        if self._chunks >= MAX_WAITING_CHUNKS:
            self.numbers()

    def of(self, query: Any, rows: Views) -> Integers:
        """The sums of some rows."""
        raise NotImplementedError

    def close(self, query: Any) -> None:
        """Add what waits for the last row of its cluster."""

    def put(self, numbers: Sequence[int]) -> None:
        """Add what others added up."""
        self._whole = self._whole + np.array(numbers, dtype=object)

    def numbers(self) -> list[int]:
        """All of them."""
        self._whole = self._whole + self._waiting.astype(object)
        self._waiting, self._chunks = np.zeros(self.size, dtype=np.int64), 0
        return [int(each) for each in self._whole]


class _RowCount(_Counts):
    def of(self, query: Rows, rows: Views) -> Integers:
        return np.array([rows.count()])


class _Bins(_Counts):
    """Private. The bins of each number in turn, the ones of each dummy, and the response last."""

    def __init__(self, query: Histograms, study: Study) -> None:
        kinds = column_kinds(study, query.columns)
        if len(query.edges) != len(kinds):
            raise StudyError("A first look has edges for each of its columns; this is a fault of the program.")
        edges = [np.array(own) if kind == "number" else None for own, kind in zip(query.edges, kinds, strict=True)]
        places, self._yes = list(query.columns), isinstance(study.response, Binary)
        # The response as it is meant: a line of its own, unless it is one of no and yes, or of counts.
        self._counts = Bins([np.array(query.response_edges)]) if query.family == "poisson" and not self._yes else None
        if not self._yes and query.response_edges and self._counts is None:
            edges.append(np.array(query.response_edges))
            places.append(RESPONSE_COLUMN)
        starts = np.cumsum([0, *(1 if own is None else len(own) + 1 for own in edges)])
        self._lines = [place for place, own in zip(places, edges, strict=True) if own is not None]
        self._dummies = [(at, place) for at, place, own in zip(starts[:-1], places, edges, strict=True) if own is None]
        self._bins = Bins([own for own in edges if own is not None])
        self._binned = np.setdiff1d(np.arange(starts[-1]), [at for at, _ in self._dummies])
        self._end = int(starts[-1])
        of_counts = len(query.response_edges) + 1 if self._counts is not None and query.response_edges else 0
        super().__init__(self._end + of_counts + self._yes)

    def of(self, query: Histograms, rows: Views) -> Integers:
        made = np.zeros(self.size, dtype=np.int64)
        made[self._binned] = self._bins.count(rows.lines, rows.places(self._lines), rows.count_steps())
        for at, place in self._dummies:
            made[at] = rows.count(rows.column(place) > 0)
        if self._yes:
            made[self._end] = rows.count(rows.yes())
        elif self._end < self.size:
            assert self._counts is not None
            made[self._end :] = self._counts.count(rows.counts()[None], np.zeros(1, dtype=np.int64), rows.count_steps())
        return made


class _Lengths(_Counts):
    def of(self, query: Norms, rows: Views) -> Integers:
        bins = len(query.edges)
        places = np.maximum(np.searchsorted(np.array(query.edges), rows.norms(query), side="right") - 1, 0)
        if query.halves == "response":
            places = places + bins * rows.yes()
        made = np.bincount(places, weights=rows.count_steps(), minlength=query.lines * bins)
        return made.astype(np.int64)  # exact: below 2^53


class _Vector(_Counts):
    def of(self, query: Gradient, rows: Views) -> Integers:
        return np.asarray(rows.gradient(query).sum(axis=1)).astype(np.int64)


class _Products(_Counts):
    def of(self, query: Gram | Sandwich, rows: Views) -> Integers:
        vectors = rows.clipped(query) if isinstance(query, Gram) else rows.gradient(query)
        return np.asarray(vectors @ vectors.T).astype(np.int64).ravel()


class _Clusters(_Counts):
    """Private. What the rows of each cluster add up to, by its number, until it is closed: exact, below 2^53."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__(size)
        self._width = width
        self._sums, self._some = np.zeros((width, 0)), np.zeros(0, dtype=bool)

    def add(self, query: Sandwich | ClusterNorms, rows: Views) -> None:
        clusters = rows.clusters
        assert clusters is not None
        if not clusters.size:
            return
        if missing := max(int(clusters.max()) + 1 - self._some.size, 0):
            room = max(missing, self._some.size)  # doubled, so that many clusters are not copied for each chunk
            self._sums = np.pad(self._sums, ((0, 0), (0, room)))
            self._some = np.pad(self._some, (0, room))
        for place, line in enumerate(rows.gradient(query)):
            self._sums[place] += np.bincount(clusters, weights=line, minlength=self._some.size)
        self._some[clusters] = True

    def close(self, query: Sandwich | ClusterNorms) -> None:
        sums = self._sums[:, self._some]
        self._sums, self._some = np.zeros((self._width, 0)), np.zeros(0, dtype=bool)
        for start in range(0, sums.shape[1], MAX_CHUNK_ROWS):
            self._waiting += self.of_sums(query, sums[:, start : start + MAX_CHUNK_ROWS])
            self.numbers()

    def of_sums(self, query: Any, sums: Floats) -> Integers:
        """What some clusters add: their sums, in whole numbers of the rows' vectors."""
        raise NotImplementedError


def _lengths(sums: Floats) -> Floats:
    # One by one, as the lengths of rows are.
    squares = np.zeros(sums.shape[1])
    for line in sums:
        squares += line * line
    return np.asarray(np.sqrt(squares))


class _ClusterLengths(_Clusters):
    def of_sums(self, query: ClusterNorms, sums: Floats) -> Integers:
        lengths = _lengths(sums) * 2.0 ** -clip_bits(squared_radius(query))
        places = np.maximum(np.searchsorted(np.array(query.edges), lengths, side="right") - 1, 0)
        return np.bincount(places, minlength=len(query.edges)).astype(np.int64)


class _ClusterProducts(_Clusters):
    def of_sums(self, query: Sandwich, sums: Floats) -> Integers:
        assert query.cluster_radius is not None
        shift = 2.0 ** -clip_bits(squared_radius(query))
        lengths = _lengths(sums) * shift
        with np.errstate(all="ignore"):
            factor = np.minimum(1.0, query.cluster_radius / lengths) * shift
        vectors = np.trunc(sums * (factor * 2.0 ** clip_bits(squared_cluster_radius(query))))
        return np.asarray(vectors @ vectors.T).astype(np.int64).ravel()
