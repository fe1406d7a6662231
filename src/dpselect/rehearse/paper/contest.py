"""The chance of the right model in artificial studies: Algorithm 1 as printed with the best penalty, against ours without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import loss_range
from dpselect.assume.models.choice import Mechanism
from dpselect.assume.models.penalty import loss_penalty
from dpselect.assume.models.tuning import DEFAULT_TUNING, Tuning, tuning_share
from dpselect.assume.study.neighbors import Neighbors
from dpselect.gather.responses import count_beyond
from dpselect.minimize.lattice import batch_losses
from dpselect.randomize.interval import edges, interval_scores, intervals
from dpselect.rehearse.chances.one import chance_of
from dpselect.rehearse.simulate.settings import Setting
from dpselect.rehearse.simulate.tables import SEED, clipped_products, sizes_of, spread, unclipped_products

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class Tables:
    """Private. Losses of many artificial tables, (tables, candidates), and what the choice needs to know about them."""

    losses: Floats
    sizes: Floats
    truth: int

    def chance(self, penalty: float, range: float | Floats, epsilon: float, mechanism: Mechanism) -> float:
        """The mean chance of the right model."""
        values = self.losses + penalty * self.sizes
        return float(chance_of(self.truth, values, range, epsilon, mechanism).mean())


def tables(setting: Setting, products: Floats, radius: float) -> Tables:
    """The losses of the candidates of a setting: every set of columns, the empty one only if the setting says so."""
    first = 0 if setting.empty else 1
    losses = batch_losses(products, [radius])[:, 0, first:]
    return Tables(losses, sizes_of(setting.width)[first:], setting.truth - first)


@dataclass(frozen=True, slots=True)
class Oracle:
    """Public. The best penalty in hindsight, which no one can know, and the chance of the right model with it."""

    chance: float
    penalty: float


def as_printed(
    setting: Setting, epsilon: float, *, radius: float | None = None, count: int = 200, seed: int = SEED, jobs: int = 1
) -> Oracle:
    """Algorithm 1 as printed: r = max|y| (not private), Laplace noise of scale 2(r+R)^2/epsilon, the best penalty in [0, n/2].

    The radius is the l1 norm of the true effects, which the paper calls ideal, unless it is given.
    """
    chosen = (setting.norm or 1.0) if radius is None else radius
    both = spread(setting, count, _Largest(), seed=seed, jobs=jobs)
    largest = np.array([each for _, each in both])
    rehearsed = tables(setting, np.array([each for each, _ in both]), chosen)
    penalties = np.linspace(0, setting.rows / 2, 51)
    chances = [rehearsed.chance(phi, 2 * (largest + chosen) ** 2, epsilon, "laplace") for phi in penalties]
    best = int(np.argmax(chances))
    return Oracle(chances[best], float(penalties[best]))


def with_stated_bounds(
    setting: Setting,
    epsilon: float,
    *,
    r: float,
    radius: float,
    mechanism: Mechanism = "permute-and-flip",
    neighbors: Neighbors = "replace-one",
    count: int = 200,
    seed: int = SEED,
    jobs: int = 1,
) -> float:
    """Ours: |y| clipped to a stated r, a stated radius, and every other setting the public default."""
    products = np.array(spread(setting, count, _Clip(-r, r), seed=seed, jobs=jobs))
    rehearsed = tables(setting, products, radius)
    width = loss_range(r, radius, neighbors)
    rows = setting.rows if neighbors == "replace-one" else None
    penalty = loss_penalty(width / epsilon / r**2, rows, rehearsed.sizes.size) * r**2
    return rehearsed.chance(penalty, width, epsilon, mechanism)


def with_paid_bounds(
    setting: Setting,
    epsilon: float,
    *,
    bound: float = 10.0,
    tuning: Tuning = DEFAULT_TUNING,
    share: float | None = None,
    count: int = 200,
    seed: int = SEED,
    jobs: int = 1,
) -> float:
    """Ours, from the loose bounds |y| <= bound: part of epsilon buys the quartiles, the rest the choice. Replace-one."""
    part = tuning_share(setting.rows, epsilon) if share is None else share
    reduce = _ClipToPrivate(bound, tuning, part * epsilon)
    rehearsed = tables(setting, np.array(spread(setting, count, reduce, seed=seed, jobs=jobs)), tuning.radius)
    width = loss_range(1.0, tuning.radius, "replace-one")
    rest = (1 - part) * epsilon
    penalty = loss_penalty(width / rest, setting.rows, rehearsed.sizes.size)
    return rehearsed.chance(penalty, width, rest, "permute-and-flip")


@dataclass(frozen=True, slots=True)
class _Largest:
    """Public. Products with nothing clipped, and the largest |y| that the paper takes for r."""

    def __call__(self, X: Floats, y: Floats, noise: np.random.Generator) -> tuple[Floats, float]:
        return unclipped_products(X, y)


@dataclass(frozen=True, slots=True)
class _Clip:
    """Public. Products with the response clipped to a stated interval and scaled to [-1, 1]."""

    lower: float
    upper: float

    def __call__(self, X: Floats, y: Floats, noise: np.random.Generator) -> Floats:
        return clipped_products(X, y, self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class _ClipToPrivate:
    """Public. Products with the response clipped to a rehearsed private interval and scaled to [-1, 1]."""

    bound: float
    tuning: Tuning
    epsilon: float

    def __call__(self, X: Floats, y: Floats, noise: np.random.Generator) -> Floats:
        places = edges(-self.bound, self.bound, self.tuning.steps)
        scores = interval_scores(count_beyond(y, places), self.tuning.outside, "replace-one")
        # A rehearsal of permute-and-flip, which is exponential noise (Ding et al. 2021): here NumPy's will do.
        pretended = noise.exponential(scores.range / self.epsilon, scores.values.size)
        chosen = int(np.argmin(scores.values - pretended))
        first, last = intervals(self.tuning.steps)
        lower, upper = places[first[chosen]], places[last[chosen]]
        half = (upper - lower) / 2
        return clipped_products(X, (y - (lower + upper) / 2) / half, -1.0, 1.0)
