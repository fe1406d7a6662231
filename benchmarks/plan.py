"""Whether forecasts come true: the plan's share of R^2 kept against the exact one, on studies whole and cut short.

python -m benchmarks.plan FOLDER [--times 12]

FOLDER is as for `benchmarks.votes_rule`. The plan sees public facts alone: the study file, the number of rows, epsilon, and in one
column the R^2 of the study's BIC model. The exact share is the mean over `times` samples of the rows, two assignments of each.
"""

import argparse
import time
from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.votes_rule import Judge, by_votes, studies
from dpselect.assume.study import Study
from dpselect.rehearse.planning.outlook import outlook_study

NEAR = 0.1


def exact(table: pd.DataFrame, study: Study, rows: int, epsilon: float, times: int) -> float:
    kept = []
    for each in range(1 if rows == len(table) else times):
        some = table if rows == len(table) else table.sample(rows, random_state=9000 + each)
        judge = Judge(some, study)
        kept += [judge.marks(by_votes(some, study, epsilon))[0] for _ in range(2)]
    return float(np.mean(kept))


def cells(folder: str, times: int) -> Iterator[tuple[str, int, float, float, float, float, float, float]]:
    for name, study, table in studies(folder):
        judge = Judge(table, study)
        r2 = float(judge.r2[judge.best])
        for rows in (1000, 5000, len(table)):
            for epsilon in (1.0, 0.35):
                found = exact(table, study, rows, epsilon, times)
                start = time.process_time()
                blind = outlook_study(study, rows=rows, epsilon=epsilon, choice_only=True)
                seconds = time.process_time() - start
                given = outlook_study(study, rows=rows, epsilon=epsilon, r2=r2, choice_only=True)
                yield name, rows, epsilon, found, given.expected.kept, blind.low, blind.high, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--times", type=int, default=12)
    given = parser.parse_args()
    print(
        "| study | rows | epsilon | exact | plan, R^2 given | plan's range, nothing given |\n|---|---|---|---|---|---|"
    )
    near, inside, seconds = [], [], []
    for name, rows, epsilon, found, said, low, high, took in cells(given.folder, given.times):
        near.append((epsilon, abs(said - found) <= NEAR))
        inside.append(low <= min(found, 1.0) <= high)
        seconds.append(took)
        print(f"| {name} | {rows:,} | {epsilon} | {found:.2f} | {said:.2f} | {low:.2f} to {high:.2f} |", flush=True)
    for epsilon in (1.0, 0.35):
        print(f"within {NEAR} at epsilon {epsilon}: {np.mean([good for e, good in near if e == epsilon]):.2f}")
    print(f"within {NEAR}: {np.mean([good for _, good in near]):.2f}; in the range: {np.mean(inside):.2f}")
    print(f"processor seconds of a plan: {np.mean(seconds):.1f}, at most {max(seconds):.1f}")


if __name__ == "__main__":
    main()
