"""Block votes: against votes in plain NumPy, and against reading the table for moments alone; ratios in one run.

python -m benchmarks.votes [--quick] [--sketch FILE]

quick: a tenth of the rows. FILE is a Python file with `choose(X, y, terms, epsilon, draws)`, a whole choice by votes, to race too.
Files are read by fresh processes that read twice and time the second reading, as in `benchmarks.gather`.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np

from benchmarks.gather import RESULTS, names, peak_megabytes, write_table
from benchmarks.held import recipe_for, votes_of
from benchmarks.timing import best_of, in_words, table
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.gather.blocks import BlockSummary
from dpselect.gather.moments import MomentSummary
from dpselect.gather.rows import gather
from dpselect.gather.summary import Both
from dpselect.minimize.votes.votes import count_votes
from dpselect.penalize.penalize import penalize
from dpselect.release.selection import draw_selection

BLOCK = 35


def a_study(columns: list[str], *, bounds: bool = True) -> Study:
    predictors = [Numeric(each, -4, 4) if bounds else Numeric(each) for each in columns]
    return Study(Numeric("y", -30, 30) if bounds else Numeric("y"), predictors)


def made_up(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(columns)
    x = rng.normal(size=(rows, columns))
    return x, x @ rng.normal(size=columns) * 0.1 + rng.normal(size=rows)


def ours(x: np.ndarray, y: np.ndarray, partitions: int, *, bounds: bool = True) -> None:
    """dpselect: assignment, block sums, fits and votes."""
    study = a_study([f"x{j}" for j in range(x.shape[1])], bounds=bounds)
    sums = gather((x, y), study, BlockSummary(study, max(1, len(y) // BLOCK), partitions))
    count_votes(sums, ridge=0.0)


def edges(x: np.ndarray, y: np.ndarray, epsilon: float = 1.0, *, bounds: bool = True) -> None:
    """dpselect: the whole choice by edge votes, as a release makes it: equal blocks, votes beside every set, the draw."""
    study = a_study([f"x{j}" for j in range(x.shape[1])], bounds=bounds)
    recipe = recipe_for(study, len(y), epsilon)
    draw_selection(penalize(votes_of((x, y), recipe), recipe), recipe)


def plain(x: np.ndarray, y: np.ndarray, partitions: int) -> np.ndarray:
    """Signs of coefficients in NumPy as one would write it: rows sorted by block, sums by reduceat, batched inverses.

    Without the correction for skewness that dpselect's votes have.
    """
    rng, blocks, d = np.random.default_rng(), max(1, len(y) // BLOCK), x.shape[1]
    counts = np.zeros((2, d), dtype=int)
    for _ in range(partitions):
        block = rng.integers(0, blocks, len(y))
        order = np.argsort(block)
        z = np.column_stack([np.ones(len(y)), x, y])[order]
        starts = np.searchsorted(block[order], np.arange(blocks))
        sums = np.add.reduceat(z[:, :, None] * z[:, None, :], starts)
        n = sums[:, 0, 0]
        centred = sums[:, 1:, 1:] - sums[:, 0, 1:, None] * sums[:, 0, None, 1:] / n[:, None, None]
        inverse = np.linalg.inv(centred[:, :-1, :-1] + 1e-9 * np.eye(d))
        b = np.einsum("bij,bj->bi", inverse, centred[:, :-1, -1])
        counts += np.array([(b > 0).sum(axis=0), (b < 0).sum(axis=0)])
    return counts


def moments_alone(path: Path) -> None:
    """The moments, as `benchmarks.gather` has them."""
    gather(path, a_study(names(path)[:-1]))


def _blocks(path: Path, partitions: int, *, moments: bool, size: int = 1000, bounds: bool = True) -> None:
    """Blocks of about a thousand rows, as long tables have them."""
    study = a_study(names(path)[:-1], bounds=bounds)
    rows = int(path.stem.partition("x")[0])
    blocks = BlockSummary(study, max(1, rows // size), partitions)
    sums = gather(path, study, Both(blocks, MomentSummary(study)))[0] if moments else gather(path, study, blocks)
    count_votes(sums, ridge=0.01)


PROGRAMS = {
    "moments": moments_alone,
    "votes, 1 partition": lambda path: _blocks(path, 1, moments=False),
    "votes and moments, 1": lambda path: _blocks(path, 1, moments=True),
    "votes and moments, 2": lambda path: _blocks(path, 2, moments=True),
    "the same, blocks of 111": lambda path: _blocks(path, 2, moments=True, size=111),
    "votes without bounds, 1": lambda path: _blocks(path, 1, moments=False, bounds=False),
}


def measure_here(program: str, path: Path) -> dict[str, float]:
    """In a process of its own: the second of two runs."""
    PROGRAMS[program](path)
    clock, processor = time.perf_counter(), time.process_time()
    PROGRAMS[program](path)
    return {
        "seconds": time.perf_counter() - clock,
        "processor": time.process_time() - processor,
        "megabytes": peak_megabytes(),
    }


def files(rows: int, columns: int, turns: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{rows}x{columns}.parquet"
        write_table(path, rows, columns)
        for _ in range(turns):
            for program in PROGRAMS:
                command = [sys.executable, "-m", "benchmarks.votes", "--program", program, str(path)]
                done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                found[program] = {key: min(value, found.get(program, done)[key]) for key, value in done.items()}
    base = found["moments"]
    table(
        f"Parquet, {rows:,} rows of {columns} columns and a response, also as multiples of moments alone",
        ["", "clock", "processor", "x clock", "x processor", "MB"],
        [
            [
                program,
                in_words(values["seconds"]),
                in_words(values["processor"]),
                f"{values['seconds'] / base['seconds']:.2f}",
                f"{values['processor'] / base['processor']:.2f}",
                f"{values['megabytes']:.0f}",
            ]
            for program, values in found.items()
        ],
    )
    return found


def in_memory(sketch: Path | None, rounds: int) -> dict[str, float]:
    x, y = made_up(36_337, 12)
    contestants = {
        "dpselect, 4 partitions": lambda: ours(x, y, 4),
        "dpselect, 8 partitions": lambda: ours(x, y, 8),
        "dpselect, 16 partitions": lambda: ours(x, y, 16),
        "dpselect, 8, no bounds": lambda: ours(x, y, 8, bounds=False),
        "edge votes, whole choice": lambda: edges(x, y),
        "the same, no bounds": lambda: edges(x, y, bounds=False),
        "the same, epsilon .35": lambda: edges(x, y, 0.35),
        "plain NumPy, 16 partitions": lambda: plain(x, y, 16),
    }
    if sketch is not None:
        spec = importlib.util.spec_from_file_location("sketch", sketch)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        contestants[f"{sketch.stem}, whole choice"] = lambda: module.choose(x, y, list(range(12)), 1.0, 1)
    found = best_of(rounds, contestants, clock=time.process_time)
    base = found["dpselect, 8 partitions"]
    table(
        "36,337 rows of 12 columns in memory, blocks of 35 rows: processor time, as a multiple of dpselect's",
        ["", "time", "multiple"],
        [[each, in_words(seconds), f"{seconds / base:.1f}"] for each, seconds in found.items()],
    )
    return found


def growth(rounds: int) -> dict[str, float]:
    found = {}
    for rows, columns, partitions in [
        *((rows, 12, 4) for rows in (20_000, 40_000, 80_000, 160_000)),
        *((40_000, columns, 4) for columns in (6, 24, 48)),
        *((40_000, 12, partitions) for partitions in (1, 2, 8, 16)),
    ]:
        x, y = made_up(rows, columns)
        run = {"ours": lambda x=x, y=y, partitions=partitions: ours(x, y, partitions)}
        seconds = best_of(rounds, run, clock=time.process_time)["ours"]
        found[f"{rows}x{columns}, {partitions}"] = seconds
    table(
        "growth: rows x columns, partitions; nanoseconds a row and partition",
        ["", "time", "ns"],
        [
            [each, in_words(seconds), f"{seconds / (int(each.split('x')[0]) * int(each.split(', ')[1])) * 1e9:.0f}"]
            for each, seconds in found.items()
        ],
    )
    whole = {}
    for rows, columns in [*((rows, 8) for rows in (1000, 10_000, 100_000)), *((10_000, d) for d in (4, 12, 14))]:
        x, y = made_up(rows, columns)
        run = {"edges": lambda x=x, y=y: edges(x, y)}
        whole[f"{rows}x{columns}"] = best_of(rounds, run, clock=time.process_time)["edges"]
    table(
        "edge votes, a whole choice at epsilon 1: rows x columns",
        ["", "time"],
        [[each, in_words(seconds)] for each, seconds in whole.items()],
    )
    return found | whole


def main(*, quick: bool, sketch: Path | None) -> None:
    rounds = 5 if quick else 15
    results = {
        "in memory": in_memory(sketch, rounds),
        "growth": growth(rounds),
        "files": files(1_000_000 if quick else 10_000_000, 13, 1 if quick else 3),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / ("votes-quick.json" if quick else "votes.json")).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.votes")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--sketch", type=Path, help="a Python file with a function `choose` to race against")
    parser.add_argument("--program", nargs=2, metavar=("NAME", "PATH"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.program:
        print(json.dumps(measure_here(asked.program[0], Path(asked.program[1]))))
    else:
        main(quick=asked.quick, sketch=asked.sketch)
