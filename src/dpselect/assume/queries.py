"""Public. What the rounds of an estimate ask of the rows: sums of clipped vectors, each a record.

A round's path (`release.rounds`) makes queries from what was released before; `gather` answers them in whole numbers, `randomize`
adds the noise, and `assume.lemmas.rounds` has the sensitivity of each, which depends on the query alone. A query holds floats that
lie on public grids, so that whoever asks and whoever answers compute with the same numbers, and every engine with the same
integers: cells are standardized one by one, u = clamp(floor((line - center) * factor + .5)), and all sums after it are of whole
numbers below 2^53.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary

Floats = NDArray[np.float64]
Number = TypeVar("Number", float, Floats)
FamilyName = Literal["gaussian", "binomial", "poisson"]
Row = tuple[float, ...]

STANDARD_BITS = 12
"""A standardized cell is a whole number of 2^-12 scales."""
MAX_STANDARD = 2**20
"""Cells more than 256 scales from their center are moved there."""
MATRIX_BITS = 16
"""Entries of a whitening are whole numbers of 2^-16."""
CENTER_BITS = 16
"""Coefficients at which a round is evaluated are whole numbers of 2^-16."""
MAX_COLUMN_SUM = 2.0**16
"""Of the sizes of a column of a whitening, and of a center: times a cell, whole numbers stay below 2^53. `rows_of` sees to it."""
MAX_ETA = 16.0
"""Means and weights of the binomial and poisson families are those at +-16 beyond it."""


def on_grid(values: ArrayLike, bits: int) -> Floats:
    """Floats moved to the nearest whole number of 2^-bits."""
    scaled: Floats = np.floor(np.asarray(values, dtype=np.float64) * 2.0**bits + 0.5) * 2.0**-bits
    return scaled


def yes_variance(chance: Number) -> Number:
    """The variance of a zero or one that is one with this chance: the weight of the binomial family, and the square of a dummy."""
    return chance * (1 - chance)


ColumnKind = Literal["number", "dummy", "level"]


def column_kinds(study: Study, columns: Sequence[int]) -> tuple[ColumnKind, ...]:
    """What each column is: a number, a dummy that stands alone, or one of several levels of which a row has at most one.

    A dummy is 0 and 2^20 in its line, that of a `Binary` predictor -2^20 and 2^20. A product of dummies is a dummy, any other is a
    number. DataError if a column is named twice: as two levels its copies would pass for counts that cannot move together.
    """
    study.require_places(columns)
    chosen = [study.columns[place] for place in columns]
    answers = {variable.name for variable in study.predictors if isinstance(variable, Binary)}
    kinds: list[ColumnKind] = []
    for column in chosen:
        of_levels = all(factor.level is not None for factor in column.factors)
        # Levels of one term exclude each other, so a record moves two of their counts at most, however many there are.
        if of_levels and sum(other.term == column.term for other in chosen) > 1:
            kinds.append("level")
        elif of_levels or (len(column.factors) == 1 and column.factors[0].variable in answers):
            kinds.append("dummy")
        else:
            kinds.append("number")
    return tuple(kinds)


class Standard(Public, frozen=True, kw_only=True):
    """How a row becomes numbers near one: (1, u_1, .., u_d) of the study's columns `columns` (no intercept), and the response.

    `centers` and `factors` are in the units of the lines of a chunk (whole numbers of 2^-20 where limits are stated, else the cells
    themselves); a factor is 2^STANDARD_BITS over a scale. A response of the binomial family is 0 or 1, of the poisson family
    0, 1, 2, ..; these are not standardized, and have the center 0 and the factor 1. Without `intercept` a row is (u_1, .., u_d).
    """

    columns: tuple[int, ...]
    centers: Row
    factors: Row
    response_center: float
    response_factor: float
    intercept: bool = True

    @property
    def width(self) -> int:
        """Of a row."""
        return len(self.columns) + self.intercept


class Rows(Public, frozen=True, kw_only=True, tag_field="kind", tag="rows"):
    """How many rows there are, where that is private and not stated."""


class Histograms(Public, frozen=True, kw_only=True, tag_field="kind", tag="histograms"):
    """How many rows lie where: the first look, before anything is known of scales.

    For each number among `columns`, and for the response unless it is one of no and yes, `edges`, in the units of its line, part
    the line into len(edges) + 1 bins; an edge belongs to the bin above it. Edges of a response of the poisson family are in
    counts. Of a dummy that stands alone its ones are counted, of a category the rows of each of its columns; their edges are
    empty. Of a response of no and yes, whatever the family, its yes are counted. Another response without edges is not looked at.
    The answer has the bins of each in the order of `columns`, the response last.
    """

    columns: tuple[int, ...]
    edges: tuple[Row, ...]
    response_edges: Row
    family: FamilyName


class Gram(Public, frozen=True, kw_only=True, tag_field="kind", tag="gram"):
    """The sum of zz' over rows: z = matrix' (1, u), times the root of the family's weight at `center`, if given.

    A row whose z is longer than `radius` is shortened to it. With `response_top` the vector is (z, response_scale * response) where
    the response is clipped at +-`response_top` and shortened by the factor of its z. A center is in the coordinates of (1, u).
    """

    family: FamilyName
    standard: Standard
    matrix: tuple[Row, ...]
    radius: float
    center: Row | None = None
    response_top: float | None = None
    response_scale: float = 0.0


class Gradient(Public, frozen=True, kw_only=True, tag_field="kind", tag="gradient"):
    """The sum of g = z (response - mean at `center`) over rows, z = matrix' (1, u), each g shortened to `radius`.

    `balanced` is for a response of no and yes: g is shortened as if the row had given the less expected answer of the two. Then a
    row's g is zero on average where the center is right; else only the rows with that answer would be cut, and the sum would lean.
    """

    family: FamilyName
    standard: Standard
    matrix: tuple[Row, ...]
    center: Row
    radius: float
    balanced: bool = False


class Sandwich(Public, frozen=True, kw_only=True, tag_field="kind", tag="sandwich"):
    """The sum of gg' over rows, each g as in `Gradient`.

    With `cluster_radius` it is the sum of ss' over clusters (over persons, where no cluster is stated): s is the sum of the g of a
    cluster's rows, shortened to that radius.
    """

    family: FamilyName
    standard: Standard
    matrix: tuple[Row, ...]
    center: Row
    radius: float
    cluster_radius: float | None = None


class ClusterNorms(Public, frozen=True, kw_only=True, tag_field="kind", tag="cluster norms"):
    """How many clusters have a summed gradient of which length, each row's g as in `Gradient`: bins from each edge to the next.

    What is shorter than the first edge counts in the first bin, and the last has no end.
    """

    family: FamilyName
    standard: Standard
    matrix: tuple[Row, ...]
    center: Row
    radius: float
    edges: Row


class Norms(Public, frozen=True, kw_only=True, tag_field="kind", tag="norms"):
    """How many rows have a gradient of which length: bins from each edge to the next, the last without an end.

    What is shorter than the first edge counts in the first bin. With the halves of the `response` the answer has a line for the
    rows with no and one for those with yes, else a single line for all.
    """

    family: FamilyName
    standard: Standard
    matrix: tuple[Row, ...]
    center: Row
    edges: Row
    halves: Literal["response", "none"] = "none"

    @property
    def lines(self) -> int:
        """Of the answer."""
        return 2 if self.halves == "response" else 1


Query = Rows | Histograms | Gram | Gradient | Sandwich | Norms | ClusterNorms
Ask = tuple[tuple[Query, float], ...]
"""What is answered in one pass over the rows: queries, each with the mu that its noise is worth."""


@dataclass(frozen=True, slots=True)
class Noisy:
    """Public. The noisy answer to a query, in natural units: counts, a vector, or a whole symmetric matrix.

    `deviation` is that of the noise on each number; of a matrix E that on its diagonal, and 1/sqrt(2) of it beside, so that a'Ea
    has this deviation for every a of length 1. `query` is the one that was answered: whoever computes on takes its numbers, as
    another machine's own might differ in their last digits.
    """

    query: Query
    sums: Floats
    deviation: float


Answer = tuple[Noisy, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsPlan:
    """Public. All that a path of rounds knows before it asks: the price as one `mu`, and about how many `rows` there are.

    `columns` are the model's, the intercept among them if it has one. `level` is that of the intervals and `considered` the number
    of columns that the model was chosen from, if it was; no query depends on either.
    """

    study: Study
    columns: tuple[int, ...]
    family: FamilyName
    rows: float
    mu: float
    level: float = 0.95
    considered: int | None = None


def rows_of(matrix: ArrayLike, bits: int = MATRIX_BITS) -> tuple[Row, ...]:
    """A matrix as a query holds it: on the grid, row by row, its entries cut where their sum might leave what is exact."""
    entries = on_grid(matrix, bits)
    # Cut entry by entry and not by scaling the column: what is sane is untouched, and a cut entry is still on the grid.
    limit = np.floor(MAX_COLUMN_SUM / max(len(entries), 1))
    table: Sequence[Sequence[float]] = np.clip(entries, -limit, limit).tolist()
    return tuple(map(tuple, table))


def center_of(coefficients: ArrayLike) -> Row:
    """Coefficients as a query holds them."""
    column = np.reshape(np.asarray(coefficients, dtype=np.float64), (-1, 1))
    return tuple(row[0] for row in rows_of(column, CENTER_BITS))
