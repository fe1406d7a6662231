"""What a choice by votes buys, by its public rule, with PCLS beside it: exact chances given the rows, averaged over assignments.

python -m benchmarks.votes_rule studies FOLDER | permuted FOLDER | rows FOLDER | directions [FOLDER] | simulated | many | regret

FOLDER has study files (NAME.toml) with a table beside each (NAME.csv.gz). Nothing here protects data: nothing is drawn, and tables
that are made up come from NumPy. Settings used to find the rule are named in docs/RESULTS.md; none of these are among them.
"""

import argparse
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import pandas as pd

from benchmarks.held import held, mask_of_terms, recipe_for
from dpselect.assume.candidates import columns_of
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.gather.rows import gather
from dpselect.rehearse.check.listed import recipe_probabilities
from dpselect.rehearse.simulate import Setting, draw
from paper.simulations import FIRST, HELD_OUT, SECOND

Array = np.ndarray
Table = tuple[Array, Array, Array]
"""Columns, response, and which columns have an effect."""


class Judge:
    """What the models of one table are worth: R^2 of each, and the one with the least BIC."""

    def __init__(self, table: pd.DataFrame, study: Study) -> None:
        self.moments = gather(table, study)
        self.rule = make_recipe(study, Choice(method="votes"), rows=len(table), epsilon=1).candidates
        n, xtx, xty, yty = self.moments.integers()
        gram, cross = np.array(xtx, float), np.array(xty, float)
        centred = gram - np.outer(gram[0], gram[0]) / gram[0, 0]
        covariance, total = cross - gram[0] * cross[0] / gram[0, 0], float(yty) - cross[0] ** 2 / gram[0, 0]
        units = [[j for j in columns_of(unit)] for unit in self.rule.terms]
        self.sets = np.array([[bool(mask & unit) for unit in self.rule.terms] for mask in self.rule])
        self.r2 = np.zeros(len(self.sets))
        bic = np.zeros(len(self.sets))
        for i, taken in enumerate(self.sets):
            columns = [j for unit, inside in zip(units, taken, strict=True) if inside for j in unit]
            if columns:
                b = np.linalg.lstsq(centred[np.ix_(columns, columns)], covariance[columns], rcond=None)[0]
                self.r2[i] = b @ covariance[columns] / total
            bic[i] = n * math.log1p(-self.r2[i]) + len(columns) * math.log(n)
        self.best = int(bic.argmin())

    def marks(self, chances: Array) -> Array:
        """Share of R^2 kept, F1 against the BIC model, terms picked, inclusion of BIC's terms less that of the others."""
        right = self.sets[self.best]
        kept = chances @ self.r2 / max(self.r2[self.best], 1e-12)
        sizes = self.sets.sum(axis=1)
        f1 = chances @ (2 * self.sets[:, right].sum(axis=1) / np.maximum(sizes + right.sum(), 1))
        inside = chances @ self.sets
        contrast = (inside[right].mean() if right.any() else 1.0) - (inside[~right].mean() if (~right).any() else 0.0)
        return np.array([kept, f1, chances @ sizes, contrast])


def studies(folder: str) -> Iterator[tuple[str, Study, pd.DataFrame]]:
    for path in sorted(Path(folder).glob("*.toml")):
        yield path.stem, Study.read(str(path)), pd.read_csv(path.with_suffix(".csv.gz"))


def by_votes(table: pd.DataFrame, study: Study, epsilon: float, **hindsight: float) -> Array:
    return held(table, study, len(table), epsilon, **hindsight).listed()


def by_losses(judge: Judge, study: Study, rows: int, epsilon: float) -> Array:
    recipe = make_recipe(study, Choice(method="pcls"), rows=rows, epsilon=epsilon)
    chances = dict(zip(recipe.candidates, recipe_probabilities(judge.moments, recipe), strict=True))
    return np.array([chances.get(mask, 0.0) for mask in judge.rule])


def on_studies(folder: str, times: int) -> None:
    print(
        "| study | rows | BIC's terms | epsilon | votes: kept, F1, picked, contrast | PCLS, the same |\n|---|---|---|---|---|---|"
    )
    everything: dict[float, list[Array]] = {1.0: [], 0.35: []}
    for name, study, table in studies(folder):
        judge = Judge(table, study)
        for epsilon, marks in everything.items():
            votes = np.mean([judge.marks(by_votes(table, study, epsilon)) for _ in range(times)], axis=0)
            losses = judge.marks(by_losses(judge, study, len(table), epsilon))
            marks.append(np.concatenate([votes, losses]))
            found = f"{judge.sets[judge.best].sum()} of {judge.sets.shape[1]}"
            print(f"| {name} | {len(table):,} | {found} | {epsilon} | {_row(votes)} | {_row(losses)} |", flush=True)
    for epsilon, marks in everything.items():
        mean = np.mean(marks, axis=0)
        print(f"| **mean** | | | {epsilon} | {_row(mean[:4])} | {_row(mean[4:])} |")


def on_rows(folder: str, times: int) -> None:
    print("| rows | epsilon | votes: kept, F1, picked, contrast | PCLS |\n|---|---|---|---|")
    for rows in (1000, 2000, 5000):
        for epsilon in (1.0, 0.35):
            marks = []
            for place, (_, study, table) in enumerate(studies(folder)):
                for time in range(times):
                    some = table.sample(rows, random_state=1000 * place + time + 500)
                    judge = Judge(some, study)
                    losses = judge.marks(by_losses(judge, study, rows, epsilon))
                    marks.append(np.concatenate([judge.marks(by_votes(some, study, epsilon)), losses]))
            mean = np.mean(marks, axis=0)
            print(f"| {rows:,} | {epsilon} | {_row(mean[:4])} | {_row(mean[4:])} |", flush=True)


def on_permuted(folder: str, times: int) -> None:
    print("| epsilon | terms picked | empty model |\n|---|---|---|")
    for epsilon in (1.0, 0.35):
        picked, empty = [], []
        for place, (_, study, table) in enumerate(studies(folder)):
            for time in range(times):
                order = np.random.default_rng([place, time, 7]).permutation(len(table))
                response = study.response.name
                shuffled = table.assign(**{response: table[response].to_numpy()[order]})
                chances = held(shuffled, study, len(table), epsilon)
                picked.append(chances.inclusion.sum())
                empty.append(chances.chance_of(mask_of_terms(recipe_for(study, len(table), epsilon), ())))
        print(f"| {epsilon} | {np.mean(picked):.3f} | {np.mean(empty):.3f} |", flush=True)


def least_squares(table: pd.DataFrame, study: Study) -> tuple[Array, Array]:
    """Coefficients of all columns and their t, without privacy."""
    n, xtx, xty, yty = gather(table, study).integers()
    gram, cross = np.array(xtx, float), np.array(xty, float)
    inverse = np.linalg.pinv(gram)
    b = inverse @ cross
    variance = (float(yty) - b @ cross) / (n - len(b))
    return b, b / np.sqrt(np.maximum(np.diag(inverse) * variance, 1e-300))


def on_directions(folder: str | None, times: int) -> None:
    """Of the directions that are told of terms of one column with |t| > 2: how many agree with least squares on all columns."""
    from benchmarks.votes_heldout import tables

    for epsilon in (1.0, 0.35):
        agree = told = count = clear = 0.0
        for _, study, table in [*tables([]), *(studies(folder) if folder else ())]:
            recipe = recipe_for(study, len(table), epsilon)
            count += 1
            if not recipe.directions:
                continue
            clear += 1
            b, t = least_squares(table, study)
            single = [columns_of(term)[0] for term in recipe.candidates.terms if term.bit_count() == 1]
            sure = [column for column in single if abs(t[column]) > 2]
            for _ in range(times):
                ways = held(table, study, len(table), epsilon).directions
                agree += sum(ways[int(b[column] < 0), column] for column in sure)
                told += ways[:, sure].sum()
        share = agree / max(told, 1e-12)
        print(
            f"epsilon {epsilon:g}: told in {clear:.0f} of {count:.0f} tables; {share:.2%} of {told / times:.0f} agree"
        )


def right(table: Table, epsilon: float, **hindsight: float) -> tuple[float, float]:
    """The chance of exactly the columns with an effect, and how many terms are picked."""
    X, y, effects = table
    names = [f"x{j}" for j in range(X.shape[1])]
    study = Study(Numeric("y"), [Numeric(each) for each in names])
    chances = held((X, y), study, len(y), epsilon, **hindsight)
    mask = mask_of_terms(recipe_for(study, len(y), epsilon), effects)
    return chances.chance_of(mask), float(chances.inclusion.sum())


def made(setting: Setting) -> Callable[[int], Table]:
    return lambda time: (*draw(setting, np.random.SeedSequence([2026, time])), np.array(setting.effects) != 0)


def binary(rows: int, cases: float) -> Callable[[int], Table]:
    """A response of 0 and 1; odds ratios 3, 2 and 1.5 per half range of the first three of six columns."""

    def table(time: int) -> Table:
        rng = np.random.default_rng([2027, time])
        X = rng.uniform(-1, 1, (rows, 6))
        logits = X @ np.array([*np.log([3, 2, 1.5]), 0, 0, 0])
        low, high = -20.0, 20.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if (1 / (1 + np.exp(-middle - logits))).mean() < cases else (low, middle)
        return X, (rng.uniform(size=rows) < 1 / (1 + np.exp(-low - logits))).astype(float), np.arange(6) < 3

    return table


def wide(
    rows: int, columns: int = 100, effects: int = 5, correlation: float = 0.1, ratio: float = 5.0
) -> Callable[[int], Table]:
    """Equal effects with so much signal over noise; equally correlated normal columns."""

    def table(time: int) -> Table:
        rng = np.random.default_rng([2028, time])
        X = math.sqrt(1 - correlation) * rng.standard_normal((rows, columns)) + math.sqrt(
            correlation
        ) * rng.standard_normal((rows, 1))
        active = np.isin(np.arange(columns), rng.permutation(columns)[:effects])
        signal = X @ active.astype(float)
        return (
            X,
            signal
            + rng.standard_normal(rows) * math.sqrt(effects + effects * (effects - 1) * correlation) / math.sqrt(ratio),
            active,
        )

    return table


def nothing(rows: int, columns: int) -> Callable[[int], Table]:
    def table(time: int) -> Table:
        rng = np.random.default_rng([2029, time])
        return rng.standard_normal((rows, columns)), rng.standard_normal(rows), np.zeros(columns, bool)

    return table


def simulated_settings() -> list[tuple[str, Callable[[int], Table], float]]:
    paper = [(f"{s.name}, n = 1000", made(s), e) for s in (FIRST, SECOND) for e in (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)]
    out = [(f"held out: {setting.name}", made(setting), epsilon) for setting, epsilon in HELD_OUT]
    cases = [
        ("binary, 5% cases, n = 50,000", binary(50_000, 0.05), 1.0),
        ("binary, half cases, n = 3,000", binary(3_000, 0.5), 1.0),
    ]
    return [
        *paper,
        *out,
        *cases,
        ("no signal, n = 252, 14 columns", nothing(252, 14), 0.35),
        ("no signal, n = 3,000, 10 columns", nothing(3000, 10), 1.0),
    ]


def on_settings(settings: list[tuple[str, Callable[[int], Table], float]], times: int) -> None:
    print("| setting | epsilon | P(right) | terms picked |\n|---|---|---|---|")
    for label, table, epsilon in settings:
        chance, picked = np.mean([right(table(time), epsilon) for time in range(times)], axis=0)
        print(f"| {label} | {epsilon} | {chance:.3f} | {picked:.2f} |", flush=True)


def many_settings() -> list[tuple[str, Callable[[int], Table], float]]:
    return [(f"100 columns, 5 effects, n = {rows:,}", wide(rows), 1.0) for rows in (1000, 2000, 3000, 5000, 8000)]


def on_hindsight(times: int) -> None:
    """The rule against the best of 5 block sizes and 5 thresholds, known afterwards, setting by setting."""
    print(
        "| setting | epsilon | rule | best in hindsight | block size, threshold, as multiples |\n|---|---|---|---|---|"
    )
    lost = []
    for label, table, epsilon in simulated_settings():
        found = {}
        for size in (0.5, 0.7, 1.0, 1.4, 2.0):
            for bar in (0.5, 0.7, 1.0, 1.4, 2.0):
                found[size, bar] = np.mean(
                    [right(table(time), epsilon, size=size, bar=bar)[0] for time in range(times)]
                )
        best = max(found, key=lambda key: found[key])
        lost.append(found[best] - found[1.0, 1.0])
        print(
            f"| {label} | {epsilon} | {found[1.0, 1.0]:.3f} | {found[best]:.3f} | {best[0]:g}, {best[1]:g} |",
            flush=True,
        )
    print(f"| **mean regret** | | | {np.mean(lost):.3f} | |")


def _row(marks: Array) -> str:
    return f"{marks[0]:.3f}, {marks[1]:.3f}, {marks[2]:.2f}, {marks[3]:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("studies", "permuted", "rows", "directions", "simulated", "many", "regret"))
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--times", type=int, default=5, help="assignments of a table, or tables of a setting")
    given = parser.parse_args()
    on_folder = {"studies": on_studies, "permuted": on_permuted, "rows": on_rows}
    if given.what in on_folder:
        if given.folder is None:
            parser.error("name the folder of studies")
        on_folder[given.what](given.folder, given.times)
    elif given.what == "directions":
        on_directions(given.folder, given.times)
    elif given.what == "regret":
        on_hindsight(given.times)
    else:
        on_settings(simulated_settings() if given.what == "simulated" else many_settings(), given.times)


if __name__ == "__main__":
    main()
