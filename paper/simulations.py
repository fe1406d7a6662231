"""The paper's artificial studies, and figures 1 and 2: the chance of the right model over the penalty, for every n, R and epsilon.

As in the paper's section 5, and not private: r is the largest |y| of each table. The chance given a table is computed, not sampled.
Simulations protect nothing, so their randomness is NumPy's: the same numbers for a seed, whatever the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import loss_range
from dpselect.assume.recipe import Mechanism
from dpselect.minimize.losses.lattice import batch_losses
from dpselect.rehearse.chances.scores import chance_of
from dpselect.rehearse.simulate import SEED, Setting, clipped_products, draw, sizes_of

Floats = NDArray[np.float64]
Reduce = Callable[[Floats, Floats, np.random.Generator], Any]
Row = dict[str, str | float | int]

FIRST = Setting("first beta", 1000, (1, 1, 1, 0, 0, 0))
SECOND = Setting("second beta", 1000, (1.5, 1, 0.5, 0, 0, 0))

# Written down before anything was tuned, and never used for tuning: see docs/RESULTS.md.
HELD_OUT: tuple[tuple[Setting, float], ...] = (
    (Setting("correlated", 1000, (1, 1, 1, 0, 0, 0), shared=0.5), 1.0),
    (Setting("strongly correlated", 3000, (1, 1, 0, 0, 0, 0), shared=0.7), 1.0),
    (Setting("heavy tails", 1000, (1, 1, 1, 0, 0, 0), noise="t3"), 1.0),
    (Setting("infinite variance", 3000, (1, 0.5, 0, 0, 0), noise="t2"), 1.0),
    (Setting("null model", 1000, (0, 0, 0, 0, 0, 0), empty=True), 1.0),
    (Setting("one strong effect", 1000, (2.5, 0, 0, 0, 0, 0, 0, 0)), 0.5),
    (Setting("strong and weak", 3000, (2, 0.4, 0, 0, 0, 0)), 1.0),
    (Setting("dense", 3000, (0.7,) * 8), 1.0),
    (Setting("few rows", 300, (1, 1, 0, 0)), 2.0),
    (Setting("many rows", 10_000, (1, 0.8, 0.6, 0.4, 0.3, 0, 0, 0, 0, 0)), 0.5),
    (Setting("binary columns", 1000, (0.6, 0.6, 0.6, 0, 0, 0, 0), columns="binary"), 1.0),
    (Setting("little noise", 500, (1, -1, 0.5, 0, 0), deviation=0.3), 1.0),
)
"""Twelve studies, each with the epsilon at which methods are compared."""

BATCH_TABLES = 25
"""Tables that a worker takes at a time."""


def spread(setting: Setting, count: int, reduce: Reduce, *, seed: int = SEED, jobs: int = 1) -> list[Any]:
    """`reduce(X, y, noise)` of each of `count` tables, in order; `noise` is a generator for what is done to the table.

    Every table has generators of its own, spawned from the seed, so how tables are dealt to workers changes nothing.

    Tested: tests/paper/test_simulations.py
    """
    seeds = np.random.SeedSequence(seed).spawn(count)
    batches = [seeds[start : start + BATCH_TABLES] for start in range(0, count, BATCH_TABLES)]
    done = in_parallel(_some, [(setting, batch, reduce) for batch in batches], jobs)
    return [each for batch in done for each in batch]


def _some(setting: Setting, seeds: Iterable[np.random.SeedSequence], reduce: Reduce) -> list[Any]:
    pairs = [seed.spawn(2) for seed in seeds]
    return [reduce(*draw(setting, rows), np.random.default_rng(noise)) for rows, noise in pairs]


def in_parallel(function: Callable[..., Any], calls: list[tuple[Any, ...]], jobs: int = 1) -> Iterator[Any]:
    """The results of the calls, in their order, each as soon as it and those before it are done."""
    if jobs == 1 or len(calls) <= 1:
        yield from (function(*call) for call in calls)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator")(delayed(function)(*call) for call in calls)


def unclipped_products(X: Floats, y: Floats, noise: np.random.Generator | None = None) -> tuple[Floats, float]:
    """Sums of products and r = max|y|: as in the paper, not private. It needs no noise."""
    largest = float(np.abs(y).max())
    return clipped_products(X, y, -largest, largest), largest


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


def unclipped_tables(
    setting: Setting, radius: float, *, count: int, seed: int = SEED, jobs: int = 1
) -> tuple[Tables, Floats]:
    """Many tables of a setting with nothing clipped, and the largest |y| of each, which the paper takes for r."""
    both = spread(setting, count, unclipped_products, seed=seed, jobs=jobs)
    return tables(setting, np.array([products for products, _ in both]), radius), np.array([each for _, each in both])


ROWS = (100, 1000)
RADII = (1.0, 2.5, 3.5, 10.0)
EPSILONS = (0.1, 1.0, 5.0, 10.0)
PENALTIES = 41
TABLES = 500

AS_PRINTED = "as printed"
OURS = "ours"
UNSQUARED = "scale not squared, not private"
NO_PRIVACY = "no privacy"


@dataclass(frozen=True, slots=True)
class Noise:
    """Public. A mechanism and the range it is given, as a function of r and R."""

    name: str
    mechanism: Mechanism
    range: Callable[[Floats, float], Floats]


NOISES = (
    Noise(AS_PRINTED, "laplace", lambda r, R: 2 * (r + R) ** 2),
    Noise(OURS, "permute-and-flip", lambda r, R: np.array([loss_range(each, R, "replace-one") for each in r])),
    # The text of section 5 would be right for this noise, which protects nobody.
    Noise(UNSQUARED, "laplace", lambda r, R: 2 * (r + R)),
)


def simulation_figure(
    setting: Setting,
    *,
    sizes: Sequence[int] = ROWS,
    radii: Sequence[float] = RADII,
    count: int = TABLES,
    seed: int = SEED,
    jobs: int = 1,
    progress: Callable[[float], None] | None = None,
) -> list[Row]:
    """The points of figure 1 (`FIRST`) or 2 (`SECOND`), one a row: n, R, epsilon, penalty, noise, chance."""
    calls = [(setting.with_rows(n), radius, count, seed) for n in sizes for radius in radii]
    rows: list[Row] = []
    for done, part in enumerate(in_parallel(_panel, calls, jobs), 1):
        rows += part
        if progress is not None:
            progress(done / len(calls))
    return rows


def _panel(setting: Setting, radius: float, count: int, seed: int) -> list[Row]:
    rehearsed, largest = unclipped_tables(setting, radius, count=count, seed=seed)
    penalties = np.linspace(0, setting.rows / 2, PENALTIES)
    place: Row = {"setting": setting.name, "n": setting.rows, "R": radius}
    rows: list[Row] = []
    for penalty in penalties:
        right = {
            **place,
            "penalty": float(penalty),
            "noise": NO_PRIVACY,
            "chance": _without_privacy(rehearsed, penalty),
        }
        for epsilon in EPSILONS:
            rows.append({**right, "epsilon": epsilon})
            for noise in NOISES:
                chance = rehearsed.chance(penalty, noise.range(largest, radius), epsilon, noise.mechanism)
                rows.append({**right, "epsilon": epsilon, "noise": noise.name, "chance": chance})
    return rows


def _without_privacy(rehearsed: Tables, penalty: float) -> float:
    best = np.argmin(rehearsed.losses + penalty * rehearsed.sizes, axis=1)
    return float(np.mean(best == rehearsed.truth))


def curve(rows: list[Row], noise: str, **place: float) -> tuple[Floats, Floats]:
    """Penalties and chances of one curve: `curve(rows, OURS, n=1000, R=2.5, epsilon=1)`."""
    chosen = [row for row in rows if row["noise"] == noise and all(row[key] == value for key, value in place.items())]
    chosen.sort(key=lambda row: float(row["penalty"]))
    penalties = np.array([row["penalty"] for row in chosen], np.float64)
    return penalties, np.array([row["chance"] for row in chosen], np.float64)
