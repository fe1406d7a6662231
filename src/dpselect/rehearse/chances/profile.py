"""Private. Confidential: the exact chance of every candidate under PCPL, integrated over its noisy bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import profile_shift
from dpselect.assume.recipe import Mechanism
from dpselect.rehearse.chances.scores import selection_probabilities, unit_rule

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = unit_rule(10)
_DOUBLINGS = 2.0 ** np.arange(-36.0, 41.0)
# Beyond 25 scales the Laplace distribution has a mass of exp(-25)/2 = 7e-12 on each side.
_GROWING_STEPS = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 7.0, 11.0, 18.0, 25.0])
_CHANCE_CELLS = 2**16
LEAST = 1e-17
"""The mass of a node of the integral that is worth its time."""


@dataclass(frozen=True, slots=True, repr=False)
class NoisyBound:
    """Private. How the noisy least loss m~ = m + (B/e1) (Z - log(1/(2 delta))) is distributed.

    At and below B = `sensitivity` the range of the score is infinite, so the choice is uniform.
    """

    least_loss: float
    sensitivity: float
    epsilon: float
    delta: float

    def __repr__(self) -> str:
        return f"NoisyBound(epsilon={self.epsilon:g}, delta={self.delta:g}, values=<private>)"

    @property
    def scale(self) -> float:
        """Of the Laplace noise."""
        return self.sensitivity / self.epsilon

    @property
    def threshold(self) -> float:
        """The value of Z at and below which the bound is at most B."""
        return profile_shift(self.delta) - (self.least_loss - self.sensitivity) / self.scale


def profile_probabilities(
    values: Floats,
    bound: NoisyBound,
    range_of: Callable[[float], float],
    epsilon: float,
    mechanism: Mechanism,
    *,
    least: float = LEAST,
) -> Floats:
    """The chance of every candidate when the range is `range_of(m~)`; `values` is (K,), `epsilon` is the choice's own price.

    Right to an absolute 1e-9. The integral over Z has a kink at 0 and, where m~ meets B, an integrand that is a
    smooth function of 1/log(Z - threshold) only; panels that double away from the threshold resolve it, because the
    distances change by a bounded factor on each of them. What lies within 2^-36 of the threshold is called uniform, as
    its limit is. Nodes of less mass than `least` count as uniform too: with 1e-6 it is right to 1e-4, and several times faster.

    Tested: tests/rehearse/chances/test_all.py
    """
    z, mass = _panels(bound.threshold, least)
    candidates = values.size
    total = np.zeros(candidates)
    rows = max(1, _CHANCE_CELLS // candidates)
    for start in range(0, z.size, rows):
        block = slice(start, start + rows)
        # (z - threshold) is what the panels resolve; going through m~ - B keeps it.
        ranges = np.array([range_of(bound.sensitivity + bound.scale * (at - bound.threshold)) for at in z[block]])
        repeated = np.broadcast_to(values, (ranges.size, candidates))
        total += mass[block] @ selection_probabilities(repeated, ranges, epsilon, mechanism)
    # The uniform part and the tails that were cut off: what is missing from a total mass of 1.
    chances: Floats = total + max(0.0, 1 - mass.sum()) / candidates
    return chances


def _panels(threshold: float, least: float) -> tuple[Floats, Floats]:
    """Nodes above the threshold and their mass under the standard Laplace density."""
    points = np.concatenate([threshold + _DOUBLINGS, _GROWING_STEPS, -_GROWING_STEPS])
    low = max(threshold + _DOUBLINGS[0], -_GROWING_STEPS[-1])
    points = np.unique(np.clip(points, low, max(low, _GROWING_STEPS[-1])))
    width = np.diff(points)[:, np.newaxis]
    z = (points[:-1, np.newaxis] + width * _NODES).ravel()
    mass = (width * _WEIGHTS).ravel() * np.exp(-np.abs(z)) / 2
    kept = mass > least
    return z[kept], mass[kept]
