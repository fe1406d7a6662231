"""`check` on 14 variables with 27 columns, and `plan` for up to 30 columns: what a custodian waits for.

python -m benchmarks.check      prints tables, writes benchmarks/results/check.json

Beside `check` stands what the same looks cost by the list solver, which is what 0.1.0 used.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import json
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import in_words, once, table
from dpselect import Categorical, Numeric, Study
from dpselect.assume.budget import Budget
from dpselect.assume.recipe import Choice
from dpselect.gather.fit import near_twins
from dpselect.gather.rows import gather
from dpselect.minimize.losses.l1_ball import list_losses
from dpselect.rehearse.planning.outlook import outlook_study
from dpselect.use.check import Rehearsal

ROWS = 3000
LOOKS = 22
"""As many computations as 0.1.0 made: the stated setting, and seven of the price, the penalty and the radius."""
LEVELS = (3, 4, 5, 6, 4)


def a_study(seed=20261115):
    """(columns by name, the assumptions): nine numbers and five categories."""
    rng = np.random.default_rng(seed)
    numbers = {f"x{j}": rng.uniform(-1, 1, ROWS) for j in range(9)}
    levels = {f"c{k}": rng.integers(0, count, ROWS) for k, count in enumerate(LEVELS)}
    y = 0.6 * numbers["x0"] + 0.4 * (levels["c3"] > 2) + 0.2 * numbers["x1"] + rng.normal(0, 0.5, ROWS)
    words = {name: [f"level {level}" for level in codes] for name, codes in levels.items()}
    predictors = [Numeric(name, -1, 1) for name in numbers]
    predictors += [Categorical(f"c{k}", [f"level {level}" for level in range(n)]) for k, n in enumerate(LEVELS)]
    return {"y": y} | numbers | words, Study(Numeric("y", -2, 2), predictors)


def check(rows, study, method):
    """All that the command does but printing."""
    rehearsal = Rehearsal(study, Choice(method), Budget(1, "1e-6" if method == "pcpl" else 0))
    held = rehearsal.hold(rows)
    near_twins(held.moments, study)
    return rehearsal.preview(rehearsal.rehearse(rows, rows=held.fit.rows, held=held))


def plans():
    """Processor time of a plan, whole (with the split and the intervals of `analyze`), by the number of columns."""
    found = {}
    for width in (6, 12, 20, 30):
        plain = Study(Numeric("y", -2, 2), [Numeric(f"x{j}", -1, 1) for j in range(width)])
        run = (once(lambda s=plain: outlook_study(s, rows=5000, epsilon=1), time.process_time)[0] for _ in range(2))
        found[f"plan, {width} columns"] = min(run)
    return found


def main():
    rows, study = a_study()
    moments = gather(rows, study)
    found = {}
    for method in ("votes", "pcls", "pcpl"):
        runs = [once(lambda m=method: check(rows, study, m), time.process_time) for _ in range(3)]
        found[f"check, {method}"], seen = min(runs, key=lambda run: run[0])
    masks = seen.recipe.candidates.masks()
    one, _ = once(lambda: list_losses(moments.scaled(), masks, study.rho), time.process_time)
    found[f"the losses of {LOOKS} looks, by the list solver"] = LOOKS * one
    heads = [f"{len(study.columns)} columns, {masks.size:,} models", "processor time"]
    table("check, before anything is spent", heads, [(name, in_words(seconds)) for name, seconds in found.items()])
    found |= plans()
    later = [(name, in_words(seconds)) for name, seconds in found.items() if name.startswith("plan")]
    table("plan, 5,000 rows, epsilon 1, nothing supposed", ["", "processor time"], later)
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "check.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
