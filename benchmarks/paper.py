"""The tables of docs/RESULTS.md, and the full grid of figures 1 and 2 against a plain loop over a QP solver.

`python benchmarks/paper.py headline|heldout|more|formulas|speed|all [--count 500] [--jobs 1]`. Nothing here protects data: tables
are simulated, chances given a table are exact, and where a setting is tuned the pretended noise is NumPy's.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from dpselect.assume.lemmas.sensitivity import loss_range
from dpselect.assume.models.candidates import all_subsets
from dpselect.assume.models.penalty import balanced_penalty, loss_penalty
from dpselect.assume.models.tuning import DEFAULT_TUNING, tuning_share
from dpselect.assume.study.paper_setting import plain_assumptions
from dpselect.gather.responses import count_beyond
from dpselect.gather.table import gather_table
from dpselect.minimize.lattice import batch_losses
from dpselect.minimize.lattice_compiled import is_available
from dpselect.penalize.tuning_scores import penalty_scores, radius_scores
from dpselect.randomize.interval import edges, interval_scores, intervals
from dpselect.rehearse.chances.one import chance_of
from dpselect.rehearse.paper.contest import as_printed, with_paid_bounds, with_stated_bounds
from dpselect.rehearse.paper.experiments import EPSILONS, PENALTIES, RADII, ROWS
from dpselect.rehearse.simulate.settings import FIRST, HELD_OUT, SECOND, Setting
from dpselect.rehearse.simulate.tables import SEED, clipped_products, sizes_of, spread, unclipped_products
from dpselect.release.tune import PENALTIES as MULTIPLES
from dpselect.release.tune import RADII as RHOS


def headline(count: int, jobs: int) -> None:
    """Chance of the right model at n = 1000."""
    print("| beta | epsilon | as printed, best phi, best R | ours, r = R = 2.5 stated | ours, |y| <= 10 stated |")
    print("|---|---|---|---|---|")
    for setting in (FIRST, SECOND):
        for epsilon in (0.1, 0.5, 1.0, 5.0):
            best = max(as_printed(setting, epsilon, radius=R, count=count, jobs=jobs).chance for R in RADII)
            stated = with_stated_bounds(setting, epsilon, r=2.5, radius=2.5, count=count, jobs=jobs)
            paid = with_paid_bounds(setting, epsilon, count=count, jobs=jobs)
            print(f"| {setting.name} | {epsilon:g} | {best:.2f} | {stated:.2f} | {paid:.2f} |", flush=True)


def heldout(count: int, jobs: int) -> None:
    """The twelve settings that nothing was tuned on."""
    print(
        "| setting | n | d | epsilon | as printed, best phi (phi) | ours, |y| <= 10 stated | ours, r = R = 3 stated |"
    )
    print("|---|---|---|---|---|---|---|")
    for setting, epsilon in HELD_OUT:
        printed = as_printed(setting, epsilon, count=count, jobs=jobs)
        paid = with_paid_bounds(setting, epsilon, count=count, jobs=jobs)
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


class _Tuned:
    """One table's chance with private bounds and, if asked, a private radius or penalty; epsilon is 1 in all."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __call__(self, X: np.ndarray, y: np.ndarray, noise: np.random.Generator) -> float:
        n, width = X.shape
        share, extra = tuning_share(n, 1.0), 0.1 if self.what else 0.0
        rest = 1 - share - extra
        places = edges(-10, 10, DEFAULT_TUNING.steps)
        scores = interval_scores(count_beyond(y, places), DEFAULT_TUNING.outside, "replace-one")
        first, last = intervals(DEFAULT_TUNING.steps)
        index = pretend(scores, share, noise)
        low, high = places[first[index]], places[last[index]]
        study = plain_assumptions([f"x{j}" for j in range(width)], r=1, R=DEFAULT_TUNING.radius)
        moments = gather_table((X, np.clip((2 * y - low - high) / (high - low), -1, 1)), study)
        rho, count = DEFAULT_TUNING.radius, all_subsets(width).count
        penalty = loss_penalty(loss_range(1.0, rho, "replace-one") / rest, n, count)
        if self.what == "radius":
            rho = RHOS[pretend(radius_scores(moments, study, RHOS, np.log(count + 1) / rest), extra, noise)]
            penalty = loss_penalty(loss_range(1.0, rho, "replace-one") / rest, n, count)
        if self.what == "penalty":
            default = balanced_penalty(loss_range(1.0, rho, "replace-one") / rest + 0.5, None, count)
            asked = [multiple * default for multiple in MULTIPLES]
            penalty = asked[pretend(penalty_scores(moments, study, asked, range(width)), extra, noise)]
        losses = batch_losses(np.array([moments.scaled()]), [rho])[0, 0, 1:] + penalty * sizes_of(width)[1:]
        return float(chance_of(0b111 - 1, losses[np.newaxis], loss_range(1.0, rho, "replace-one"), rest)[0])


def pretend(scores, epsilon: float, noise: np.random.Generator) -> int:
    return int(np.argmin(scores.values - noise.exponential(scores.range / epsilon, scores.values.size)))


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

FORMULAS = {
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
    lost = {name: [] for name in FORMULAS}
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


class _ClipTo:
    """Products with the response clipped to the given quantile of |y|, and scaled to [-1, 1]."""

    def __init__(self, share: float) -> None:
        self.share = share

    def __call__(self, X: np.ndarray, y: np.ndarray, noise: np.random.Generator) -> np.ndarray:
        return clipped_products(X, y / np.quantile(np.abs(y), self.share), -1.0, 1.0)


def speed(count: int, jobs: int) -> None:
    """The losses and exact exponential chances of the whole grid, against solving each model by quadprog."""
    start = time.perf_counter()
    fits = chances = fitting = 0
    for setting in (FIRST, SECOND):
        for n in ROWS:
            both = spread(setting.with_rows(n), count, _largest, seed=SEED, jobs=jobs)
            began = time.perf_counter()
            losses = batch_losses(np.array([each for each, _ in both]), RADII)[:, :, 1:]
            fitting += time.perf_counter() - began
            fits += losses.size
            largest = np.array([each for _, each in both])
            for k, R in enumerate(RADII):
                for phi in np.linspace(0, n / 2, PENALTIES):
                    values = losses[:, k] + phi * sizes_of(6)[1:]
                    for epsilon in EPSILONS:
                        chances += chance_of(6, values, 2 * (largest + R) ** 2, epsilon, "exponential").size
    ours = time.perf_counter() - start
    each = _quadprog_seconds()
    kernel = "compiled" if is_available() else "NumPy"
    print(f"{fits:,} certified fits ({kernel} kernel): {fitting:.2f} s, {fitting / fits * 1e6:.2f} us each")
    print(f"with the tables drawn and {chances:,} exact exponential chances: {ours:.1f} s")
    print(
        f"quadprog: {each * 1e6:.0f} us a fit, {each * fits:.0f} s for all, {each * fits / fitting:.0f} times as long"
    )


def _largest(X, y, noise):
    return unclipped_products(X, y)


def _quadprog_seconds(fits: int = 300) -> float:
    """Seconds for one l1-bounded least-squares fit: b = u - v, u, v >= 0, sum(u + v) <= R."""
    import quadprog

    products, _ = unclipped_products(*_one(Setting("s", 1000, FIRST.effects)))
    start = time.perf_counter()
    for k in range(fits):
        chosen = [j for j in range(6) if (k % 63 + 1) >> j & 1]
        gram, inner = products[np.ix_(chosen, chosen)], products[chosen, 6]
        d = len(chosen)
        both = np.block([[gram, -gram], [-gram, gram]]) + 1e-6 * np.eye(2 * d)
        limits = np.hstack([np.eye(2 * d), -np.ones((2 * d, 1))])
        quadprog.solve_qp(both, np.concatenate([inner, -inner]), limits, np.append(np.zeros(2 * d), -2.5))
    return (time.perf_counter() - start) / fits


def _one(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    from dpselect.rehearse.simulate.settings import draw

    return draw(setting, np.random.SeedSequence(SEED))


TABLES = {"headline": headline, "heldout": heldout, "more": more, "formulas": formulas, "speed": speed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=[*TABLES, "all"])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    for name, table in TABLES.items():
        if asked.what in (name, "all"):
            start = time.perf_counter()
            print(f"\n## {name}\n")
            table(asked.count, asked.jobs)
            print(f"\n({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
