"""Private. The answers to the queries of a round, as exact whole numbers: the same from every engine, chunking and order.

Cells are standardized one by one: u = floor((line - center) * factor + .5), clamped, three single double operations that every
machine rounds alike. From there to the clipped vector numbers are exact or go through single operations again, one row by itself:
entries of a matrix are whole numbers of 2^-16, those of u of 2^-12, and `check_exact` has their sums below 2^53 units, so that
BLAS may add in any order; lengths are added up cell by cell; mean and weight come from a table that travels with the summary,
because another machine's exp may end in another digit. Clipped vectors are cut to whole numbers of at most 2^20. Compiled loops
(`_rounds.c`) do all of it in one pass where there was a compiler, NumPy here elsewhere and for clusters.

Survey weights: a row with the share s = min(w/W, 1) adds s to counts, s g to a gradient and s zz' to a Gram, so that sums are those
of the population over W; the sandwich is that of s g. Shares are whole numbers of 2^-20, of 2^-10 in counts (`lemmas.sampling`).

Clusters: a row's clipped vector is added to that of its cluster, and what the clusters come to is clipped in the end. So all rows
of a cluster are added to one summary, as all rows of a person are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.rounds import (
    COUNT_BITS,
    clip_bits,
    squared_cluster_radius,
    squared_radius,
    vector_width,
)
from dpselect.assume.lemmas.sampling import SHARE_STEP_BITS
from dpselect.assume.queries import (
    MATRIX_BITS,
    MAX_COLUMN_SUM,
    MAX_ETA,
    MAX_STANDARD,
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
    yes_variance,
)
from dpselect.assume.study import Study
from dpselect.assume.variables import GRID, MAX_COUNT, Binary, Count
from dpselect.errors import StudyError
from dpselect.gather.dealing import Names, study_shares
from dpselect.gather.grid import MAX_CHUNK_ROWS, Chunk, Floats, compiled_function
from dpselect.gather.persons import PersonRows
from dpselect.gather.summary import Summary, require_some

_add_sums = compiled_function("_rounds", "add_sums")
_add_bins = compiled_function("_rounds", "add_bins")
"""Private. The compiled twins of the sums below, where there was a compiler: all queries of an ask in one pass."""

MAX_LANES = 8
"""Rows that the loops may take side by side; they take fewer where the processor has no room for so many."""
MAX_COMPILED_COLUMNS = 256
"""Of a matrix: what is made of wider ones leaves the cache, and is left to linear algebra."""
MIN_EVEN_EDGES = 8
"""From so many edges on a guess is faster than a search."""
QUERY_KINDS = {Gram: 0, Gradient: 1, Sandwich: 2, Norms: 3}
"""What is added up, as `_rounds_ask.h` numbers it."""
RESPONSE_COLUMN = -1
"""In the place of a column: the response."""

ETA_STEPS = 256
"""Of a table of means, in one unit of eta; between them it is a straight line, off by less than 2e-6 of its value."""
MAX_WAITING_CHUNKS = 512
"""Sums of products of a chunk are at most 2^53: so many of them fit in 64 bits."""
MAX_ALONE, MIN_PIECE = 2**18, 64
"""Multiplications up to which OpenBLAS starts no threads; and the fewest rows that are worth a call."""

Integers = NDArray[np.int64]
Tables = Mapping[FamilyName, tuple[Floats, Floats]]
Sums = tuple[tuple[int, ...], ...]
"""Private. The exact answer to each query, a flat list of whole numbers; of a matrix all cells, row by row."""


def mean_table(family: FamilyName) -> tuple[Floats, Floats]:
    """The family's mean, and the root of its weight, at each step of eta from -MAX_ETA to MAX_ETA."""
    eta = np.arange(-MAX_ETA * ETA_STEPS, MAX_ETA * ETA_STEPS + 1) / ETA_STEPS
    if family == "poisson":
        return np.exp(eta), np.exp(eta / 2)
    if family == "binomial":
        chance = 1 / (1 + np.exp(-eta))
        return chance, np.sqrt(yes_variance(chance))
    raise StudyError(f"The family {family!r} has no table of means; this is a fault of the program.")


class RoundSummary(Summary[Sums]):
    """Private. Answers all queries of one ask in one pass.

    Rows that the study's policy leaves out add nothing, and neither do those whose response of no and yes is missing: which rows
    these are is decided by each of them alone. Of each person at most k rows count (`gather/persons.py`), and nobody is filled up.
    """

    def __init__(self, study: Study, queries: Sequence[Query]) -> None:
        self._study, self._queries = study, tuple(queries)
        self._clustered = any(map(is_of_clusters, self._queries))
        if self._clustered and study.together is None:
            raise StudyError("A round asks about clusters, and none are stated; this is a fault of the program.")
        self.rows_together = self._clustered or study.person is not None
        self._names = Names()
        self._views = Views(study, self._queries)
        self._answers = [_answer(query, study) for query in self._queries]
        self._rows = 0
        self._persons: PersonRows | None = None

    def __repr__(self) -> str:
        return f"RoundSummary(queries={len(self._queries)}, values=<private>)"

    def empty(self) -> RoundSummary:
        """One of no rows, for the same queries and with the same tables."""
        made = RoundSummary(self._study, self._queries)
        made._views.tables = self._views.tables
        return made

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
            for query, answer in zip(self._queries, self._answers, strict=True):
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


class Views:
    """Private. What several queries see of the same rows, made once: standardized cells, z, eta and the residuals."""

    def __init__(self, study: Study, queries: Sequence[Query]) -> None:
        # In a study without limits the lines have no intercept.
        self._skipped = 1 if study.unbounded and not study.columns[0].factors else 0
        self._binary = isinstance(study.response, Binary)
        self._limit = study.response.upper if study.response.bounded else None
        self.tables: dict[FamilyName, tuple[Floats, Floats]] = {}
        for query in queries:
            if not isinstance(query, Rows | Histograms):
                check_exact(query, study)
                if query.family != "gaussian":
                    self.tables.setdefault(query.family, mean_table(query.family))
        # Fractions, which take their time: once a summary and not once a chunk.
        self._steps = {
            _extent(each): 2.0 ** clip_bits(squared_radius(each))
            for each in queries
            if not isinstance(each, Rows | Histograms | Norms)
        }
        self._queries = queries
        self._made: list[tuple[Any, ...]] = []
        self._compiled: CompiledSums | None = None
        self._free: list[Floats] = []
        self._used: list[Floats] = []
        self.lines: Floats = np.zeros((0, 0))
        self._order: Integers = np.arange(0)
        self.shares: Floats | None = None
        self.clusters: Integers | None = None

    def __repr__(self) -> str:
        return "Views(values=<private>)"

    def __getstate__(self) -> dict[str, Any]:
        """Without the rows of the last look, and without what the next one makes again."""
        rows = {"_made": [], "lines": np.zeros((0, 0)), "shares": None, "clusters": None}
        return {**self.__dict__, **rows, "_compiled": None, "_free": [], "_used": []}

    def look(
        self,
        lines: Floats,
        shares: Floats | None = None,
        clusters: Integers | None = None,
        order: Integers | None = None,
    ) -> None:
        """Turn to other rows: a line for each column of the design, the response last.

        `shares` are how much each counts, if not one, and `clusters` the number of each one's cluster. `order` finds the lines,
        where they do not stand in this order.
        """
        self.lines, self.shares, self.clusters, self._made = lines, shares, clusters, []
        self._free, self._used = self._free + self._used, []
        self._order = np.arange(len(lines)) if order is None else order

    def sums(self, query: Query) -> Integers | None:
        """What a query adds up of these rows, if compiled loops do: those of all queries of the ask at once."""
        if self._compiled is None:
            self._compiled = _compiled_sums(self._queries, self.tables)
        if self._compiled is None:
            return None
        found: Integers | None = self._once(self._compiled.of, self).get(id(query))
        return found

    def places(self, columns: Sequence[int]) -> Integers:
        """Where the lines of some of the study's columns stand, and that of the response."""
        return self._order[[place if place == RESPONSE_COLUMN else place - self._skipped for place in columns]]

    def count(self, rows: NDArray[np.bool_] | None = None) -> int:
        """How many rows there are, all or those marked; with weights the sum of their shares, in whole numbers of 2^-10."""
        steps = self.count_steps()
        if steps is None:
            return self.lines.shape[1] if rows is None else int(np.count_nonzero(rows))
        return int(steps.sum() if rows is None else steps[rows].sum())

    def count_steps(self) -> Floats | None:
        """How much each row counts in counts, in whole numbers of 2^-10; None if all count as one."""
        return None if self.shares is None else self._once(self._count_steps)

    def _count_steps(self) -> Floats:
        assert self.shares is not None
        return np.asarray(np.floor(self.shares * 2.0**COUNT_BITS + 0.5))

    def _once(self, make: Any, *about: Any) -> Any:
        """What was made for these rows already, or is made now; the queries of an ask share most of it."""
        for known, asked, made in self._made:
            if known == make and all(one is two or one == two for one, two in zip(asked, about, strict=True)):
                return made
        made = make(*about)
        self._made.append((make, about, made))
        return made

    def column(self, place: int) -> Floats:
        """The line of one of the study's columns."""
        line: Floats = self.lines[self._order[place - self._skipped]]
        return line

    def response_line(self) -> Floats:
        """The line of the response."""
        line: Floats = self.lines[self._order[-1]]
        return line

    def yes(self) -> NDArray[np.bool_]:
        """Which rows have a response of yes."""
        return np.asarray(self.response_line() > 0)

    def counts(self) -> Floats:
        """A response of counts: whole numbers from 0 on."""
        # A limit of at most 2^20 leaves the steps of the grid finer than a count.
        line = self.response_line()
        line = line if self._limit is None else (line + GRID) * (self._limit / (2 * GRID))
        return np.asarray(np.clip(np.floor(line + 0.5), 0, MAX_COUNT))

    def response(self, family: FamilyName, standard: Standard) -> Floats:
        """Standardized, or 0 and 1, or a count."""
        return self._once(self._response, family, standard)  # type: ignore[no-any-return]

    def _response(self, family: FamilyName, standard: Standard) -> Floats:
        if family == "binomial":
            return self.yes().astype(np.float64)
        if family == "poisson":
            return self.counts()
        made = _standardized(self.response_line(), standard.response_center, standard.response_factor)
        return np.asarray(made * 2.0**-STANDARD_BITS)

    def _cells(self, standard: Standard) -> Floats:
        """A line for each cell of a standardized row, in whole numbers of 2^-12; the constant first if it has one."""
        made = self._room(standard.width)
        made[: standard.intercept] = 2.0**STANDARD_BITS
        places = self.places(standard.columns)
        own = zip(made[standard.intercept :], places, standard.centers, standard.factors, strict=True)
        for cells, place, center, factor in own:
            _standardized(self.lines[place], center, factor, out=cells)
        return made

    def _room(self, lines: int) -> Floats:
        """Memory for some lines of these rows, which other rows get after them: new memory costs more than what is done in it."""
        need = lines * self.lines.shape[1]
        found = next((own for own in self._free if own.size >= need), None)
        if found is None:
            found = np.empty(max(need, lines * MAX_CHUNK_ROWS))
        else:
            self._free = [own for own in self._free if own is not found]
        self._used.append(found)
        return found[:need].reshape(lines, -1) if need else np.empty((lines, self.lines.shape[1]))

    def z(self, standard: Standard, matrix: tuple[Row, ...]) -> tuple[Floats, Floats]:
        """The line of each coordinate of z, and the lengths of the rows. Sums are of whole numbers of 2^-28 below 2^24: exact."""
        return self._once(self._z, standard, matrix)  # type: ignore[no-any-return]

    def _z(self, standard: Standard, matrix: tuple[Row, ...]) -> tuple[Floats, Floats]:
        z = self._room(len(matrix[0]))
        _multiply(np.array(matrix).T * 2.0**-STANDARD_BITS, self._once(self._cells, standard), out=z)
        # One by one, in this order: a sum along an axis may be added up in another order elsewhere, and end in another digit.
        squares = np.zeros(z.shape[1])
        for line in z:
            squares += line * line
        return z, np.sqrt(squares)

    def eta(self, standard: Standard, center: Row) -> Floats:
        """The linear predictor: sums of whole numbers of 2^-28, exact."""
        return self._once(self._eta, standard, center)  # type: ignore[no-any-return]

    def _eta(self, standard: Standard, center: Row) -> Floats:
        made: Floats = (np.array(center) * 2.0**-STANDARD_BITS) @ self._once(self._cells, standard)
        return made

    def residual(self, query: Gradient | Sandwich | Norms) -> Floats:
        """The response less its mean."""
        return self._once(self._residual, query.family, query.standard, query.center)  # type: ignore[no-any-return]

    def _residual(self, family: FamilyName, standard: Standard, center: Row) -> Floats:
        eta = self.eta(standard, center)
        mean = eta if family == "gaussian" else _looked_up(self.tables[family][0], eta)
        return self.response(family, standard) - mean

    def root_weight(self, query: Gram) -> Floats | float:
        """The root of the family's weight."""
        if query.center is None or query.family == "gaussian":
            return 1.0
        return _looked_up(self.tables[query.family][1], self.eta(query.standard, query.center))

    def gradient(self, query: Gradient | Sandwich | ClusterNorms) -> Floats:
        """The clipped gradient of each row, in whole numbers: a line a coordinate."""
        place = query.family, query.standard, query.matrix, query.center, query.radius
        return self._once(self._gradient, *place, isinstance(query, Gradient) and query.balanced)  # type: ignore[no-any-return]

    def _gradient(
        self,
        family: FamilyName,
        standard: Standard,
        matrix: tuple[Row, ...],
        center: Row,
        radius: float,
        balanced: bool,
    ) -> Floats:
        asked = Gradient(family=family, standard=standard, matrix=matrix, center=center, radius=radius)
        (z, lengths), residual = self.z(standard, matrix), self.residual(asked)
        longest = np.abs(residual)
        if balanced:  # never shorter, so no gradient gets longer than the radius by it
            longest = np.maximum(longest, 1.0 - longest)
        factor = np.minimum(1.0, radius / (lengths * longest)) * residual
        if self.shares is not None:
            factor = factor * self.shares
        made = np.multiply(z, factor * self._steps[_extent(asked)], out=self._room(len(z)))
        return np.trunc(made, out=made)

    def norms(self, query: Norms) -> Floats:
        """How long the gradient of each row is."""
        return np.asarray(self.z(query.standard, query.matrix)[1] * np.abs(self.residual(query)))

    def clipped(self, query: Gram) -> Floats:
        """The clipped vector of each row, in whole numbers: a line a coordinate, the response last if it is there."""
        z, lengths = self.z(query.standard, query.matrix)
        root, scale = self.root_weight(query), self._steps[_extent(query)]
        factor = np.minimum(1.0, query.radius / (lengths * root)) * scale
        if self.shares is not None:
            factor = factor * np.sqrt(
                self.shares
            )  # of products the share itself; a root is the nearest double everywhere
        made = self._room(vector_width(query))
        np.multiply(z, factor * root, out=made[: len(z)])
        np.trunc(made[: len(z)], out=made[: len(z)])
        if query.response_top is not None:
            response = self.response(query.family, query.standard)
            shown = np.clip(response, -query.response_top, query.response_top)
            np.trunc(shown * query.response_scale * factor, out=made[-1])
        return made


class CompiledSums:
    """Private. What the queries of an ask add up by compiled loops: all but counts, and clusters, whose rows have to meet first."""

    def __init__(self, queries: Sequence[Query], tables: Tables) -> None:
        self._looks: dict[tuple[FamilyName, Standard], _Look] = {}
        for query in queries:
            if isinstance(query, Gram | Gradient | Sandwich | Norms) and _fits(query):
                place = query.family, query.standard
                if place not in self._looks:
                    self._looks[place] = _Look(*place, tables)
                self._looks[place].put(query)

    def __repr__(self) -> str:
        return "CompiledSums(values=<private>)"

    def of(self, rows: Views) -> dict[int, Integers]:
        """The sums of the rows that `Views` looks at, by the identity of their query."""
        made: dict[int, Integers] = {}
        for look in self._looks.values():
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

    def put(self, query: Gram | Gradient | Sandwich | Norms) -> None:
        """One more of them, as the loops take it but for where its sums go: see `take_question` in `_rounds.c`."""
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
        self._asked.append((id(query), size, question))

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
        return {query: own for (query, _, _), own in zip(self._asked, made, strict=True)}


def _compiled_sums(queries: Sequence[Query], tables: Tables) -> CompiledSums | None:
    """The loops for an ask, or None where they were not built."""
    return None if _add_sums is None else CompiledSums(queries, tables)


def _extent(query: Any) -> tuple[float, float | None, float]:
    """What decides how long a row's vector may be."""
    return query.radius, getattr(query, "response_top", None), getattr(query, "response_scale", 0.0)


def _standardized(line: Floats, center: float, factor: float, out: Floats | None = None) -> Floats:
    """Difference, product, sum and floor, each a double operation of its own, in this order."""
    made: Floats = np.subtract(line, center, out=out)
    np.multiply(made, factor, out=made)
    np.add(made, 0.5, out=made)
    np.floor(made, out=made)
    np.clip(made, -MAX_STANDARD, MAX_STANDARD, out=made)
    return made


def _looked_up(table: Floats, eta: Floats) -> Floats:
    """The value at eta, on a straight line between two steps of the table."""
    place = (np.clip(eta, -MAX_ETA, MAX_ETA) + MAX_ETA) * ETA_STEPS  # exact: a power of two
    step = np.minimum(place, 2 * MAX_ETA * ETA_STEPS - 1).astype(np.int64)
    low = table[step]
    return np.asarray(low + (table[step + 1] - low) * (place - step))


def check_exact(query: Gram | Gradient | Sandwich | Norms | ClusterNorms, study: Study) -> None:
    """Refuse a query whose numbers are not on their grids, or so large that sums of them would be rounded: all of it public."""
    standard, rows = query.standard, len(query.matrix)
    matrix = np.array(query.matrix, dtype=np.float64).reshape(rows, -1)
    center = np.zeros(rows) if query.center is None else np.array(query.center)
    shapes = rows == standard.width == len(center) and len(standard.centers) == len(standard.factors) == len(
        standard.columns
    )
    numbers = np.column_stack([matrix, center]) if rows == len(center) else matrix
    exact = np.isfinite(numbers).all() and not np.any(numbers * 2.0**MATRIX_BITS % 1)
    finite = np.isfinite(
        [*standard.centers, *standard.factors, standard.response_center, standard.response_factor]
    ).all()
    if not (shapes and finite and exact and np.abs(numbers).sum(axis=0).max() <= MAX_COLUMN_SUM):
        raise StudyError(
            "The numbers of a round's query do not fit each other or their grid; this is a fault of the program."
        )
    if query.family == "binomial" and not isinstance(study.response, Binary):
        raise StudyError(f"{study.response.name!r} is not a response of no and yes, so it has no odds.")
    if query.family == "poisson" and not isinstance(study.response, Count):
        raise StudyError(f"{study.response.name!r} is not a count, so it has no rates.")
    if isinstance(query, Gradient) and query.balanced and query.family != "binomial":
        raise StudyError("Gradients are balanced between no and yes alone; this is a fault of the program.")


class _Counts:
    """Private. Whole numbers that rows add to, as one flat list."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._whole: NDArray[np.object_] = np.zeros(size, dtype=object)
        self._waiting, self._chunks = np.zeros(size, dtype=np.int64), 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}(values=<private>)"

    def add(self, query: Any, rows: Views) -> None:
        """Add some rows: at most MAX_CHUNK_ROWS, so that each number is at most 2^53."""
        self._waiting += self.of(query, rows)
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


class _Sums(_Counts):
    """Private. Sums that compiled loops know, and NumPy where there are none."""

    def of(self, query: Any, rows: Views) -> Integers:
        made = rows.sums(query)
        return self.of_lines(query, rows) if made is None else made

    def of_lines(self, query: Any, rows: Views) -> Integers:
        """The sums of some rows, line by line."""
        raise NotImplementedError


class _Lengths(_Sums):
    def of_lines(self, query: Norms, rows: Views) -> Integers:
        bins = len(query.edges)
        places = np.maximum(np.searchsorted(np.array(query.edges), rows.norms(query), side="right") - 1, 0)
        if query.halves == "response":
            places = places + bins * rows.yes()
        made = np.bincount(places, weights=rows.count_steps(), minlength=query.lines * bins)
        return made.astype(np.int64)  # exact: below 2^53


class _Vector(_Sums):
    def of_lines(self, query: Gradient, rows: Views) -> Integers:
        return np.asarray(rows.gradient(query).sum(axis=1)).astype(np.int64)


class _Products(_Sums):
    def of_lines(self, query: Gram | Sandwich, rows: Views) -> Integers:
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


def _multiply(matrix: Floats, lines: Floats, out: Floats) -> None:
    """The product, by pieces of rows that are too few for threads of linear algebra.

    All cores read and add up already. Threads beside them would wait for one another: a pass took 20 times as long.
    """
    step = max(MAX_ALONE // matrix.size, MIN_PIECE)
    for start in range(0, lines.shape[1], step):
        np.matmul(matrix, lines[:, start : start + step], out=out[:, start : start + step])


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
