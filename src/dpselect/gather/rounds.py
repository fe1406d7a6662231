"""Private. The answers to the queries of a round, as exact whole numbers: the same from every engine, chunking and order.

What a row adds is made in `round_views`, in NumPy, and here it is added up: one class for each kind of answer. Compiled loops
(`_rounds.c`) do both for all queries of an ask in one pass over a chunk, to the same integers. Where there was no compiler NumPy
serves, and always for clusters and wide matrices; Spark's workers get no compiled files either.

Clusters: a row's clipped vector is added to that of its cluster, and what the clusters come to is clipped in the end. So all rows
of a cluster are added to one summary, as all rows of a person are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.rounds import clip_bits, squared_cluster_radius, squared_radius, vector_width
from dpselect.assume.lemmas.sampling import SHARE_STEP_BITS
from dpselect.assume.queries import (
    STANDARD_BITS,
    ClusterNorms,
    FamilyName,
    Gradient,
    Gram,
    Histograms,
    Norms,
    Query,
    Row,
    Rows,
    Sandwich,
    Standard,
    column_kinds,
)
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary
from dpselect.errors import StudyError
from dpselect.gather.dealing import Names, study_shares
from dpselect.gather.grid import MAX_CHUNK_ROWS, Chunk, Floats, compiled_function
from dpselect.gather.persons import PersonRows
from dpselect.gather.round_views import RESPONSE_COLUMN, Integers, Tables, Views
from dpselect.gather.summary import Summary, require_some

_add_sums = compiled_function("_rounds", "add_sums")
_add_bins = compiled_function("_rounds", "add_bins")
"""Private. None where there was no compiler."""

MAX_LANES = 8
"""Rows that the loops may take side by side; they take fewer where the processor has no room for so many."""
MAX_COMPILED_COLUMNS = 256
"""Of a matrix: what is made of wider ones leaves the cache, and is left to linear algebra."""
MIN_EVEN_EDGES = 8
"""From so many edges on a guess is faster than a search."""
QUERY_KINDS = {Gram: 0, Gradient: 1, Sandwich: 2, Norms: 3}
"""What is added up, as `_rounds_ask.h` numbers it."""
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


class CompiledSums:
    """Private. What the queries of an ask add up by compiled loops: all but counts, and clusters, whose rows have to meet first."""

    def __init__(self, queries: Sequence[Query], tables: Tables) -> None:
        self._looks: dict[tuple[FamilyName, Standard], _Look] = {}
        for place, query in enumerate(queries):
            if isinstance(query, Gram | Gradient | Sandwich | Norms) and _fits(query):
                about = query.family, query.standard
                if about not in self._looks:
                    self._looks[about] = _Look(*about, tables)
                self._looks[about].put(place, query)

    def __repr__(self) -> str:
        return "CompiledSums(values=<private>)"

    def of(self, rows: Views) -> dict[int, Integers]:
        """The sums of the rows that `Views` looks at, by the place of their query; none where there are no loops."""
        made: dict[int, Integers] = {}
        for look in self._looks.values() if _add_sums is not None else ():
            made |= look.sums(rows)
        return made


def _fits(query: Gram | Gradient | Sandwich | Norms) -> bool:
    if isinstance(query, Sandwich) and query.cluster_radius is not None:
        return False
    return len(query.matrix[0]) <= MAX_COMPILED_COLUMNS


class _Look:
    """Private. The queries of one family and standard: their rows are standardized once."""

    def __init__(self, family: FamilyName, standard: Standard, tables: Tables) -> None:
        self._family, self._standard = family, standard
        self._centers = np.array([*standard.centers, standard.response_center])
        self._factors = np.array([*standard.factors, standard.response_factor])
        self._tables = (None, None) if family == "gaussian" else tables[family]
        self._arrays: dict[tuple[Row, ...] | Row, Floats] = {}
        self._asked: list[tuple[int, int, tuple[Any, ...]]] = []

    def put(self, place: int, query: Gram | Gradient | Sandwich | Norms) -> None:
        """The query at a place of the ask, as the loops take it but for where its sums go: see `take_question` in `_rounds.c`."""
        edges, width, balanced, halves = np.zeros(0), 0, False, False
        radius, steps, top, scale = 0.0, 1.0, -1.0, 0.0
        if isinstance(query, Norms):
            edges, halves = np.array(query.edges), query.halves == "response"
            size = query.lines * len(query.edges)
        else:
            radius, steps, width = query.radius, 2.0 ** clip_bits(squared_radius(query)), vector_width(query)
            size = width if isinstance(query, Gradient) else width**2
        if isinstance(query, Gram) and query.response_top is not None:
            top, scale = query.response_top, query.response_scale
        if isinstance(query, Gradient):
            balanced = query.balanced
        matrix, center = self._array(query.matrix), None if query.center is None else self._array(query.center)
        question = (QUERY_KINDS[type(query)], matrix, center, radius, steps, balanced, top, scale, edges, halves)
        self._asked.append((place, size, question))

    def _array(self, numbers: tuple[Row, ...] | Row) -> Floats:
        """Of equal numbers the same array: by it the loops know what they have made already."""
        return self._arrays.setdefault(numbers, np.array(numbers) * 2.0**-STANDARD_BITS)

    def sums(self, rows: Views) -> dict[int, Integers]:
        """What all of them add up of some rows."""
        assert _add_sums is not None
        made = [np.zeros(size, dtype=np.int64) for _, size, _ in self._asked]
        response = None if self._family == "gaussian" else rows.response(self._family, self._standard)
        _add_sums(
            rows.lines,
            rows.places([*self._standard.columns, RESPONSE_COLUMN]),
            self._centers,
            self._factors,
            self._standard.intercept,
            response,
            rows.shares,
            *self._tables,
            tuple((*question, own) for (_, _, question), own in zip(self._asked, made, strict=True)),
            MAX_LANES,
        )
        return {place: own for (place, _, _), own in zip(self._asked, made, strict=True)}


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


class Bins:
    """Public. The edges that part some lines into bins, as they are searched for each number."""

    def __init__(self, edges: Sequence[Floats]) -> None:
        # Behind the last edge stands one that no number reaches, so that each line has as many edges as bins.
        self._edges = [np.append(each, math.nan) for each in edges]
        self._starts = np.cumsum([0, *map(len, self._edges)])
        spacing = np.array([_spacing(each) for each in edges]).reshape(-1, 2)
        self._firsts, self._inverses = np.ascontiguousarray(spacing.T)
        self._all = np.concatenate([np.zeros(0), *self._edges])

    def count(self, lines: Floats, places: Integers, weights: Floats | None) -> Integers:
        """How many numbers of each line lie in which of its bins; with weights, which are whole numbers, their sums."""
        if _add_bins is not None:
            sums = np.zeros(len(self._all), dtype=np.int64)
            edges = self._all, self._starts, self._firsts, self._inverses
            _add_bins(lines, places, *edges, weights, sums, MAX_LANES)
            return sums
        made = [np.zeros(0, dtype=np.int64)]
        for place, own, first, inverse in zip(places, self._edges, self._firsts, self._inverses, strict=True):
            found = _places(lines[place], own, first, inverse)
            counts = np.bincount(found, weights=weights, minlength=len(own))
            made.append(counts.astype(np.int64))  # exact: below 2^53
        return np.concatenate(made)


def _spacing(edges: Floats) -> tuple[float, float]:
    """The first of even edges, and one over their distance; zeros, if they are not even or too few for a guess."""
    count = len(edges)
    width = float(edges[-1] - edges[0]) / (count - 1) if count > MIN_EVEN_EDGES else 0.0
    if not 0 < width < math.inf or np.abs(edges - (edges[0] + width * np.arange(count))).max() > width / 8:
        return 0.0, 0.0
    return (float(edges[0]), 1 / width) if 1 / width < math.inf else (0.0, 0.0)


def _places(line: Floats, edges: Floats, first: float, inverse: float) -> NDArray[np.intp]:
    """How many edges are at or below each number: the same as a search, and three times as fast where edges are evenly spaced."""
    count = len(edges) - 1
    if not inverse:
        return np.searchsorted(edges[:count], line, side="right")
    # Even edges stand within an eighth of their distance of where they should be: so three quarters of a step further on is the
    # right place or the one before it, and one comparison tells, whatever was rounded.
    guess: NDArray[np.intp] = np.clip((line - first) * inverse + 0.75, 0, count).astype(np.intp)
    guess += line >= edges[guess]
    return guess


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
