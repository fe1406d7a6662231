"""The noise of adaptive rounds: each answer's draw, and the public record of all that was released, in order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpselect.assume.lemmas.rounds import (
    COUNT_BITS,
    PRODUCT_SHIFT,
    ROUNDING_MARGIN,
    ROUNDING_VARIANCE,
    discrete_deviation,
    largest_mu,
    query_sensitivity,
    release_bits,
)
from dpselect.assume.queries import ClusterNorms, Gradient, Gram, Noisy, Norms, Query, Rows, Sandwich
from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.errors import StudyError
from dpselect.randomize.opendp_door import check_epsilon, clamped, integer_measurement, invoke, least_spread

ROOT_HALF = math.sqrt(0.5)


class Draw(Public, frozen=True, kw_only=False):
    """Whole numbers with discrete Gaussian noise of scale `spread`, its price `rho`, and the `sensitivity` it is for."""

    values: tuple[int, ...]
    spread: float
    sensitivity: int
    rho: float


class Answered(Public, frozen=True, kw_only=False):
    """A query, and its answer with discrete Gaussian noise, in whole numbers of 2^-release_bits.

    Of a matrix the upper triangle is released, row by row: its diagonal, and sqrt(2) times what is beside it, all with one noise.
    """

    query: Query
    draw: Draw

    def noisy(self) -> Noisy:
        """The answer in natural units; a matrix whole, its noise on the diagonal sqrt(2) times that beside."""
        scale = 2.0 ** -release_bits(self.query)
        sums = np.array(self.draw.values, dtype=np.float64) * scale
        if isinstance(self.query, Gram | Sandwich):
            width = (math.isqrt(8 * sums.size + 1) - 1) // 2
            whole = np.zeros((width, width))
            whole[np.triu_indices(width)] = sums
            beside = np.triu(whole, 1) * ROOT_HALF
            sums = np.diag(np.diag(whole)) + beside + beside.T
        elif isinstance(self.query, Norms):
            sums = sums.reshape(self.query.lines, -1)
        return Noisy(self.query, sums, self.draw.spread * scale)


class Rounds(Public, frozen=True, tag_field="kind", tag="rounds"):
    """All that was asked of the rows and answered with noise, ask by ask; `done` when the path has ended.

    `rows` is the number of rows where it is public, or stated; else the first ask is for their number. `mu` is what the whole price
    buys.

    Formal guarantee: all draws together are the outcome of one mechanism; their noise is worth at most the whole mu of the price,
    as squares of mu add up, however each query follows from the answers before it.
    """

    rows: int | None
    mu: float
    asks: tuple[tuple[Answered, ...], ...]
    done: bool = False

    @property
    def draws(self) -> tuple[Answered, ...]:
        """All answers, in order."""
        return tuple(each for ask in self.asks for each in ask)

    @property
    def noisy_rows(self) -> float:
        """About how many rows there are: as public, or from the first answer."""
        if self.rows is not None:
            return float(self.rows)
        first = self.asks[0][0] if self.asks else None
        return max(float(first.noisy().sums[0]), 1.0) if first and isinstance(first.query, Rows) else 1.0


def whole_mu(epsilon: float, delta: float) -> float:
    """The mu that (epsilon, delta) buys, to be divided among the draws by shares of its square."""
    check_epsilon(epsilon)
    if not 0 < delta < 0.5:
        raise StudyError("Rounds need a delta above 0 and below 0.5 (1e-6 is usual): their noise is Gaussian.")
    return largest_mu(epsilon * (1 - ROUNDING_MARGIN), delta * (1 - ROUNDING_MARGIN)) * (1 - 2.0**-30)


def noise_worth(sensitivity: int, mu: float) -> tuple[float, float]:
    """The scale of the least noise that is worth mu, and its rho: a variance of (sensitivity/mu)^2, and more for being whole.

    Why so much more: `composed_is_within`.
    """
    variance, start = (sensitivity / mu) ** 2, discrete_deviation(sensitivity, mu)
    return least_spread(
        "gaussian", sensitivity, start, lambda rho: sensitivity**2 / (2 * rho) - ROUNDING_VARIANCE >= variance
    )


def gaussian_draw(numbers: Sequence[int], sensitivity: int, mu: float) -> Draw:
    """Add the least noise that is worth mu."""
    spread, rho = noise_worth(sensitivity, mu)
    drawn = invoke(integer_measurement("gaussian", spread), clamped(numbers))
    return Draw(tuple(map(int, drawn)), spread, sensitivity, rho)


def add_noise(query: Query, sums: tuple[int, ...], study: Study, mu: float) -> Answered:
    """Answer a query from its exact sums, with the least noise that is worth mu."""
    return Answered(query, gaussian_draw(released_numbers(query, sums, study), query_sensitivity(query, study), mu))


def released_numbers(query: Query, sums: tuple[int, ...], study: Study) -> list[int]:
    """What noise is added to, in whole numbers of 2^-release_bits. Private."""
    if isinstance(query, Gram | Sandwich):
        width = math.isqrt(len(sums))
        return [
            sums[i * width + j] >> PRODUCT_SHIFT if i == j else times_root_two(sums[i * width + j])
            for i in range(width)
            for j in range(i, width)
        ]
    # Shares of weighted rows are added up in the units of their release, and so is a gradient; rows and clusters are counted.
    if isinstance(query, Gradient) or (study.weights is not None and not isinstance(query, ClusterNorms)):
        return list(sums)
    return [each << COUNT_BITS for each in sums]


def times_root_two(number: int) -> int:
    """The root of 2 times a sum of products without its last digits, rounded down: exact, by a whole root."""
    root = math.isqrt(2 * number * number >> (2 * PRODUCT_SHIFT))
    return root if number >= 0 else -root - 1  # below zero down is away from zero, and no multiple of the root is whole
