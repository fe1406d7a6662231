"""The chance of the right model in artificial studies: Algorithm 1 as printed with the best penalty, against ours without.

`python -m paper headline|heldout|more|formulas [--count 500] [--jobs 1]` prints the tables of docs/RESULTS.md. Nothing here
protects data: tables are simulated, chances given a table are exact, and where a setting is tuned the pretended noise is NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.budget import Neighbors
from dpselect.assume.candidates import all_subsets
from dpselect.assume.lemmas.sensitivity import loss_range
from dpselect.assume.penalty import balanced_penalty, loss_penalty
from dpselect.assume.recipe import Mechanism
from dpselect.assume.study import plain_study
from dpselect.gather.rows import gather
from dpselect.minimize.losses.lattice import batch_losses
from dpselect.rehearse.chances.scores import chance_of
from dpselect.rehearse.simulate import SEED, Setting, clipped_products, sizes_of
from paper.heuristics import (
    BOUNDED_RADIUS,
    OUTSIDE,
    bounds_share,
    chance_with_private_bounds,
    count_beyond,
    edges,
    interval_scores,
    intervals,
    penalty_scores,
    pretended,
    radius_scores,
)
from paper.heuristics import PENALTIES as MULTIPLES
from paper.heuristics import RADII as RHOS
from paper.simulations import FIRST, HELD_OUT, RADII, SECOND, spread, tables, unclipped_tables

Floats = NDArray[np.float64]


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
    rehearsed, largest = unclipped_tables(setting, chosen, count=count, seed=seed, jobs=jobs)
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


@dataclass(frozen=True, slots=True)
class _Clip:
    """Public. Products with the response clipped to a stated interval and scaled to [-1, 1]."""

    lower: float
    upper: float

    def __call__(self, X: Floats, y: Floats, noise: np.random.Generator) -> Floats:
        return clipped_products(X, y, self.lower, self.upper)


def headline(count: int, jobs: int) -> None:
    """Chance of the right model at n = 1000."""
    print("| beta | epsilon | as printed, best phi, best R | ours, r = R = 2.5 stated | ours, |y| <= 10 stated |")
    print("|---|---|---|---|---|")
    for setting in (FIRST, SECOND):
        for epsilon in (0.1, 0.5, 1.0, 5.0):
            best = max(as_printed(setting, epsilon, radius=R, count=count, jobs=jobs).chance for R in RADII)
            stated = with_stated_bounds(setting, epsilon, r=2.5, radius=2.5, count=count, jobs=jobs)
            paid = chance_with_private_bounds(setting, epsilon, count=count, jobs=jobs)
            print(f"| {setting.name} | {epsilon:g} | {best:.2f} | {stated:.2f} | {paid:.2f} |", flush=True)


def heldout(count: int, jobs: int) -> None:
    """The twelve settings that nothing was tuned on."""
    print(
        "| setting | n | d | epsilon | as printed, best phi (phi) | ours, |y| <= 10 stated | ours, r = R = 3 stated |"
    )
    print("|---|---|---|---|---|---|---|")
    for setting, epsilon in HELD_OUT:
        printed = as_printed(setting, epsilon, count=count, jobs=jobs)
        paid = chance_with_private_bounds(setting, epsilon, count=count, jobs=jobs)
        stated = with_stated_bounds(setting, epsilon, r=3, radius=3, count=count, jobs=jobs)
        print(
            f"| {setting.name} | {setting.rows:,} | {setting.width} | {epsilon:g} | {printed.chance:.2f} ({printed.penalty:g}) "
            f"| {paid:.2f} | {stated:.2f} |",
            flush=True,
        )


def more(count: int, jobs: int) -> None:
    """The recipe, and the recipe with a tenth of epsilon more on a private radius or a private penalty."""
    print("| setting | epsilon | bounds only | and the radius | and the penalty |")
    print("|---|---|---|---|---|")
    for setting in (FIRST, SECOND, FIRST.with_rows(10_000), SECOND.with_rows(10_000), SECOND.with_rows(100_000)):
        columns = [np.mean(spread(setting, count, _Tuned(what), jobs=jobs)) for what in ("", "radius", "penalty")]
        print(
            f"| {setting.name}, n = {setting.rows:,} | 1 | " + " | ".join(f"{each:.2f}" for each in columns) + " |",
            flush=True,
        )


@dataclass(frozen=True, slots=True)
class _Tuned:
    """Public. One table's chance with private bounds and, if asked, a private radius or penalty; epsilon is 1 in all."""

    what: str

    def __call__(self, X: Floats, y: Floats, noise: np.random.Generator) -> float:
        n, width = X.shape
        share, extra = bounds_share(n, 1.0), 0.1 if self.what else 0.0
        rest = 1 - share - extra
        places = edges(-10, 10)
        scores = interval_scores(count_beyond(y, places), OUTSIDE, "replace-one")
        first, last = intervals()
        index = pretended(scores, share, noise)
        low, high = places[first[index]], places[last[index]]
        study = plain_study([f"x{j}" for j in range(width)], r=1, R=BOUNDED_RADIUS)
        moments = gather((X, np.clip((2 * y - low - high) / (high - low), -1, 1)), study)
        rho, count = BOUNDED_RADIUS, all_subsets(width).count
        penalty = loss_penalty(loss_range(1.0, rho, "replace-one") / rest, n, count)
        if self.what == "radius":
            rho = RHOS[pretended(radius_scores(moments, study, RHOS, np.log(count + 1) / rest), extra, noise)]
            penalty = loss_penalty(loss_range(1.0, rho, "replace-one") / rest, n, count)
        if self.what == "penalty":
            default = balanced_penalty(loss_range(1.0, rho, "replace-one") / rest + 0.5, None, count)
            asked = [multiple * default for multiple in MULTIPLES]
            penalty = asked[pretended(penalty_scores(moments, study, asked, range(width)), extra, noise)]
        losses = batch_losses(np.array([moments.scaled()]), [rho])[0, 0, 1:] + penalty * sizes_of(width)[1:]
        return float(chance_of(0b111 - 1, losses[np.newaxis], loss_range(1.0, rho, "replace-one"), rest)[0])


DEVELOPMENT = [
    *((setting, epsilon) for setting in (FIRST, SECOND) for epsilon in (0.5, 1.0, 2.0, 5.0)),
    (SECOND.with_rows(3000), 1.0),
    (Setting("one", 500, (2, 0, 0, 0, 0, 0)), 1.0),
    (Setting("one of four", 500, (2, 0, 0, 0)), 0.5),
    (Setting("five of six", 3000, (0.5,) * 5 + (0,)), 1.0),
    (Setting("three of eight", 1000, (1, 1, 1, 0, 0, 0, 0, 0)), 1.0),
    (Setting("binary", 1000, (0.7, 0.7, 0.7, 0, 0, 0), columns="binary"), 1.0),
    (Setting("weak binary", 1000, (0.4, 0.4, 0.4, 0, 0, 0), columns="binary"), 1.0),
    (Setting("much noise", 1000, (1, 1, 1, 0, 0, 0), deviation=3.0), 5.0),
    (Setting("hardly any noise", 1000, (1, 1, 1, 0, 0, 0), deviation=0.2), 0.5),
    (Setting("weak third", 10_000, (1, 1, 0.3, 0, 0, 0)), 1.0),
    (Setting("four of eight", 10_000, (1, 0.5, 0.5, 0.2, 0, 0, 0, 0)), 1.0),
    (Setting("four of eight", 10_000, (1, 0.5, 0.5, 0.2, 0, 0, 0, 0)), 3.0),
    (Setting("small", 200, (1, 1, 0, 0)), 3.0),
    (Setting("four of six", 3000, (0.4, 0.4, 0.4, 0.4, 0, 0)), 20.0),
]
"""What the penalty and the recipe were tuned on; none is among the held-out settings."""

FORMULAS: dict[str, Callable[[int, float], float]] = {
    "log(c)": lambda c, signal: np.log(c),
    "log(2c)": lambda c, signal: np.log(2 * c),
    "log(3c)": lambda c, signal: np.log(3 * c),
    "log(signal) / 2": lambda c, signal: max(1.0, np.log(signal) / 2),
    "log(signal)": lambda c, signal: max(1.0, np.log(signal)),
    "log(2c) + log(signal/50)/2": lambda c, signal: np.log(2 * c) + max(0.0, np.log(signal / 50)) / 2,
    "log(2c) + log(signal/150)/2": lambda c, signal: np.log(2 * c) + max(0.0, np.log(signal / 150)) / 2,
}
"""The penalty in units of the noise, from c columns and the signal n r^2/4 in units of the noise."""


def formulas(count: int, jobs: int) -> None:
    """How much chance a penalty by formula loses against the best penalty, over the development settings and three bounds."""
    lost: dict[str, list[float]] = {name: [] for name in FORMULAS}
    multiples = np.arange(0.25, 12, 0.25)
    for setting, epsilon in DEVELOPMENT:
        for share, rho in ((0.6, 1.25), (0.9, 1.0), (0.97, 1.0)):
            products = np.array(spread(setting, count, _ClipTo(share), jobs=jobs))
            losses, sizes = batch_losses(products, [rho])[:, 0, 1:], sizes_of(setting.width)[1:]
            width = loss_range(1.0, rho, "replace-one")
            noise = width / epsilon + 0.5
            chances = [
                chance_of(setting.truth - 1, losses + u * noise * sizes, width, epsilon).mean() for u in multiples
            ]
            for name, formula in FORMULAS.items():
                u = formula(setting.width, setting.rows / 4 / noise)
                lost[name].append(max(chances) - np.interp(u, multiples, chances))
    print("| penalty over noise | mean loss | largest loss |\n|---|---|---|")
    for name, values in lost.items():
        print(f"| {name} | {np.mean(values):.3f} | {np.max(values):.3f} |")


@dataclass(frozen=True, slots=True)
class _ClipTo:
    """Public. Products with the response clipped to the given quantile of |y|, and scaled to [-1, 1]."""

    share: float

    def __call__(self, X: Floats, y: Floats, noise: np.random.Generator) -> Floats:
        return clipped_products(X, y / np.quantile(np.abs(y), self.share), -1.0, 1.0)


CONTEST_TABLES: dict[str, Callable[[int, int], None]] = {
    "headline": headline,
    "heldout": heldout,
    "more": more,
    "formulas": formulas,
}
"""What prints each table, from the number of artificial tables and of processes."""
