"""Wide tables: the chance of the right model in a published setting, and what is selected where there is nothing.

`python -m benchmarks.wide` prints, for the setting of Prastakos et al. (NeurIPS 2025; five equal effects, SNR 5, correlation .1
of neighbours, epsilon 1), the exact chance of the right model given rows and dealing, the idle columns expected to be
selected beside it and with a permuted response, the seconds of processor time of a whole `select` and the process's peak of memory;
then skewed tables without any association. `--tables K` is the number of tables a line.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
from numpy.typing import NDArray

from dpselect import Numeric, Study, select
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.errors import NoLedgerWarning
from dpselect.gather.blocks import vote_summary
from dpselect.gather.rows import gather
from dpselect.minimize.minimize import minimize
from dpselect.penalize.penalize import penalize
from dpselect.rehearse.chances.votes import VoteChances

Floats = NDArray[np.float64]
RIVALS = {(100, 2000): ".00 / .08"}
"""Prastakos et al., top-R and mistakes, as `benchmarks.field` computes them: they are told that there are five effects."""
SETTINGS = ((100, 1000), (1000, 1500), (10_000, 2000), (100, 2000))
NULLS = ((500, 2000), (500, 8000), (2000, 4000))


def published(rng: np.random.Generator, n: int, p: int, effects: int = 5, snr: float = 5.0, rho: float = 0.1):
    """Columns of which neighbours have the correlation rho, the response, and the columns that matter: every second one."""
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    truth = np.arange(1, 2 * effects, 2)
    signal, noise = X[:, truth].sum(axis=1), rng.standard_normal(n)
    return X, signal + noise * np.linalg.norm(signal) / np.linalg.norm(noise) / np.sqrt(snr), truth


def skewed(kind: str, rng: np.random.Generator, n: int, p: int) -> tuple[Floats, Floats]:
    """Columns and a response that have nothing to do with each other."""
    if kind == "lognormal x lognormal":
        return rng.lognormal(0, 1.5, (n, p)), rng.lognormal(0, 1.5, n)
    if kind == "rare dummies x binary":
        return (rng.random((n, p)) < 0.03).astype(float), (rng.random(n) < 0.1).astype(float)
    return (rng.random((n, p)) < 0.16).astype(float), (rng.random(n) < 0.16).astype(
        float
    )  # where signs are biased most


def law(X: Floats, y: Floats, study: Study, epsilon: float) -> VoteChances:
    """The exact chances of a choice, given rows and dealing."""
    recipe = make_recipe(study, Choice(), rows=len(y), epsilon=epsilon)
    assert recipe.votes is not None
    rows = gather((X, y), study, vote_summary(study, recipe.votes, len(y)))
    return VoteChances(penalize(minimize(rows, recipe), recipe), epsilon)  # type: ignore[arg-type]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", NoLedgerWarning)
    rng = np.random.default_rng(24)
    heads = ["p", "n", "right", "idle selected", "idle, permuted response", "top-R / mistakes", "seconds", "MB"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for p, n in SETTINGS:
        study = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(p)])
        right, idle, null, seconds = [], [], [], []
        for _ in range(asked.tables):
            X, y, truth = published(rng, n, p)
            chances = law(X, y, study, asked.epsilon)
            right.append(chances.chance_of(1 + sum(2 << int(j) for j in truth)))
            idle.append(np.delete(chances.inclusion, truth).sum())
            null.append(law(X, rng.permutation(y), study, asked.epsilon).inclusion.sum())
            begun = time.process_time()
            select((X, y), study, epsilon=asked.epsilon)
            seconds.append(time.process_time() - begun)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rival = RIVALS.get((p, n), "-")
        means = f"{np.mean(right):.3f} | {np.mean(idle):.4f} | {np.mean(null):.4f} | {rival}"
        print(f"| {p:,} | {n:,} | {means} | {min(seconds):.1f} | {peak:.0f} |", flush=True)
    print("\n| no association | p | n | idle selected |\n|---|---|---|---|")
    for kind in ("lognormal x lognormal", "rare dummies x binary", "16% x 16%"):
        for p, n in NULLS:
            study = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(p)])
            found = [law(*skewed(kind, rng, n, p), study, asked.epsilon).inclusion.sum() for _ in range(asked.tables)]
            print(f"| {kind} | {p:,} | {n:,} | {np.mean(found):.4f} |", flush=True)


if __name__ == "__main__":
    main()
