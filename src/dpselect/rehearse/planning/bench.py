"""Public. Supposed tables made ready to rehearse a choice on: losses, and the chance of the right model under each algorithm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.budget import Neighbors
from dpselect.assume.lemmas.sensitivity import loss_range, loss_sensitivity, profile_change, profile_shift
from dpselect.assume.penalty import loss_penalty
from dpselect.assume.recipe import Mechanism
from dpselect.errors import StudyError
from dpselect.minimize.lattice import batch_losses
from dpselect.rehearse.chances.one import chance_of
from dpselect.rehearse.planning.supposed import Drawn
from dpselect.rehearse.simulate import sizes_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Public:
    """Public. The facts a plan starts from; the response has the middle of its bounds at 0 and r as half its range."""

    rows: int
    epsilon: float
    r: float
    delta: float = 1e-6
    neighbors: Neighbors = "replace-one"
    empty: bool = False

    def __post_init__(self) -> None:
        if not (2 <= self.rows <= 2**32 and self.epsilon > 0 and self.r > 0 and 0 < self.delta < 0.5):
            raise StudyError("A plan needs from 2 to 2^32 rows, and epsilon, the response's range and delta above 0.")


@dataclass(frozen=True, slots=True)
class Bench:
    """Public. Losses of supposed tables for one pair of bounds and one radius, with the response in [-1, 1]."""

    losses: Floats
    sizes: Floats
    truth: int
    rho: float
    facts: Public

    @property
    def width(self) -> float:
        """The range of the losses' change."""
        return loss_range(1.0, self.rho, self.facts.neighbors)

    def penalty(self, epsilon: float, multiple: float | None) -> float:
        """The default penalty, or a multiple of the noise, with the response in [-1, 1]."""
        rows = self.facts.rows if self.facts.neighbors == "replace-one" else None
        if multiple is None:
            return loss_penalty(self.width / epsilon, rows, self.sizes.size)
        return multiple * (self.width / epsilon + 0.5)

    def pcls(self, epsilon: float, multiple: float | None, mechanism: Mechanism = "permute-and-flip") -> float:
        """The chance of the right model with Algorithm 1."""
        values = self.losses + self.penalty(epsilon, multiple) * self.sizes
        return float(chance_of(self.truth, values, self.width, epsilon, mechanism).mean())

    def pcpl(self, epsilon: float, delta: float, penalty: float) -> float:
        """The chance with Algorithm 2, half of epsilon for its bound; averaged over eight quantiles of the bound's noise."""
        n, B, half = self.facts.rows, loss_sensitivity(1.0, self.rho), epsilon / 2
        values = n * np.log(np.maximum(self.losses, B) / n) + penalty * self.sizes
        least = self.losses.min(axis=1)
        chances = []
        for u in (np.arange(8) + 0.5) / 8:
            z = math.log(2 * u) if u < 0.5 else -math.log(2 * (1 - u))
            noisy = least + B / half * (z - profile_shift(delta))
            ranges = np.array([2 * profile_change(float(m), n, B) for m in noisy])
            finite = np.isfinite(ranges)
            chance = np.full(len(least), 1 / self.sizes.size)
            if finite.any():
                chance[finite] = chance_of(self.truth, values[finite], ranges[finite], half)
            chances.append(chance)
        return float(np.mean(chances))


def bench(drawn: Drawn, facts: Public, lower: float, upper: float, rhos: tuple[float, ...]) -> Iterator[Bench]:
    """A bench for each radius, in units of the half range of the bounds."""
    first = 0 if facts.empty else 1
    losses = batch_losses(drawn.products(lower, upper), rhos)
    sizes = sizes_of(drawn.supposed.width)[first:]
    for k, rho in enumerate(rhos):
        yield Bench(np.ascontiguousarray(losses[:, k, first:]), sizes, drawn.supposed.truth - first, rho, facts)
