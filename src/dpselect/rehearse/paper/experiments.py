"""Figures 1 and 2 of the paper: the chance of the right model over the penalty, for every n, R and epsilon of section 5.

As in the paper, and not private: r is the largest |y| of each table. The chance given a table is computed, not sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import loss_range
from dpselect.assume.models.choice import Mechanism
from dpselect.rehearse.paper.contest import Tables, tables
from dpselect.rehearse.simulate.settings import FIRST, SECOND, Setting
from dpselect.rehearse.simulate.tables import SEED, in_parallel, spread, unclipped_products

Floats = NDArray[np.float64]
Row = dict[str, str | float | int]

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


def _largest(X: Floats, y: Floats, noise: np.random.Generator) -> tuple[Floats, float]:
    return unclipped_products(X, y)


def _panel(setting: Setting, radius: float, count: int, seed: int) -> list[Row]:
    both = spread(setting, count, _largest, seed=seed)
    largest = np.array([each for _, each in both])
    rehearsed = tables(setting, np.array([each for each, _ in both]), radius)
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


FIGURES = {"fig1": FIRST, "fig2": SECOND}
