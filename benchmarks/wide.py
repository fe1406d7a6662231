"""Wide tables: the chance of the right model in a published setting, and what is selected where there is nothing.

`python -m benchmarks.wide` prints, for the setting of Prastakos et al. (NeurIPS 2025; five equal effects, SNR 5, correlation .1
of neighbours, epsilon 1), the exact chance of the right model given rows and dealing, the idle columns expected to be
selected beside it and with a permuted response, the seconds of processor time of a whole `select` and the process's peak of memory;
then tables whose columns go together, and skewed tables without any association. `--tables K` is the number of tables a line.
`--only` names one of the three parts.
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
from dpselect.rehearse.chances.second_look import LookedChances
from dpselect.rehearse.check.voted import CHANCES, Chances

Floats = NDArray[np.float64]
RIVALS = {(100, 2000): ".00 / .08"}
"""Prastakos et al., top-R and mistakes, as `benchmarks.field` computes them: they are told that there are five effects."""
SETTINGS = ((100, 1000), (1000, 1500), (10_000, 2000), (100, 2000), (1000, 4000), (10_000, 6000))
TOGETHER = (  # neighbours' correlation, common factor, effects, R^2, p, n
    *((rho, 0.0, 5, 5 / 6, 1000, n) for rho in (0.5, 0.9) for n in (3000, 6000, 12_000)),
    *((0.0, share, 5, 5 / 6, 1000, n) for share in (0.2, 0.5) for n in (3000, 6000)),
    *((0.5, 0.0, 5, 0.3, p, n) for p, n in ((200, 4000), (1000, 4000), (1000, 6000))),
    *((0.1, 0.0, effects, 5 / 6, 1000, n) for effects, n in ((1, 4000), (8, 6000), (10, 12_000), (15, 12_000))),
    (0.5, 0.0, 10, 5 / 6, 1000, 12_000),
    (0.9, 0.0, 5, 5 / 6, 300, 50_000),
    (0.5, 0.0, 5, 5 / 6, 10_000, 6000),
)
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


def law(X: Floats, y: Floats, study: Study, epsilon: float) -> Chances:
    """The exact chances of a choice, given rows and dealing."""
    recipe = make_recipe(study, Choice(), rows=len(y), epsilon=epsilon)
    assert recipe.votes is not None
    rows = gather((X, y), study, vote_summary(study, recipe.votes, len(y)))
    scores = penalize(minimize(rows, recipe), recipe)
    return CHANCES[type(scores)](scores, epsilon, "permute-and-flip")


def together(rng: np.random.Generator, rho: float, share: float, effects: int, r2: float, p: int, n: int):
    """As `published`, with a factor that is common to all columns and has that share of their variance."""
    X, _, truth = published(rng, n, p, effects, 5.0, rho)
    X = np.sqrt(1 - share) * X + np.sqrt(share) * rng.standard_normal((n, 1))
    signal, noise = X[:, truth].sum(axis=1), rng.standard_normal(n)
    return X, signal + noise * np.linalg.norm(signal) / np.linalg.norm(noise) * np.sqrt((1 - r2) / r2), truth


def study_of(p: int) -> Study:
    """Columns without bounds."""
    return Study(Numeric("y"), [Numeric(f"x{j}") for j in range(p)])


def the_published_setting(rng: np.random.Generator, tables: int, epsilon: float) -> None:
    """The chance of the right model beside published ones."""
    heads = ["p", "n", "right", "idle selected", "idle, permuted response", "top-R / mistakes", "seconds", "MB"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for p, n in SETTINGS:
        study = study_of(p)
        right, idle, null, seconds = [], [], [], []
        for _ in range(tables):
            X, y, truth = published(rng, n, p)
            chances = law(X, y, study, epsilon)
            right.append(chances.chance_of(1 + sum(2 << int(j) for j in truth)))
            idle.append(np.delete(chances.inclusion, truth).sum())
            null.append(law(X, rng.permutation(y), study, epsilon).inclusion.sum())
            begun = time.process_time()
            select((X, y), study, epsilon=epsilon)
            seconds.append(time.process_time() - begun)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rival = RIVALS.get((p, n), "-")
        means = f"{np.mean(right):.3f} | {np.mean(idle):.4f} | {np.mean(null):.4f} | {rival}"
        print(f"| {p:,} | {n:,} | {means} | {min(seconds):.1f} | {peak:.0f} |", flush=True)


def what_goes_together(rng: np.random.Generator, tables: int, epsilon: float) -> None:
    """Companions, a common factor, weak and many effects."""
    print(
        "\n| neighbours | factor | effects | R² | p | n | looks | right | found | idle | seconds |"
        + "\n"
        + "|---" * 11
        + "|"
    )
    for rho, share, effects, r2, p, n in TOGETHER:
        right, found, idle, seconds = [], [], [], []
        for _ in range(tables):
            X, y, truth = together(rng, rho, share, effects, r2, p, n)
            begun = time.process_time()
            chances = law(X, y, study_of(p), epsilon)
            seconds.append(time.process_time() - begun)
            right.append(chances.chance_of(1 + sum(2 << int(j) for j in truth)))
            found.append(chances.inclusion[truth].sum())
            idle.append(np.delete(chances.inclusion, truth).sum())
        looks = 1 + isinstance(chances, LookedChances)
        means = f"{np.mean(right):.3f} | {np.mean(found):.2f} | {np.mean(idle):.4f} | {min(seconds):.1f}"
        print(f"| {rho:g} | {share:g} | {effects} | {r2:.2f} | {p:,} | {n:,} | {looks} | {means} |", flush=True)


def no_association(rng: np.random.Generator, tables: int, epsilon: float) -> None:
    """What is selected where there is nothing."""
    print("\n| no association | p | n | idle selected |\n|---|---|---|---|")
    for kind in ("lognormal x lognormal", "rare dummies x binary", "16% x 16%"):
        for p, n in NULLS:
            study = study_of(p)
            found = [law(*skewed(kind, rng, n, p), study, epsilon).inclusion.sum() for _ in range(tables)]
            print(f"| {kind} | {p:,} | {n:,} | {np.mean(found):.4f} |", flush=True)


PARTS = {"published": the_published_setting, "together": what_goes_together, "nothing": no_association}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--only", choices=list(PARTS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore", NoLedgerWarning)
    for name, part in PARTS.items():
        if asked.only in (None, name):
            part(np.random.default_rng(24), asked.tables, asked.epsilon)


if __name__ == "__main__":
    main()
