"""The full grid of the paper's figures 1 and 2 against a plain loop over a QP solver.

`python -m benchmarks.paper_grid [--count 500] [--jobs 1]`
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from dpselect.minimize.losses.lattice import batch_losses
from dpselect.minimize.losses.lattice_compiled import is_available
from dpselect.rehearse.chances.scores import chance_of
from dpselect.rehearse.simulate import SEED, draw, sizes_of
from paper.simulations import EPSILONS, FIRST, PENALTIES, RADII, ROWS, SECOND, spread, unclipped_products


def speed(count: int, jobs: int) -> None:
    """The losses and exact exponential chances of the whole grid, against solving each model by quadprog."""
    start = time.perf_counter()
    fits = chances = fitting = 0
    for setting in (FIRST, SECOND):
        for n in ROWS:
            both = spread(setting.with_rows(n), count, unclipped_products, seed=SEED, jobs=jobs)
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


def _quadprog_seconds(fits: int = 300) -> float:
    """Seconds for one l1-bounded least-squares fit: b = u - v, u, v >= 0, sum(u + v) <= R."""
    import quadprog

    products, _ = unclipped_products(*draw(FIRST, np.random.SeedSequence(SEED)))
    start = time.perf_counter()
    for k in range(fits):
        chosen = [j for j in range(6) if (k % 63 + 1) >> j & 1]
        gram, inner = products[np.ix_(chosen, chosen)], products[chosen, 6]
        d = len(chosen)
        both = np.block([[gram, -gram], [-gram, gram]]) + 1e-6 * np.eye(2 * d)
        limits = np.hstack([np.eye(2 * d), -np.ones((2 * d, 1))])
        quadprog.solve_qp(both, np.concatenate([inner, -inner]), limits, np.append(np.zeros(2 * d), -2.5))
    return (time.perf_counter() - start) / fits


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_grid", description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    speed(asked.count, asked.jobs)
