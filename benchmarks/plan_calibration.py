"""Whether a plan's chances are kept: made-up studies of many kinds, none of which is a scenario that plans suppose.

python -m benchmarks.plan_calibration [--times 100] [--first 0]

Each study has 4 to 8 columns, some of them skewed or zeros and ones, with one correlation up to .6, effects of falling or equal
size among them, 300 to 20,000 rows, R^2 of .03 to .6 and a price of .25 to 2. The plan is told rows, epsilon and R^2. What is
right is the model that BIC chooses in the table without privacy; its chance, and the share of its R^2 that is kept, are exact
given the table.
"""

import argparse
import math
import os
from itertools import pairwise

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np

from benchmarks.held import held, recipe_for
from dpselect.assume.candidates import columns_of
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Numeric
from dpselect.rehearse.planning.outlook import outlook_study

EDGES = (0.0, 0.1, 0.3, 0.6, 0.9, 1.01)


def a_study(seed: int) -> tuple[Study, np.ndarray, np.ndarray, float, float]:
    """(assumptions, columns, response, epsilon, R^2 of the signal)."""
    rng = np.random.default_rng([77, seed])
    width, rows = int(rng.integers(4, 9)), int(math.exp(rng.uniform(math.log(300), math.log(20_000))))
    epsilon, r2 = float(rng.choice([0.25, 0.35, 0.5, 1.0, 2.0])), math.exp(rng.uniform(math.log(0.03), math.log(0.6)))
    share = rng.uniform(0, 0.6)
    X = math.sqrt(1 - share) * rng.standard_normal((rows, width)) + math.sqrt(share) * rng.standard_normal((rows, 1))
    kinds = rng.choice(["plain", "skewed", "two"], width, p=[0.4, 0.2, 0.4])
    for j, kind in enumerate(kinds):
        if kind == "skewed":
            X[:, j] = np.exp(0.7 * X[:, j])
        elif kind == "two":
            X[:, j] = X[:, j] > np.quantile(X[:, j], rng.uniform(0.5, 0.9))
    active, fall = int(rng.integers(1, width + 1)), rng.uniform(0, 3)
    b = np.zeros(width)
    b[rng.permutation(width)[:active]] = np.exp(-fall * np.arange(active) / max(active - 1, 1)) * rng.choice(
        [-1, 1], active
    )
    signal = X / X.std(axis=0) @ b
    y = signal * math.sqrt(r2 / (1 - r2)) / signal.std() + rng.standard_normal(rows)
    variables = [Binary(f"x{j}", [0, 1]) if kind == "two" else Numeric(f"x{j}") for j, kind in enumerate(kinds)]
    return Study(Numeric("y"), variables), X, y, epsilon, r2


def exact(study: Study, X: np.ndarray, y: np.ndarray, epsilon: float) -> tuple[float, float]:
    """The chance of BIC's model and the share of its R^2 that is kept, over two dealings."""
    recipe, n = recipe_for(study, len(y), epsilon), len(y)
    Z, w = X - X.mean(axis=0), y - y.mean()
    shares, bic = [], []
    for mask in recipe.candidates:
        own = [j - 1 for j in columns_of(mask) if j > 0]
        b = np.linalg.lstsq(Z[:, own], w, rcond=None)[0] if own else np.zeros(0)
        shares.append(1 - float(((w - Z[:, own] @ b) ** 2).sum() / (w @ w)) if own else 0.0)
        bic.append(n * math.log1p(-min(shares[-1], 1 - 1e-12)) + len(own) * math.log(n))
    best, marks = int(np.argmin(bic)), []
    for _ in range(2):
        chances = held((X, y), study, n, epsilon).listed()
        kept = chances @ np.array(shares) / shares[best] if shares[best] > 0 else 1.0
        marks.append((chances[best], min(kept, 1.0)))
    return tuple(np.mean(marks, axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first study")
    given, rows = parser.parse_args(), []
    for seed in range(given.first, given.first + given.times):
        study, X, y, epsilon, r2 = a_study(seed)
        right, kept = exact(study, X, y, epsilon)
        plan = outlook_study(study, rows=len(y), epsilon=epsilon, r2=r2, choice_only=True)
        scenarios = np.mean([each.right for _, each in plan.scenarios])
        rows.append((plan.expected.right, scenarios, right, plan.expected.kept, kept, plan.works, plan.low, plan.high))
    found = np.array(rows, dtype=float)
    for title, said, true in (
        ("the right model", 0, 2),
        ("the right model, mean of scenarios", 1, 2),
        ("R^2 kept", 3, 4),
    ):
        print(f"| {title}: said | settings | mean said | mean exact |\n|---|---|---|---|")
        for low, high in pairwise(EDGES):
            here = (found[:, said] >= low) & (found[:, said] < high)
            if here.any():
                means = found[here].mean(axis=0)
                print(f"| {low:g} to {min(high, 1):g} | {here.sum()} | {means[said]:.2f} | {means[true]:.2f} |")
    for works in (0, 1):
        here = found[:, 5] == works
        told = "works" if works else "close to a lottery, or little will be found"
        print(
            f"{told}: {here.sum()} settings, exact chance {found[here, 2].mean():.2f}, kept {found[here, 4].mean():.2f}"
        )
    inside = ((found[:, 6] <= found[:, 4]) & (found[:, 4] <= found[:, 7])).mean()
    print(
        f"R^2 kept within .1 of said: {(np.abs(found[:, 3] - found[:, 4]) <= 0.1).mean():.2f}; in their range: {inside:.2f}"
    )


if __name__ == "__main__":
    main()
