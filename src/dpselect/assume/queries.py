"""Public. What the rounds of an estimate ask of the rows: sums of clipped vectors, each a record.

A round's path (`release.rounds`) makes queries from what was released before; `gather` answers them in whole numbers, `randomize`
adds the noise, and `assume.lemmas.rounds` has the sensitivity of each, which depends on the query alone. A query holds floats that
lie on public grids, so that whoever asks and whoever answers compute with the same numbers, and every engine with the same
integers: cells are standardized one by one, u = clamp(floor((line - center) * factor + .5)), and all sums after it are of whole
numbers below 2^53.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpselect.assume.records import Public

Floats = NDArray[np.float64]
FamilyName = Literal["gaussian", "binomial", "poisson"]
Row = tuple[float, ...]

STANDARD_BITS = 12
"""A standardized cell is a whole number of 2^-12 scales."""
MAX_STANDARD = 2**20
"""Cells more than 256 scales from their center are moved there."""
MATRIX_BITS = 16
"""Entries of a whitening are whole numbers of 2^-16, below 2^20."""
CENTER_BITS = 16
"""Coefficients at which a round is evaluated are whole numbers of 2^-16."""


def on_grid(values: ArrayLike, bits: int) -> Floats:
    """Floats moved to the nearest whole number of 2^-bits."""
    scaled: Floats = np.floor(np.asarray(values, dtype=np.float64) * 2.0**bits + 0.5) * 2.0**-bits
    return scaled


class Standard(Public, frozen=True, kw_only=True):
    """How a row becomes numbers near one: (1, u_1, .., u_d) of the study's columns `columns` (no intercept), and the response.

    `centers` and `factors` are in the units of the lines of a chunk (whole numbers of 2^-20 where limits are stated, else the cells
    themselves); a factor is 2^STANDARD_BITS over a scale. A response of counts or of no and yes is not standardized: it has the
    center 0 and the factor 1, and is 0, 1, 2, ...
    """

    columns: tuple[int, ...]
    centers: Row
    factors: Row
    response_center: float
    response_factor: float


class Histograms(Public, frozen=True, kw_only=True):
    """How many rows lie where: the first look, before anything is known of scales.

    For each number among the columns (and the response of the gaussian family, last) `edges`, in the units of its line, part the
    line into len(edges) + 1 bins. Of a dummy that stands alone its ones are counted, of a category the rows of each of its columns,
    of a response of no and yes its yes. The answer has the bins of each in the order of `columns`, the response last.
    """

    columns: tuple[int, ...]
    edges: tuple[Row, ...]
    response_edges: Row
    family: FamilyName


class Gram(Public, frozen=True, kw_only=True):
    """The sum of zz' over rows, upper triangle: z = matrix' (1, u), times the root of the family's weight at `center`, if given.

    A row whose z is longer than `radius` is shortened to it. With `response_top` the vector is (z, response_scale * response) where
    the response is clipped at +-`response_top` and shortened by the factor of its z.
    """

    family: FamilyName
    standard: Standard
    matrix: tuple[Row, ...]
    radius: float
    center: Row | None = None
    response_top: float | None = None
    response_scale: float = 0.0


class Gradient(Public, frozen=True, kw_only=True):
    """The sum of g = z (response - mean at `center`) over rows, each shortened to `radius`; with `sandwich` that of gg' too."""

    family: FamilyName
    standard: Standard
    matrix: tuple[Row, ...]
    center: Row
    radius: float
    sandwich: bool = False


class Norms(Public, frozen=True, kw_only=True):
    """How many rows have a gradient of which length: bins from each edge to the next, the last without an end, in two halves.

    Halves are those of no and yes, or of residuals below and above zero.
    """

    family: FamilyName
    standard: Standard
    matrix: tuple[Row, ...]
    center: Row
    edges: Row
    halves: Literal["response", "residual"] = "residual"


Query = Histograms | Gram | Gradient | Norms


def rows_of(matrix: ArrayLike, bits: int = MATRIX_BITS) -> tuple[Row, ...]:
    """A matrix as a query holds it: on the grid, row by row."""
    table: Sequence[Sequence[float]] = on_grid(matrix, bits).tolist()
    return tuple(map(tuple, table))
