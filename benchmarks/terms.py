"""All sets of terms against the list solver: 14 variables with 27 columns, as a study with categories has them.

python -m benchmarks.terms      prints a table, writes benchmarks/results/terms.json
"""

import os

# One thread each, so that processor time is comparable; before NumPy is imported.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import json
from pathlib import Path

import numpy as np

from benchmarks.timing import best_of, in_words, table
from dpselect.assume.candidates import SubsetRule
from dpselect.minimize.losses.l1_ball import list_losses
from dpselect.minimize.losses.terms import is_available, term_losses

ROWS = 3000
SIZES = (1,) * 9 + (2, 3, 4, 5, 4)
RADII = {"tight": 0.4, "default": 1.0, "never binds": 1e3}
LIST, OURS, TWIN = "list solver", "terms (C)", "terms (NumPy)"


def study(sizes=SIZES, seed=20261607):
    """(products, rule): numbers that share something, categories of uneven levels, an intercept that is always in."""
    rng = np.random.default_rng(seed)
    columns, masks, width = [np.ones(ROWS)], [], 1
    shared = rng.uniform(-0.5, 0.5, ROWS)
    for size in sizes:
        masks.append((1 << size) - 1 << width)
        width += size
        level = rng.choice(size + 1, ROWS, p=rng.dirichlet(np.full(size + 1, 2.0)))
        number = 0.5 * rng.uniform(-1, 1, ROWS) + shared
        columns.extend([number] if size == 1 else [(level == k).astype(float) for k in range(size)])
    x = np.column_stack(columns)
    y = np.clip(x @ rng.normal(0, 0.25, width) + rng.normal(0, 0.3, ROWS), -1, 1)
    both = np.round(np.column_stack([x, y]) * 2**20) / 2**20
    return both.T @ both, SubsetRule(width, tuple(masks), 1)


def main():
    products, rule = study()
    found, rows = {}, []
    for name, radius in RADII.items():
        runs = {LIST: lambda r=radius: list_losses(products, rule.masks(), r)}
        runs[TWIN] = lambda r=radius: term_losses(products, rule, r, backend="numpy")
        if is_available():
            runs[OURS] = lambda r=radius: term_losses(products, rule, r, backend="c")
        values = {who: run() for who, run in runs.items()}
        for who, (losses, bounds) in values.items():
            assert bounds.max() < 1e-9 * products[-1, -1], f"{who} is not certified"
            assert (np.abs(losses - values[LIST][0]) <= bounds + values[LIST][1]).all(), f"{who} differs"
        found[name] = best_of(3, runs)
        rows.extend((name, who, in_words(s), f"{found[name][LIST] / s:,.0f}") for who, s in found[name].items())
    heads = ["radius", "", "all sets", "times as fast"]
    table(f"{rule.count:,} sets of {len(rule.terms)} terms, {rule.width} columns, all certified", heads, rows)
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "terms.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
