"""The noise of adaptive rounds: each answer's draw, and the public record of all that was released, in order."""

from __future__ import annotations

import math

import numpy as np

from dpselect.assume.lemmas.rounds import COUNT_BITS, PRODUCT_SHIFT, query_sensitivity, release_bits
from dpselect.assume.queries import Gradient, Gram, Noisy, Norms, Query, Rows, Sandwich
from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.randomize.logistic_noise import Draw, gaussian_draw

ROOT_HALF = math.sqrt(0.5)


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
            sums = sums.reshape(2, -1)
        return Noisy(self.query, sums, self.draw.spread * scale)


class Rounds(Public, frozen=True, tag_field="kind", tag="rounds"):
    """All that was asked of the rows and answered with noise, ask by ask; `done` when the path has ended.

    `rows` is the number of rows where it is public, or stated; else the first ask is for their number. Formal guarantee: all
    draws together are the outcome of one mechanism; their noise is worth at most the whole mu of the price, as squares of mu add
    up, however each query follows from the answers before it.
    """

    rows: int | None
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


def add_noise(query: Query, sums: tuple[int, ...], study: Study, mu: float) -> Answered:
    """Answer a query from its exact sums, with the least noise that is worth mu."""
    return Answered(query, gaussian_draw(released_numbers(query, sums), query_sensitivity(query, study), mu))


def released_numbers(query: Query, sums: tuple[int, ...]) -> list[int]:
    """What noise is added to, in whole numbers of 2^-release_bits. Private."""
    if isinstance(query, Gram | Sandwich):
        width = math.isqrt(len(sums))
        return [
            sums[i * width + j] >> PRODUCT_SHIFT if i == j else times_root_two(sums[i * width + j])
            for i in range(width)
            for j in range(i, width)
        ]
    if isinstance(query, Gradient):
        return list(sums)  # in the units of their release already
    return [each << COUNT_BITS for each in sums]


def times_root_two(number: int) -> int:
    """The root of 2 times a sum of products without its last digits, rounded down: exact, by a whole root."""
    root = math.isqrt(2 * number * number >> (2 * PRODUCT_SHIFT))
    return root if number >= 0 else -root - 1  # below zero down is away from zero, and no multiple of the root is whole
