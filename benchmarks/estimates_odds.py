"""Odds ratios through the whole program on made-up tables: `python benchmarks/estimates_odds.py --releases 100`.

Coverage of 95% intervals, the share of terms that is released, and the root mean squared error of log odds ratios beside that of
maximum likelihood without privacy. Numbers are in docs/ESTIMATES.md.
"""

from __future__ import annotations

import argparse

import numpy as np

import dpselect

SLOPES = np.array([1.1, 0.7, 0.4, 0.0, 0.0])  # over half the range of a column: odds ratios 3, 2, 1.5, 1, 1
CELLS = [
    *((10_000, 0.5, 0.0), (50_000, 0.05, 0.0), (3_000, 0.5, 0.0), (10_000, 0.5, 0.6), (50_000, 0.5, 0.0)),
    *((20_000, 0.5, 0.6), (40_000, 0.5, 0.6)),
]


def logistic(eta: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-eta))


def table(n: int, base: float, correlation: float, generator: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Uniform columns (mixed with the first by `correlation`), answers with a share `base` of yes, and the intercept."""
    x = generator.uniform(-1, 1, (n, len(SLOPES)))
    x[:, 1:] = correlation * x[:, :1] + (1 - correlation) * x[:, 1:]
    low, high = -9.0, 9.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if logistic(middle + x @ SLOPES).mean() < base else (low, middle)
    return x, (generator.random(n) < logistic(low + x @ SLOPES)).astype(float), np.array([low, *SLOPES])


def likeliest(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    design, b = np.column_stack([np.ones(len(y)), x]), np.zeros(x.shape[1] + 1)
    for _ in range(25):
        p = logistic(design @ b)
        b += np.linalg.solve(design.T @ (design * (p * (1 - p))[:, None]), design.T @ (y - p))
    return b


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=100)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--cells", type=int, nargs="+", default=list(range(len(CELLS))))
    options = parser.parse_args()
    names = [f"x{j}" for j in range(len(SLOPES))]
    a_study = dpselect.Study(dpselect.Binary("y", [0, 1]), [dpselect.Numeric(name, -1, 1) for name in names])
    print(
        "| n | share of yes | correlation | released | coverage | least covered | error | maximum likelihood | ratio |"
    )
    print("|" + "---|" * 9)
    for place in options.cells:
        n, base, correlation = CELLS[place]
        generator = np.random.default_rng([7, place])
        hits, errors, others, seen = [], [], [], []
        for _ in range(options.releases):
            x, y, truth = table(n, base, correlation, generator)
            got = dpselect.estimate(
                (x, y), names, study=a_study, epsilon=options.epsilon, delta=options.delta, family="binomial"
            )
            seen.append([term.determined for term in got.terms])
            hits.append(
                [t.lower <= b <= t.upper if t.determined else np.nan for t, b in zip(got.terms, truth, strict=True)]
            )
            errors.append([np.nan if t.value is None else t.value - b for t, b in zip(got.terms, truth, strict=True)])
            others.append(likeliest(x, y) - truth)
        error, other = (np.sqrt(np.nanmean(np.array(each)[:, 1:] ** 2)) for each in (errors, others))
        covered = np.nanmean(hits, axis=0)
        numbers = f"{np.mean(seen):.2f} | {np.nanmean(hits):.3f} | {covered.min():.2f} | {error:.3f} | {other:.3f}"
        print(f"| {n:,} | {base} | {correlation} | {numbers} | {error / other:.2f} |", flush=True)


if __name__ == "__main__":
    main()
