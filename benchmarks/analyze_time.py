"""What `dpselect analyze` costs on 25,357 made-up rows and 26 columns of a model, for several source trees in one run.

python -m benchmarks.analyze_time                                  this tree
python -m benchmarks.analyze_time ../dpselect-0.2.0/src src        two trees that take turns, and the ratio to the first
python -m benchmarks.analyze_time --frame                          this tree beyond its start: 30,000 rows and 12 numbers in memory

Told is processor time (user and system, all threads of the command), which a busy machine disturbs least; the trees take turns.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

import dpselect
from benchmarks.timing import in_words, table

ROWS = 25_357
NOISE = 10.5
"""Standard deviation of what the columns leave unexplained: the R² is then about 0.7."""
NUMBERS = {
    "size": (20, 300, 26),
    "rooms": (1, 12, 11),
    "age": (0, 150, -9),
    "floor": (0, 30, 5),
    "distance": (0, 40, -22),
    "lot": (0, 2000, 11),
    "noise": (30, 90, -6),
    "schools": (0, 10, 8),
    "year": (2000, 2020, 12),
}
"""Lower and upper bound, and how much the response rises from one to the other."""
CATEGORIES = {
    "county": (0, 6, 15, -7, 10, 3, -12),
    "heating": (0, 4, -6, 9, -3),
    "condition": (0, 6, 12, 18),
    "roof": (0, -5, 5),
    "garden": (0, 7),
}
"""What each category adds to the response. With the intercept and the numbers these are 26 columns of the model."""
COMMAND = "analyze study.toml houses.csv --epsilon 1 --delta 1e-6 --yes".split()


def write_study(folder, word="categories"):
    """The table, the same each time, and its study file; `word` is what categories are called there ("levels" in 0.2.0)."""
    chance = np.random.default_rng(2022)
    columns, price = {}, np.full(ROWS, 60.0)
    stated = ['[response]\nname = "price"\nlower = -60\nupper = 180\n']
    for name, (low, high, effect) in NUMBERS.items():
        share = chance.beta(2, 2, ROWS)
        columns[name] = (low + (high - low) * share).round(2)
        price += effect * (share - 0.5)
        stated.append(f'[[predictors]]\nname = "{name}"\nlower = {low}\nupper = {high}\n')
    for name, effects in CATEGORIES.items():
        places = chance.integers(len(effects), size=ROWS)
        columns[name] = np.array([f"{name}_{each}" for each in range(len(effects))])[places]
        price += np.array(effects)[places]
        names = ", ".join(f'"{name}_{each}"' for each in range(len(effects)))
        stated.append(f'[[predictors]]\nname = "{name}"\n{word} = [{names}]\n')
    explained = price.var()
    price += chance.normal(scale=NOISE, size=ROWS)
    columns["price"] = price.round(2)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    Path(folder, "houses.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path(folder, "study.toml").write_text("".join(stated), encoding="utf-8")
    return explained / price.var()


def seconds(tree):
    """The processor's seconds for one analysis by the package in a tree, in a folder of its own."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        write_study(folder, "levels" if (tree / "dpselect/assume/study/assumptions.py").exists() else "categories")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "dpselect", *COMMAND]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(f"{tree}: {done.stderr}")
        chosen = len(json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))["selection"]["columns"])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, chosen


def beyond_start(rounds):
    """The processor's seconds of analyses of a data frame in a process that has made one: 12 numbers, six of which act, or all."""
    warnings.simplefilter("ignore")
    chance, names = np.random.default_rng(2025), [f"x{j}" for j in range(12)]
    x = chance.normal(size=(30_000, 12))
    study = dpselect.Study(dpselect.Numeric("y", -8, 8), [dpselect.Numeric(name, -5, 5) for name in names])
    rows = []
    for acting in (6, 12):
        frame = pd.DataFrame(x, columns=names).assign(y=0.3 * x[:, :acting].sum(axis=1) + chance.normal(size=30_000))
        times = []
        for _ in range(rounds + 1):
            begun = time.process_time()
            dpselect.analyze(frame, study, epsilon=1, delta=1e-6)
            times.append(time.process_time() - begun)
        rows.append([acting, in_words(median(times[1:])), f"{in_words(min(times[1:]))} to {in_words(max(times[1:]))}"])
    title = f"analyze, 30,000 rows, 12 numbers: processor time beyond start, median of {rounds}"
    table(title, ["numbers that act", "time", "range"], rows)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analyze_time")
    parser.add_argument("trees", nargs="*", type=Path, help="folders that hold the package dpselect; ./src if none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frame", action="store_true", help="an analysis of a data frame, beyond start")
    asked = parser.parse_args()
    if asked.frame:
        beyond_start(asked.rounds)
        return
    trees = [each.absolute() for each in asked.trees or [Path(__file__).parents[1] / "src"]]
    spent = {tree: [] for tree in trees}
    for _ in range(asked.rounds):
        for tree, found in spent.items():
            found.append(seconds(tree))
    first = median(each for each, _ in spent[trees[0]])
    rows = []
    for tree, found in spent.items():
        times, chosen = zip(*found, strict=True)
        ends = f"{in_words(min(times))} to {in_words(max(times))}"
        rows.append(
            [tree, in_words(median(times)), ends, f"{median(times) / first:.2f}", f"{min(chosen)} to {max(chosen)}"]
        )
    with tempfile.TemporaryDirectory() as folder:
        share = write_study(folder)
    title = f"dpselect analyze, {ROWS:,} rows, 26 columns, R² {share:.2f}: processor time, median of {asked.rounds}"
    table(title, ["tree", "time", "range", "ratio", "columns chosen"], rows)


if __name__ == "__main__":
    main()
