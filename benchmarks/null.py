"""No association, no finding: how many idle variables are selected on skewed tables of every length, alone and beside effects.

python -m benchmarks.null made-up [--times 4] [--most 200000] [--only WORDS] | permuted [FOLDER] [--times 4]

An idle variable says nothing of the response, or nothing beside the others. What is counted is how many of them a release is
expected to select: exact laws given rows and dealing, averaged over tables and dealings. `permuted` shuffles the response of every
real table at hand: the 18 of `benchmarks.votes_heldout`, and the studies of FOLDER (NAME.toml with NAME.csv.gz beside it). Nothing
here protects data. Targets: at most .05 a run on average from 5,000 rows on at epsilon 1, .1 at epsilon .35, .15 below, and no
growth with rows.
"""

import argparse
import math
import os
from collections.abc import Callable

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np

from benchmarks.held import held
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric

Array = np.ndarray
Made = tuple[Array, Array, Array]
"""Columns, response, and which columns are idle."""
Maker = Callable[[np.random.Generator, int], Made]

PRICES = (1.0, 0.35)
ROWS = (1000, 2000, 5000, 20_000, 60_000, 200_000)
COLUMNS = 8


def most_idle(rows: int, epsilon: float) -> float:
    """The target."""
    return 0.15 if rows < 5000 else 0.05 if epsilon >= 1 else 0.1


def zero_heavy(rng: np.random.Generator, rows: int) -> Array:
    """A count that is mostly zero, with a long tail."""
    return rng.poisson(rng.gamma(0.15, 8.0, rows)).astype(float)


def rare(rng: np.random.Generator, rows: int, columns: int, low: float = 0.01, high: float = 0.06) -> Array:
    return (rng.random((rows, columns)) < np.linspace(low, high, columns)).astype(float)


def alone(
    columns: Callable[[np.random.Generator, int], Array], response: Callable[[np.random.Generator, int], Array]
) -> Maker:
    """All columns are idle."""

    def made(rng: np.random.Generator, rows: int) -> Made:
        X = columns(rng, rows)
        return X, response(rng, rows), np.ones(X.shape[1], bool)

    return made


def lognormal(rng: np.random.Generator, rows: int, columns: int = COLUMNS) -> Array:
    return np.exp(1.2 * rng.standard_normal((rows, columns)))


def mixture(rng: np.random.Generator, rows: int) -> Array:
    """Half rare dummies, half lognormal."""
    return np.column_stack([rare(rng, rows, COLUMNS // 2), lognormal(rng, rows, COLUMNS // 2)])


def yes(share: float) -> Callable[[np.random.Generator, int], Array]:
    return lambda rng, rows: (rng.random(rows) < share).astype(float)


def beside_skewed(rng: np.random.Generator, rows: int) -> Made:
    """Two strong lognormal columns; six idle ones go along with them, and are as skewed; noise is skewed too."""
    common = rng.standard_normal((rows, 1))
    X = np.exp(0.6 * common + 0.9 * rng.standard_normal((rows, COLUMNS)))
    y = X[:, 0] + 0.7 * X[:, 1] + np.exp(1.2 * rng.standard_normal(rows))
    return X, y, np.arange(COLUMNS) >= 2


def beside_rare(rng: np.random.Generator, rows: int) -> Made:
    """Two strong rare dummies; idle ones are likelier where those are 1; the response is a count with many zeros."""
    strong = rare(rng, rows, 2, 0.04, 0.06)
    together = 0.03 + 0.3 * strong.max(axis=1, keepdims=True)
    X = np.column_stack([strong, rng.random((rows, COLUMNS - 2)) < together]).astype(float)
    y = rng.poisson(rng.gamma(0.15, 8.0, rows) * (1 + 2 * strong[:, 0] + 1.5 * strong[:, 1])).astype(float)
    return X, y, np.arange(COLUMNS) >= 2


def beside_cases(rng: np.random.Generator, rows: int) -> Made:
    """5% yes, likelier by one lognormal column and one dummy; idle columns of both kinds go along with them."""
    common = rng.standard_normal(rows)
    strong = np.exp(common)
    dummy = rng.random(rows) < 0.1
    chance = np.minimum(0.02 * (1 + 0.8 * np.minimum(strong, 8) + 2 * dummy), 1)
    follow = [np.exp(0.7 * common + 0.7 * rng.standard_normal(rows)) for _ in range(3)]
    idle = [rng.random(rows) < 0.03 + 0.2 * dummy for _ in range(3)]
    X = np.column_stack([strong, dummy, *follow, *idle]).astype(float)
    return X, (rng.random(rows) < chance).astype(float), np.arange(COLUMNS) >= 2


def beside_rare_causes(gain: float) -> Maker:
    """3% yes, and `gain` more for each of three rare dummies; four idle dummies go along with any of them, two columns with none.

    A dummy that goes along with all three says as much by itself as each of them does. Where they are too weak to be found
    together, it stands in for them: at every length there is a gain for which that happens.
    """

    def made(rng: np.random.Generator, rows: int) -> Made:
        strong = (rng.random((rows, 3)) < 0.03).astype(float)
        follow = rng.random((rows, 4)) < 0.02 + 0.4 * strong.max(axis=1, keepdims=True)
        X = np.column_stack([strong, follow, np.exp(rng.standard_normal((rows, 2)))]).astype(float)
        chance = 0.03 + gain * np.minimum(strong.sum(axis=1), 2)
        return X, (rng.random(rows) < chance).astype(float), np.arange(X.shape[1]) >= 3

    return made


def beside_normal(rng: np.random.Generator, rows: int) -> Made:
    """Nothing is skewed: three effects, five idle columns with a correlation of .5."""
    X = math.sqrt(0.5) * (rng.standard_normal((rows, COLUMNS)) + rng.standard_normal((rows, 1)))
    return X, X[:, :3] @ [1.0, 0.7, 0.5] + rng.standard_normal(rows), np.arange(COLUMNS) >= 3


def nine_idle(rng: np.random.Generator, rows: int) -> Array:
    """Five yes/no columns with 3% to 50% yes, two lognormal and two normal ones."""
    dummies = rng.random((rows, 5)) < [0.03, 0.06, 0.12, 0.25, 0.5]
    return np.column_stack([dummies, np.exp(rng.standard_normal((rows, 2))), rng.standard_normal((rows, 2))]).astype(
        float
    )


def nine_beside_effects(rng: np.random.Generator, rows: int) -> Made:
    """10% yes on average, likelier by a lognormal column, a normal one and a dummy; the nine idle columns beside them."""
    strong = np.column_stack([np.exp(rng.standard_normal(rows)), rng.standard_normal(rows), rng.random(rows) < 0.2])
    logits = -3.1 + 0.8 * np.log(strong[:, 0]) + 0.6 * strong[:, 1] + 0.9 * strong[:, 2]
    X = np.column_stack([strong, nine_idle(rng, rows)])
    return X, (rng.random(rows) < 1 / (1 + np.exp(-logits))).astype(float), np.arange(X.shape[1]) >= 3


def follow_strong(*, binary: bool) -> Maker:
    """Three strong columns, skewed or rare, and six idle ones of which each goes along with one of them; so is the response."""

    def made(rng: np.random.Generator, rows: int) -> Made:
        leaders = rng.standard_normal((rows, 3))
        follow = 0.7 * np.repeat(leaders, 2, axis=1) + math.sqrt(1 - 0.49) * rng.standard_normal((rows, 6))
        Z = np.column_stack([leaders, follow])
        if binary:
            X = (Z > 1.5).astype(float)  # 7% yes
            chance = 0.04 + X[:, :3] @ [0.3, 0.25, 0.2]
            return X, (rng.random(rows) < chance).astype(float), np.arange(9) >= 3
        X = np.exp(Z)
        return X, X[:, :3] @ [1.0, 0.7, 0.5] + np.exp(1.2 * rng.standard_normal(rows)), np.arange(9) >= 3

    return made


def beside_gamma(rng: np.random.Generator, rows: int) -> Made:
    """One strong gamma column, two that go along with it (correlations .85 and .7), five that do not."""
    parts = rng.gamma(0.5, 1.0, (rows, 3))
    first = parts[:, 0]
    near = first + 0.62 * parts[:, 1], first + 1.02 * parts[:, 2]
    X = np.column_stack([first, *near, rng.gamma(0.5, 1.0, (rows, 5))])
    return X, first + 0.5 * rng.gamma(0.5, 1.0, rows), np.arange(8) >= 1


def wide(maker: Maker, copies: int) -> Maker:
    """Some tables of a setting side by side, the response being the first one's: more idle columns than sets can be listed of."""

    def made(rng: np.random.Generator, rows: int) -> Made:
        first = maker(rng, rows)
        others = [maker(rng, rows)[0] for _ in range(copies - 1)]
        X = np.column_stack([first[0], *others])
        return X, first[1], np.concatenate([first[2], np.ones(X.shape[1] - first[0].shape[1], bool)])

    return made


SETTINGS: dict[str, Maker] = {
    "lognormal, lognormal response": alone(lognormal, lambda rng, rows: np.exp(1.2 * rng.standard_normal(rows))),
    "rare dummies, zero-heavy count": alone(lambda rng, rows: rare(rng, rows, COLUMNS), zero_heavy),
    "lognormal, zero-heavy count": alone(lognormal, zero_heavy),
    "rare and lognormal, 1% yes": alone(mixture, yes(0.01)),
    "rare and lognormal, 5% yes": alone(mixture, yes(0.05)),
    "rare dummies, 10% yes": alone(lambda rng, rows: rare(rng, rows, COLUMNS), yes(0.1)),
    "normal, normal response": alone(
        lambda rng, rows: rng.standard_normal((rows, COLUMNS)), lambda rng, rows: rng.standard_normal(rows)
    ),
    "beside strong skewed": beside_skewed,
    "beside strong rare": beside_rare,
    "beside effects on 5% yes": beside_cases,
    "beside effects, correlation .5": beside_normal,
    "24 columns: lognormal": wide(alone(lognormal, lambda rng, rows: np.exp(1.2 * rng.standard_normal(rows))), 3),
    "24 columns: beside strong rare": wide(beside_rare, 3),
    "beside three rare effects on 3% yes": beside_rare_causes(0.25),
    "nine of all kinds, lognormal response": alone(
        nine_idle, lambda rng, rows: np.exp(1.2 * rng.standard_normal(rows))
    ),
    "nine of all kinds, 10% yes": alone(nine_idle, yes(0.1)),
    "nine of all kinds, zero-heavy count": alone(nine_idle, zero_heavy),
    "nine of all kinds beside effects, 10% yes": nine_beside_effects,
    "following strong skewed": follow_strong(binary=False),
    "following strong rare, binary response": follow_strong(binary=True),
    "beside one strong gamma": beside_gamma,
}


def expected_idle(made: Made, epsilon: float) -> float:
    """How many idle columns a release is expected to select, in one dealing."""
    X, y, idle = made
    study = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(X.shape[1])])
    return float(held((X, y), study, len(y), epsilon).inclusion[idle].sum())


def on_made_up(times: int, most: int, only: str) -> None:
    lengths = [rows for rows in ROWS if rows <= most]
    heads = " | ".join(f"{rows:,}" for rows in lengths)
    for epsilon in PRICES:
        print(f"| idle picks, epsilon {epsilon:g} | {heads} |\n|{'---|' * (1 + len(lengths))}")
        means = []
        for place, (label, maker) in enumerate(SETTINGS.items()):
            if only not in label:
                continue
            tables = [
                [maker(np.random.default_rng([24, place, rows, t]), rows) for t in range(times)] for rows in lengths
            ]
            found = [float(np.mean([expected_idle(made, epsilon) for made in each])) for each in tables]
            means.append(found)
            marks = [
                f"{value:.3f}{'' if value <= most_idle(n, epsilon) else ' !'}"
                for value, n in zip(found, lengths, strict=True)
            ]
            print(f"| {label} | {' | '.join(marks)} |", flush=True)
        print(f"| **mean** | {' | '.join(f'{value:.3f}' for value in np.mean(means, axis=0))} |", flush=True)


def on_permuted(folder: str | None, times: int) -> None:
    from benchmarks.votes_heldout import tables
    from benchmarks.votes_rule import studies

    found: dict[float, list[tuple[int, float]]] = {epsilon: [] for epsilon in PRICES}
    for place, (label, study, table) in enumerate([*tables([]), *(studies(folder) if folder else ())]):
        response, cells = study.response.name, []
        for epsilon, marks in found.items():
            picks = []
            for time in range(times):
                order = np.random.default_rng([24, place, time]).permutation(len(table))
                shuffled = table.assign(**{response: table[response].to_numpy()[order]})
                picks.append(float(held(shuffled, study, len(table), epsilon).inclusion.sum()))
            marks.append((len(table), float(np.mean(picks))))
            cells.append(f"{marks[-1][1]:.3f}")
        print(f"| {label} | {len(table):,} | {' | '.join(cells)} |", flush=True)
    for epsilon, marks in found.items():
        for words, here in (
            ("below 5,000 rows", [v for n, v in marks if n < 5000]),
            ("from 5,000 on", [v for n, v in marks if n >= 5000]),
        ):
            print(
                f"epsilon {epsilon:g}, {words}: mean {np.mean(here):.3f}, worst {max(here):.3f}, of {len(here)} tables"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("made-up", "permuted"))
    parser.add_argument("folder", nargs="?", help="of studies")
    parser.add_argument("--times", type=int, default=4, help="tables of a setting, or permutations of a table")
    parser.add_argument("--most", type=int, default=200_000, help="rows at most")
    parser.add_argument("--only", default="", help="settings whose name has these words")
    given = parser.parse_args()
    if given.what == "made-up":
        on_made_up(given.times, given.most, given.only)
    else:
        on_permuted(given.folder, given.times)


if __name__ == "__main__":
    main()
