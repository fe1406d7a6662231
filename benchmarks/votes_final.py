"""The final comparison of the rule for votes: made-up settings that were kept apart from tuning, exact chances given the tables.

python -m benchmarks.votes_final final [--sketch FILE ...] | regret | partitions     [--times 5]

FILE is a Python file with `choose(X, y, terms, epsilon, draws)`, which gives masks of terms: it chooses on the same tables, and its
chance of the right model is the share of its draws (up to 16 terms). Nothing here protects data: tables come from NumPy.
"""

import argparse
import importlib.util
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np

from benchmarks.held import chances_of, changed, mask_of_terms, recipe_for, votes_of
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric

Array = np.ndarray
PRICES = (0.25, 0.35, 0.5, 1.0)
DRAWS = 100


@dataclass(frozen=True)
class Made:
    """One made-up table."""

    X: Array
    y: Array
    right: Array


Maker = Callable[[np.random.Generator], Made]


def normal(rng: np.random.Generator, rows: int, columns: int, correlation: float, *, chain: bool = False) -> Array:
    """Normal columns, all equally correlated, or each with the one before."""
    X = rng.standard_normal((rows, columns))
    if not chain:
        return math.sqrt(1 - correlation) * X + math.sqrt(correlation) * rng.standard_normal((rows, 1))
    for j in range(1, columns):
        X[:, j] = correlation * X[:, j - 1] + math.sqrt(1 - correlation**2) * X[:, j]
    return X


def many(rows: int, columns: int, effects: int, ratio: float, correlation: float, fall: float) -> Maker:
    """Effects that fall by e^fall, with so much signal over noise; equal ones have one sign."""

    def table(rng: np.random.Generator) -> Made:
        X, b = normal(rng, rows, columns, correlation), np.zeros(columns)
        signs = rng.choice([-1, 1], effects) if fall else 1
        b[rng.permutation(columns)[:effects]] = np.exp(-fall * np.arange(effects) / (effects - 1)) * signs
        signal = X @ b
        return Made(X, signal + rng.standard_normal(rows) * signal.std() / math.sqrt(ratio), b != 0)

    return table


def together(rows: int, columns: int, effects: tuple[float, ...], correlation: float, *, chain: bool = False) -> Maker:
    """Few effects among columns that go along with each other."""

    def table(rng: np.random.Generator) -> Made:
        X, b = normal(rng, rows, columns, correlation, chain=chain), np.zeros(columns)
        b[np.linspace(0, columns - 2, len(effects)).astype(int) if chain else np.arange(len(effects))] = effects
        return Made(X, X @ b + rng.standard_normal(rows), b != 0)

    return table


def yes_or_no(rows: int, cases: float) -> Maker:
    """A response of 0 and 1; the first three of six columns matter."""

    def table(rng: np.random.Generator) -> Made:
        X = rng.uniform(-1, 1, (rows, 6))
        logits, low, high = X @ np.array([1.1, 0.7, 0.4, 0, 0, 0]), -20.0, 20.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if (1 / (1 + np.exp(-middle - logits))).mean() < cases else (low, middle)
        return Made(X, (rng.uniform(size=rows) < 1 / (1 + np.exp(-low - logits))).astype(float), np.arange(6) < 3)

    return table


def settings() -> Iterator[tuple[str, Maker, tuple[float, ...]]]:
    for rows, effects, ratio in ((1000, 4, 1.5), (2000, 5, 1.0), (8000, 6, 0.5)):
        yield f"30 columns, n = {rows:,}", many(rows, 30, effects, ratio, 0.2, 1.0), PRICES
    for rows in (1000, 2000, 8000):
        yield f"100 columns, n = {rows:,}", many(rows, 100, 5, 5.0, 0.1, 0.0), PRICES[2:]
    for rows in (300, 1000):
        yield f"correlation .5, n = {rows:,}", together(rows, 8, (0.6, 0.5, 0.4), 0.5), PRICES
        yield f"correlation .7, n = {rows:,}", together(rows, 6, (0.9, 0.7), 0.7), PRICES
        yield f"correlation .84, n = {rows:,}", together(rows, 6, (1.0, 0.8, 0.8), 0.84), PRICES
        yield f"chain of .7, n = {rows:,}", together(rows, 8, (0.8, 0.6, 0.5), 0.7, chain=True), PRICES
        yield f"company of .8, n = {rows:,}", together(rows, 6, (1.5,), 0.8), PRICES
    for rows, columns in ((252, 14), (800, 8), (6000, 12)):
        yield f"no signal, n = {rows:,}, {columns} columns", together(rows, columns, (), 0.0), PRICES
    for rows, cases in ((20_000, 0.05), (5_000, 0.2), (2_000, 0.5)):
        yield f"yes or no, {cases:.0%} cases, n = {rows:,}", yes_or_no(rows, cases), PRICES


@dataclass(frozen=True)
class Look:
    """How a rule is changed, for hindsight: multiples of its block size, threshold and ridge, or its partitions."""

    size: float = 1.0
    bar: float = 1.0
    ridge: float = 1.0
    partitions: int | None = None


class Booth:
    """One table at one price: votes are held once for each block size and ridge."""

    def __init__(self, made: Made, epsilon: float) -> None:
        self._made, self._epsilon = made, epsilon
        self._study = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(made.X.shape[1])])
        self._recipe = recipe_for(self._study, len(made.y), epsilon)
        self._held: dict[Any, Any] = {}

    def marks(self, look: Look = Look()) -> tuple[float, float, float]:  # noqa: B008
        """The chance of the right model, F1 of what is expected to be in, and how many terms that is."""
        assert self._recipe.votes is not None
        rule = changed(self._recipe.votes, look.size, look.bar, look.ridge, look.partitions)
        recipe, key = replace(self._recipe, votes=rule), (rule.blocks, rule.partitions, look.ridge)
        if key not in self._held:
            self._held[key] = votes_of((self._made.X, self._made.y), recipe)
        chances, right = chances_of(self._held[key], recipe), self._made.right
        mask = mask_of_terms(recipe, right)
        chance, inside = chances.chance_of(mask), chances.inclusion
        f1 = 2 * inside[right].sum() / (inside.sum() + right.sum()) if right.any() else chance
        return chance, float(f1), float(inside.sum())


def tables(label: str, maker: Maker, times: int) -> list[Made]:
    return [maker(np.random.default_rng([4711, time, sum(map(ord, label))])) for time in range(times)]


def by_draws(sketch: Any, made: Made, epsilon: float) -> float:
    terms = list(range(made.X.shape[1]))
    if len(terms) > 16:
        return math.nan
    truth = sum(1 << j for j in terms if made.right[j])
    return float(np.mean([mask == truth for mask in sketch.choose(made.X, made.y, terms, epsilon, DRAWS)]))


def final(times: int, sketches: list[Any]) -> None:
    heads = ["chance of the right model", "F1", "terms picked", *(sketch.__name__ for sketch in sketches)]
    print(f"| setting | epsilon | {' | '.join(heads)} |\n|{'---|' * (2 + len(heads))}")
    for label, maker, prices in settings():
        found = tables(label, maker, times)
        for epsilon in prices:
            marks = np.mean([Booth(made, epsilon).marks() for made in found], axis=0)
            others = [np.mean([by_draws(sketch, made, epsilon) for made in found]) for sketch in sketches]
            cells = " | ".join(f"{value:.2f}" for value in (*marks, *others))
            print(f"| {label} | {epsilon:g} | {cells} |", flush=True)


def regret(times: int) -> None:
    """Against the best of 5 block sizes, 5 thresholds and 3 ridges, known afterwards, setting by setting."""
    looks = [
        Look(s, b, r) for s in (0.5, 0.7, 1.0, 1.4, 2.0) for b in (0.5, 0.7, 1.0, 1.4, 2.0) for r in (0.0, 1.0, 3.0)
    ]
    print("| setting | epsilon | rule | best in hindsight | size, threshold, ridge |\n|---|---|---|---|---|")
    lost = []
    for label, maker, prices in settings():
        if label.startswith("100"):
            continue
        found = tables(label, maker, times)
        for epsilon in prices[1::2]:
            booths = [Booth(made, epsilon) for made in found]
            chances = {look: float(np.mean([booth.marks(look)[0] for booth in booths])) for look in looks}
            best, own = max(chances, key=lambda look: chances[look]), chances[Look()]
            lost.append(chances[best] - own)
            told = f"{own:.2f} | {chances[best]:.2f} | {best.size:g}, {best.bar:g}, {best.ridge:g}"
            print(f"| {label} | {epsilon:g} | {told} |", flush=True)
    print(f"| mean regret {np.mean(lost):.3f}, median {np.median(lost):.3f}, of {len(lost)} | | | | |")


def partitions(times: int) -> None:
    """What more or fewer dealings of the same rows buy."""
    counts = (1, 2, 4, 8, 16, 32, 64)
    print(f"| setting | epsilon | {' | '.join(f'T = {count}' for count in counts)} |\n|{'---|' * (2 + len(counts))}")
    chosen = (
        "correlation .5, n = 1,000",
        "chain of .7, n = 1,000",
        "yes or no, 50% cases, n = 2,000",
        "30 columns, n = 8,000",
    )
    for label, maker, _ in settings():
        if label not in chosen:
            continue
        found, epsilon = tables(label, maker, times), 0.5
        means = [np.mean([Booth(made, epsilon).marks(Look(partitions=count))[0] for made in found]) for count in counts]
        print(f"| {label} | {epsilon:g} | {' | '.join(f'{mean:.2f}' for mean in means)} |", flush=True)


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("final", "regret", "partitions"))
    parser.add_argument("--times", type=int, default=5, help="tables of a setting")
    parser.add_argument("--sketch", type=Path, action="append", default=[])
    given = parser.parse_args()
    if given.what == "final":
        final(given.times, [load(path) for path in given.sketch])
    elif given.what == "regret":
        regret(given.times)
    else:
        partitions(given.times)


if __name__ == "__main__":
    main()
