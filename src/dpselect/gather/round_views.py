"""Private. Rows as the queries of a round see them, in NumPy: standardized cells, z, eta, residuals and clipped vectors.

Cells are standardized one by one: u = floor((line - center) * factor + .5), clamped, three single double operations that every
machine rounds alike. From there to the clipped vector numbers are exact or go through single operations again, one row by itself:
entries of a matrix are whole numbers of 2^-16, those of u of 2^-12, and `check_exact` has their sums below 2^53 units, so that
BLAS may add in any order; lengths are added up cell by cell; mean and weight come from a table that travels with the summary,
because another machine's exp may end in another digit. Clipped vectors are cut to whole numbers of at most 2^20. Where there was a
compiler, the loops of `rounds` do the same in one pass, to the last integer.

Survey weights: a row with the share s = min(w/W, 1) adds s to counts, s g to a gradient and s zz' to a Gram, so that sums are those
of the population over W; the sandwich is that of s g. Shares are whole numbers of 2^-20, of 2^-10 in counts (`lemmas.sampling`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.rounds import COUNT_BITS, clip_bits, squared_radius, vector_width
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
    yes_variance,
)
from dpselect.assume.study import Study
from dpselect.assume.variables import GRID, MAX_COUNT, Binary, Count
from dpselect.errors import StudyError
from dpselect.gather.grid import MAX_CHUNK_ROWS, Floats

RESPONSE_COLUMN = -1
"""In the place of a column: the response."""
ETA_STEPS = 256
"""Of a table of means, in one unit of eta; between them it is a straight line, off by less than 2e-6 of its value."""
MAX_ALONE, MIN_PIECE = 2**18, 64
"""Multiplications up to which OpenBLAS starts no threads; and the fewest rows that are worth a call."""

Integers = NDArray[np.int64]
Tables = Mapping[FamilyName, tuple[Floats, Floats]]
"""Public. By family: the mean, and the root of the weight, at every step of eta."""


def mean_table(family: FamilyName) -> tuple[Floats, Floats]:
    """The family's mean, and the root of its weight, at each step of eta from -MAX_ETA to MAX_ETA."""
    eta = np.arange(-MAX_ETA * ETA_STEPS, MAX_ETA * ETA_STEPS + 1) / ETA_STEPS
    if family == "poisson":
        return np.exp(eta), np.exp(eta / 2)
    if family == "binomial":
        chance = 1 / (1 + np.exp(-eta))
        return chance, np.sqrt(yes_variance(chance))
    raise StudyError(f"The family {family!r} has no table of means; this is a fault of the program.")


class Views:
    """Private. What several queries see of the same rows, made once: standardized cells, z, eta and the residuals."""

    def __init__(self, study: Study, queries: Sequence[Query], tables: Tables | None = None) -> None:
        # In a study without limits the lines have no intercept.
        self._skipped = 1 if study.unbounded and not study.columns[0].factors else 0
        self._binary = isinstance(study.response, Binary)
        self._limit = study.response.upper if study.response.bounded else None
        sums = [query for query in queries if not isinstance(query, Rows | Histograms)]
        for query in sums:
            check_exact(query, study)
        families = {query.family for query in sums} - {"gaussian"}
        self.tables = {family: mean_table(family) for family in families} if tables is None else tables
        # Fractions, which take their time: once a summary and not once a chunk.
        self._steps = {
            _extent(each): 2.0 ** clip_bits(squared_radius(each)) for each in sums if not isinstance(each, Norms)
        }
        self._made: list[tuple[Any, ...]] = []
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
        return {**self.__dict__, **rows, "_free": [], "_used": []}

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


def _multiply(matrix: Floats, lines: Floats, out: Floats) -> None:
    """The product, by pieces of rows that are too few for threads of linear algebra.

    All cores read and add up already. Threads beside them would wait for one another: a pass took 20 times as long.
    """
    step = max(MAX_ALONE // matrix.size, MIN_PIECE)
    for start in range(0, lines.shape[1], step):
        np.matmul(matrix, lines[:, start : start + step], out=out[:, start : start + step])


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
