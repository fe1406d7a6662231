"""The noise of a few rounds of Newton's method: their shares of one price, and each round's draw. All public but the sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpselect.assume.lemmas.gaussian_price import MARGIN, largest_mu
from dpselect.assume.lemmas.logistic import BITS, GRID_BITS
from dpselect.errors import AssumptionError
from dpselect.gather.add_up_logistic import LogisticSums
from dpselect.randomize.moment_noise import STEP, gaussian_measurement
from dpselect.randomize.opendp_door import check_epsilon, invoke

LARGEST = 2**62


@dataclass(frozen=True, slots=True)
class Draw:
    """Public. Whole numbers with discrete Gaussian noise of scale `spread`, its price `rho`, and the `sensitivity` it is for."""

    values: tuple[int, ...]
    spread: float
    sensitivity: int
    rho: float


def whole_mu(epsilon: float, delta: float) -> float:
    """The mu that (epsilon, delta) buys, to be divided among the draws by shares of its square."""
    check_epsilon(epsilon)
    if not 0 < delta < 0.5:
        raise AssumptionError(
            "Odds ratios need a delta above 0 and below 0.5 (1e-6 is usual): their noise is Gaussian."
        )
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
