"""Studies of the released coefficients: coverage, error against peers, rate, split. `python benchmarks/estimates.py coverage`.

Nothing here protects data: tables are simulated and noise is NumPy's, of the law and size that a release would have. What is
measured is the code of a release from the noisy entries on. Numbers of 2026-11 are in docs/ESTIMATES.md.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from scipy.stats import norm

from dpselect.assume.assumptions import Assumptions
from dpselect.assume.moment_layout import moment_layout
from dpselect.assume.variables import Numeric
from dpselect.randomize.moment_noise import moment_noise
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.rehearse.normal_equations import equations, solve
from dpselect.release.intervals import half_widths

DELTA = 1e-6
TRUTH = np.array([0.1, 0.25, -0.2, 0.1, 0.0, 0.05])
CELLS = [
    (n, d, design, e)
    for n in (1_000, 10_000, 100_000)
    for d in (3, 6)
    for design in ("independent", "correlated")
    for e in (0.5, 1, 5)
]


def study(width: int, neighbors: str = "replace-one") -> Assumptions:
    """An intercept and width - 1 numbers, all in [-1, 1]."""
    predictors = [Numeric(f"x{j}", -1, 1) for j in range(1, width)]
    return Assumptions(Numeric("y", -1, 1), predictors, neighbors=neighbors)


def table(
    generator: np.random.Generator, n: int, width: int, design: str, truth: np.ndarray | None = None
) -> np.ndarray:
    """Rows (1, x, y): x uniform on [-1, 1], independent or with normal-copula correlations 0.5^|i-j|; y never clipped."""
    truth = TRUTH[:width] if truth is None else truth
    if design == "independent":
        x = generator.uniform(-1, 1, (n, width - 1))
    else:
        places = np.arange(width - 1)
        root = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(places, places)))
        x = 2 * norm.cdf(generator.standard_normal((n, width - 1)) @ root.T) - 1
    rows = np.empty((n, width + 1))
    rows[:, 0], rows[:, 1:width] = 1, x
    rows[:, width] = rows[:, :width] @ truth + generator.uniform(-0.3, 0.3, n)
    return rows


def products(seed: int, count: int, n: int, width: int, design: str) -> np.ndarray:
    generator = np.random.default_rng(seed)
    tables = (table(generator, n, width, design) for _ in range(count))
    return np.array([rows.T @ rows for rows in tables])


class Release:
    """The noise of one release, without OpenDP's draw."""

    def __init__(self, width: int, epsilon: float, delta: float = DELTA, noise: str | None = None) -> None:
        self.assumptions = study(width)
        self.layout = moment_layout(self.assumptions, range(width))
        self.noise = moment_noise(self.layout, epsilon, delta, noise=noise)
        self.cells = [cells[0] for cells in self.layout.entries]
        self.laplace = self.noise.scale.noise == "laplace"

    def model(self, n: int):
        noisy = NoisyMoments(layout=self.layout, noise=self.noise, values=(0,) * len(self.cells), known_rows=n)
        self.deviations = noisy.deviations
        return equations(noisy, list(range(self.layout.width - 1)))

    def entries(self, moments: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        exact = np.stack([moments[:, i, j] for i, j in self.cells], axis=1)
        draw = (
            generator.laplace(0, np.sqrt(0.5), exact.shape) if self.laplace else generator.standard_normal(exact.shape)
        )
        return exact + draw * self.deviations


def coverage(count: int, only: int | None = None) -> None:
    """Coverage of 95% intervals of both kinds, the model fixed; and their median half-widths."""
    print("n d design epsilon noise | bootstrap: mean (least-most over coefficients) half-width | delta: the same")
    for place, (n, width, design, epsilon) in enumerate(CELLS):
        if only is not None and n != only:
            continue
        moments = products(place // 3, count, n, width, design)
        release = Release(width, epsilon)
        model = release.model(n)
        entries = release.entries(moments, np.random.default_rng([7, place]))
        directions, truth = np.eye(width), TRUTH[:width]
        kinds = ("bootstrap", "delta")
        hits, widths = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}
        for one in entries:
            fit = solve(one[None], model)
            for kind in kinds:
                half = half_widths(
                    fit, model, directions, level=0.95, kind=kind, laplace=release.laplace, columns=width
                )
                hits[kind].append(np.abs(fit.coefficients[0] - truth) <= half)
                widths[kind].append(half)
        said = []
        for kind in kinds:
            each = np.mean(hits[kind], axis=0)
            said.append(f"{each.mean():.3f} ({each.min():.3f}-{each.max():.3f}) {np.median(widths[kind]):.4f}")
        print(n, width, design, epsilon, release.noise.scale.noise, "|", " | ".join(said), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["coverage"])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--only", type=int)
    asked = parser.parse_args()
    start = time.perf_counter()
    if asked.what == "coverage":
        coverage(asked.count, asked.only)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
