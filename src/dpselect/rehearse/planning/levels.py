"""Public. The chances of sets of terms in supposed tables, by levels; the releases themselves use `randomize.levels`, exactly.

Sorted by the distance of their agreement from the threshold, terms make classes of sets that weigh the same: of level i, whose
farthest wrong term is the i-th, with s of the nearer ones in. Permute-and-flip up to 24 terms, beyond it the exponential mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LISTED_TERMS = 24


@lru_cache(maxsize=64)
def _classes(terms: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Level, terms among the nearer ones, and the log of how many sets, of every class."""
    level, inside, logs = [0], [0], [0.0]
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, terms + 1)))])
    for i in range(1, terms + 1):
        for s in range(i):
            level.append(i)
            inside.append(s)
            logs.append(float(factorials[i - 1] - factorials[s] - factorials[i - 1 - s]))
    return np.array(level), np.array(inside), np.array(logs)


@lru_cache(maxsize=1)
def _nodes() -> tuple[Floats, Floats]:
    """Places and weights for integrals over 0 < u < 1 of functions that may fall at any scale."""
    edges = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 8)])
    x, w = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges)[:, None] / 2
    return ((edges[:-1, None] + half) + half * x).ravel(), (half * w).ravel()


@dataclass(frozen=True, slots=True)
class Chances:
    """Public. The chance of each class of sets.

    `order` are the terms from the nearest to the threshold on, `star` says which of them are above it.
    """

    order: NDArray[np.int64]
    star: Flags
    classes: Floats

    @property
    def inclusion(self) -> Floats:
        """The chance of every term."""
        terms = self.order.size
        level, inside, _ = _classes(terms)
        by_level = np.bincount(level, weights=self.classes, minlength=terms + 1)
        nearer = np.bincount(level, weights=self.classes * inside, minlength=terms + 1)
        found = np.zeros(terms)
        # A term is right where the level is nearer, wrong at its own, and a share of the nearer ones beyond.
        right = np.concatenate([[by_level[0]], by_level[0] + np.cumsum(by_level[1:-1])])
        shares = nearer[2:] / np.arange(1, terms)
        beyond = np.concatenate([np.cumsum(shares[::-1])[::-1], [0.0]])
        found[self.order] = right * self.star + by_level[1:] * ~self.star + beyond
        return found

    def chance_of(self, taken: Flags) -> float:
        """The chance of one set."""
        level, inside, logs = _classes(self.order.size)
        wanted = taken[self.order]
        wrong = np.nonzero(wanted != self.star)[0]
        place = 0 if wrong.size == 0 else int(wrong[-1]) + 1
        key = (level == place) & (inside == (int(wanted[: place - 1].sum()) if place else 0))
        return float((self.classes[key] * np.exp(-logs[key]))[0])

    def models(self, rng: np.random.Generator, count: int) -> list[Flags]:
        """Sets drawn from these chances: a simulation, so NumPy's generator will do."""
        level, inside, _ = _classes(self.order.size)
        drawn = []
        ends = np.cumsum(self.classes)
        for k in np.searchsorted(ends, (np.arange(count) + rng.uniform()) / count * ends[-1]):
            place, sorted_set = int(level[min(k, level.size - 1)]), self.star.copy()
            if place:
                sorted_set[place - 1] = not self.star[place - 1]
                sorted_set[: place - 1] = rng.permutation(place - 1) < inside[min(k, level.size - 1)]
            taken = np.zeros(self.order.size, dtype=bool)
            taken[self.order] = sorted_set
            drawn.append(taken)
        return drawn


def level_chances(agreement: Floats, threshold: int, scale: float, price: float) -> Chances:
    """`scale` is epsilon over the range of the scores, `price` the nats that a term costs."""
    distance = np.abs(agreement - threshold)
    order = np.argsort(distance, kind="stable")
    star, h, terms = (agreement > threshold)[order], distance[order], order.size
    level, inside, logs = _classes(terms)
    later = np.concatenate([np.cumsum(star[::-1])[::-1], [0]])
    fixed = np.where(level == 0, later[0], later[level] + ~star[np.maximum(level - 1, 0)])
    margin = np.where(level == 0, h[0], -h[np.maximum(level - 1, 0)])
    weights = scale * margin - price * (fixed + inside)
    if terms > LISTED_TERMS:
        total = weights + logs
        chances = np.exp(total - total.max())
    else:
        each = np.exp(weights - weights.max())
        places, parts = _nodes()
        falling = np.log1p(-np.minimum(np.outer(places, each), 1 - 1e-15))
        counts = np.exp(logs)
        chances = each * counts * ((parts * np.exp(falling @ counts)) @ np.exp(-falling))
    return Chances(order, star, chances / chances.sum())
