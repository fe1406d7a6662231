"""The noise of a few rounds of Newton's method: their shares of one price, and each round's draw. All public but the sums."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.gaussian_price import MARGIN, largest_mu
from dpselect.assume.lemmas.logistic import BITS, GRID_BITS
from dpselect.assume.records import Public
from dpselect.assume.variables import GRID
from dpselect.errors import StudyError
from dpselect.gather.logistic import LogisticSums
from dpselect.randomize.moment_noise import STEP, gaussian_measurement
from dpselect.randomize.opendp_door import check_epsilon, invoke

Floats = NDArray[np.float64]

LARGEST = 2**62


class Draw(Public, frozen=True, kw_only=False):
    """Whole numbers with discrete Gaussian noise of scale `spread`, its price `rho`, and the `sensitivity` it is for."""

    values: tuple[int, ...]
    spread: float
    sensitivity: int
    rho: float


class Round(Public, frozen=True, kw_only=False):
    """The noisy gradient and upper triangle of the weighted Gram at `center`, in whole numbers of 2^-20."""

    center: tuple[int, ...]
    gradient: Draw
    gram: Draw

    @property
    def at(self) -> Floats:
        """The coefficients at which it was evaluated."""
        return np.array(self.center) / GRID

    def sums(self) -> tuple[Floats, Floats]:
        """The gradient and the whole Gram, in units of the columns."""
        width = len(self.center)
        gram = np.zeros((width, width))
        gram[np.triu_indices(width)] = np.array(self.gram.values, dtype=np.float64) / 2**BITS
        return np.array(self.gradient.values, dtype=np.float64) / 2**BITS, gram + np.triu(gram, 1).T

    @property
    def deviations(self) -> tuple[float, float]:
        """Of the noise on a cell of each."""
        return self.gradient.spread / 2**BITS, self.gram.spread / 2**BITS


class OddsRounds(Public, frozen=True, tag_field="kind", tag="odds rounds"):
    """The noisy numbers of yes and no, and the rounds of Newton's method that started from them; as many as were drawn so far.

    Formal guarantee: all draws together are the outcome of one mechanism, at a price of the sum of their `rho`.
    """

    counts: Draw | None
    rounds: tuple[Round, ...]

    @property
    def rows(self) -> float:
        """About how many rows there are, from the noisy numbers of yes and no."""
        return 0.0 if self.counts is None else max(sum(self.counts.values) / 2, 0.0)


def whole_mu(epsilon: float, delta: float) -> float:
    """The mu that (epsilon, delta) buys, to be divided among the draws by shares of its square."""
    check_epsilon(epsilon)
    if not 0 < delta < 0.5:
        raise StudyError("Odds ratios need a delta above 0 and below 0.5 (1e-6 is usual): their noise is Gaussian.")
    return largest_mu(epsilon * (1 - MARGIN), delta * (1 - MARGIN)) * (1 - 2.0**-30)


def least_spread(sensitivity: int, mu: float) -> tuple[float, float]:
    """The scale of the least noise that is worth mu, and its rho: a variance of (sensitivity/mu)^2, and 16 for being whole.

    Why 16: `composed_is_within`.
    """
    spread = math.hypot(sensitivity / mu, 4.0)
    while True:
        rho = gaussian_measurement(spread).map(sensitivity)
        if sensitivity**2 / (2 * rho) - 16 >= (sensitivity / mu) ** 2:
            return spread, rho
        spread *= 1 + STEP


def gaussian_draw(numbers: Sequence[int], sensitivity: int, mu: float) -> Draw:
    """Add the least noise that is worth mu."""
    spread, rho = least_spread(sensitivity, mu)
    clamped = [max(-LARGEST, min(LARGEST, number)) for number in numbers]
    return Draw(tuple(int(value) for value in invoke(gaussian_measurement(spread), clamped)), spread, sensitivity, rho)


def rounded_gradient(sums: LogisticSums) -> list[int]:
    """The gradient in whole numbers of 2^-BITS. Private."""
    return [_rounded(each, 2 * GRID_BITS + 1 - BITS) for each in sums.gradient]


def rounded_gram(sums: LogisticSums) -> list[int]:
    """The upper triangle of the weighted Gram in whole numbers of 2^-BITS, row by row. Private."""
    width = len(sums.gradient)
    return [_rounded(sums.gram[i][j], 2 * GRID_BITS - BITS) for i in range(width) for j in range(i, width)]


def _rounded(number: int, shift: int) -> int:
    return (number + (1 << (shift - 1))) >> shift if shift > 0 else number << -shift
