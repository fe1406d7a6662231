"""The error of the released coefficients beside AdaSSP's: `python benchmarks/estimates_peers.py --tables 60`.

Made-up tables: an intercept and uniform columns, independent or correlated. Ours are the likeliest coefficients, which `predict`
uses. Both have the same epsilon, delta and add-remove-one neighbours; noise is NumPy's. Numbers are in docs/ESTIMATES.md.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import norm

from dpselect import Numeric, Study
from dpselect.assume.lemmas.moments import moment_layout
from dpselect.assume.lemmas.rounds import largest_mu
from dpselect.randomize.noisy_moments import NoisyMoments, moment_noise
from dpselect.release.equations.findings import fit
from dpselect.release.equations.problem import problem

DELTA = 1e-6
TRUTH = np.array([0.1, 0.25, -0.2, 0.1, 0.0, 0.05])


def products(n: int, width: int, design: str, generator: np.random.Generator) -> np.ndarray:
    """Exact moments of rows (1, x, y): x uniform on [-1, 1], independent or with normal-copula correlations 0.5^|i-j|."""
    x = generator.uniform(-1, 1, (n, width - 1))
    if design == "correlated":
        places = np.arange(width - 1)
        root = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(places, places)))
        x = 2 * norm.cdf(generator.standard_normal((n, width - 1)) @ root.T) - 1
    rows = np.column_stack([np.ones(n), x])
    rows = np.column_stack([rows, rows @ TRUTH[:width] + generator.uniform(-0.3, 0.3, n)])
    return rows.T @ rows


def ours(moments: np.ndarray, epsilon: float, generator: np.random.Generator) -> np.ndarray:
    width = len(moments) - 1
    study = Study(Numeric("y", -1, 1), [Numeric(f"x{j}", -1, 1) for j in range(1, width)], neighbors="add-remove-one")
    layout = moment_layout(study, range(width))
    noise = moment_noise(layout, epsilon, DELTA)
    empty = NoisyMoments(layout=layout, noise=noise, values=(0,) * len(layout.entries), known_rows=None)
    exact = np.array([moments[cells[0]] for cells in layout.entries])
    laplace = noise.scale.noise == "laplace"
    draw = generator.laplace(0, np.sqrt(0.5), exact.size) if laplace else generator.standard_normal(exact.size)
    values = np.round((exact + draw * empty.deviations) / (empty.deviations / noise.deviation))
    noisy = NoisyMoments(layout=layout, noise=noise, values=tuple(map(int, values)), known_rows=None)
    return fit(problem(noisy, tuple(range(width)))).scaled


def adassp(moments: np.ndarray, epsilon: float, generator: np.random.Generator, *, analytic: bool) -> np.ndarray:
    """AdaSSP (Wang 2018, arXiv:1803.02596, Algorithm 2) from exact moments: add-remove, ||x|| <= sqrt(d), |y| <= 1.

    `analytic` replaces its sqrt(log(6/delta))/(epsilon/3) by the least noise for three Gaussian releases together, which is
    kinder to it than the paper.
    """
    width = len(moments) - 1
    log = np.log(6 / DELTA)
    scale = np.sqrt(3) / largest_mu(epsilon, DELTA) if analytic else np.sqrt(log) / (epsilon / 3)
    least = np.linalg.eigvalsh(moments[:width, :width])[0] + scale * width * generator.standard_normal()
    least = max(0.0, least - scale * width * np.sqrt(log))
    ridge = max(0.0, scale * width * np.sqrt(width * np.log(2 * width**2 / 0.05)) - least)
    upper = np.triu(generator.standard_normal((width, width)))
    noise = upper + np.triu(upper, 1).T
    gram = moments[:width, :width] + scale * width * noise + ridge * np.eye(width)
    right = moments[:width, width] + scale * np.sqrt(width) * generator.standard_normal(width)
    return np.linalg.solve(gram, right)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000])
    options = parser.parse_args()
    print("| n | columns | design | epsilon | ours | AdaSSP | AdaSSP, analytic | least squares without privacy |")
    print("|" + "---|" * 8)
    for place, n in enumerate(options.rows):
        for width in (3, 6):
            for design in ("independent", "correlated"):
                generator = np.random.default_rng([11, place, width])
                tables = [products(n, width, design, generator) for _ in range(options.tables)]
                for epsilon in (0.5, 1, 5):
                    solutions = [
                        [ours(one, epsilon, generator) for one in tables],
                        [adassp(one, epsilon, generator, analytic=False) for one in tables],
                        [adassp(one, epsilon, generator, analytic=True) for one in tables],
                        [np.linalg.solve(one[:-1, :-1], one[:-1, -1]) for one in tables],
                    ]
                    errors = [float(np.sqrt(((np.array(each) - TRUTH[:width]) ** 2).mean())) for each in solutions]
                    ratios = " | ".join(f"{each / errors[0]:.2f}" for each in errors[1:])
                    print(f"| {n:,} | {width} | {design} | {epsilon} | {errors[0]:.4f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
