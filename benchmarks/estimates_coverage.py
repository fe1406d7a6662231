"""Do the intervals hold? `python benchmarks/estimates_coverage.py FOLDER --releases 40 --out cells.jsonl`, `--show cells.jsonl`.

FOLDER has study files with a table of the same name beside each (study.toml, study.csv.gz). Each release takes a subsample,
chooses a model by votes (the program's own choice, 35 of 100 parts of the price), draws noisy moments with NumPy's noise of
the law and size that a release has, and hands them to the code of a release. The targets are the least-squares coefficients of
the whole table (population) and of the subsample (table), on the scale where columns and response are in [-1, 1]. Nothing
here protects data. Numbers are in docs/ESTIMATES.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

import dpselect
from dpselect.assume.lemmas.moments import moment_layout
from dpselect.randomize.noisy_moments import NoisyMoments, moment_noise
from dpselect.release.equations.findings import findings, fit, unexplained
from dpselect.release.equations.problem import problem
from dpselect.release.units import user_scale

CHOICE = 35 / 65
"""What the choice costs for each unit of epsilon that the coefficients cost."""


def scaled_table(path: Path) -> tuple[dpselect.Study, pd.DataFrame, np.ndarray, np.ndarray]:
    """The study, its table, and the design and response on the scale [-1, 1]."""
    study, table = dpselect.Study.read(str(path)), pd.read_csv(path.with_suffix(".csv.gz"))
    variables = {each.name: each for each in (*study.predictors, study.response)}

    def number(name: str) -> np.ndarray:
        each = variables[name]
        return np.clip((table[name].to_numpy(float) - each.middle) / each.half_width, -1, 1)

    columns = []
    for column in study.columns:
        made = np.ones(len(table))
        for factor in column.factors:
            level = factor.level
            made = made * (
                number(factor.variable)
                if level is None
                else (table[factor.variable].astype(str) == str(level)).to_numpy(float)
            )
        columns.append(made)
    return study, table, np.column_stack(columns), number(study.response.name)


def noisy_moments(study, columns, design, response, price, generator) -> NoisyMoments:
    """As a release would draw them, with NumPy's noise."""
    layout = moment_layout(study, columns)
    noise = moment_noise(layout, *price)
    rows = np.column_stack([design[:, list(columns)], response])
    for place, kind in enumerate(layout.kinds):
        if kind == "sign":
            rows[:, place] = 2 * rows[:, place] - 1
    products = rows.T @ rows
    exact = np.array([products[cells[0]] for cells in layout.entries])
    empty = NoisyMoments(layout=layout, noise=noise, values=(0,) * len(exact), known_rows=len(rows))
    laplace = noise.scale.noise == "laplace"
    draw = generator.laplace(0, np.sqrt(0.5), len(exact)) if laplace else generator.standard_normal(len(exact))
    values = np.round((exact + draw * empty.deviations) / (empty.deviations / noise.deviation))
    return NoisyMoments(layout=layout, noise=noise, values=tuple(map(int, values)), known_rows=len(rows))


def one_release(study, columns, sample, whole, price, generator) -> dict:
    """What one release says, beside the truth."""
    noisy = noisy_moments(study, columns, *sample, price, generator)
    solved, scale = fit(problem(noisy, columns)), user_scale(study, columns)
    found = findings(solved, scale.matrix, level=0.95)
    deviation, share = unexplained(solved, 0.95)
    said = {"names": scale.names, "determined": [one.determined for one in found]}
    said["length"] = [one.upper - one.lower if one.determined else None for one in found]
    for target, (design, response) in (("population", whole), ("table", sample)):
        kept = design[:, list(columns)]
        truth, *_ = np.linalg.lstsq(kept, response, rcond=None)
        rest = response - kept @ truth
        said[target] = [one.lower <= true <= one.upper for one, true in zip(found, scale.matrix @ truth, strict=True)]
        for name, amount, true in (
            ("deviation", deviation, rest.std()),
            ("share", share, 1 - rest.var() / response.var()),
        ):
            said[f"{name} {target}"] = None if amount.value is None else bool(amount.lower <= true <= amount.upper)
        said[f"error {target}"] = float(np.mean((kept @ (solved.scaled - truth)) ** 2) / response.var())
    return {
        key: [bool(v) if isinstance(v, np.bool_) else v for v in value] if isinstance(value, list) else value
        for key, value in said.items()
    }


def measure(options: argparse.Namespace) -> None:
    """Every cell of the grid, one line of JSON a release."""
    begun = time.time()
    with Path(options.out).open("a", encoding="utf-8") as out:
        for path in sorted(Path(options.folder).glob("*.toml")):
            if options.only and path.stem not in options.only:
                continue
            study, table, design, response = scaled_table(path)
            for n in options.rows:
                for epsilon in options.epsilon:
                    generator = np.random.default_rng([options.seed, n, int(1000 * epsilon), len(path.stem)])
                    for _ in range(options.releases):
                        rows = generator.choice(len(table), min(n, len(table)), replace=False)
                        chosen = dpselect.select(table.iloc[rows], study, epsilon=CHOICE * epsilon).columns
                        if len(chosen) < 2:
                            continue
                        sample = design[rows], response[rows]
                        for delta in options.delta:
                            said = one_release(study, chosen, sample, (design, response), (epsilon, delta), generator)
                            cell = {"study": path.stem, "n": n, "epsilon": epsilon, "delta": delta}
                            out.write(json.dumps(cell | said) + "\n")
                    out.flush()
                    print(path.stem, n, epsilon, round(time.time() - begun), file=sys.stderr, flush=True)


def show(lines: list[dict]) -> None:
    """A Markdown table, one row a cell of n, epsilon and delta over all studies."""
    cells, coefficients = defaultdict(list), defaultdict(list)
    for line in lines:
        key = line["n"], line["epsilon"], line["delta"]
        cells[key].append(line)
        for place, name in enumerate(line["names"]):
            coefficients[(*key, line["study"], name)].append((line["population"][place], line["table"][place]))
    head = [
        "n",
        "epsilon",
        "delta",
        "releases",
        "population",
        "table",
        "least covered",
        "determined",
        "given determined",
    ]
    print("| " + " | ".join([*head, "deviation", "said", "R^2", "said"]) + " |")
    print("|" + "---|" * (len(head) + 4))
    for key in sorted(cells):
        told = cells[key]
        hits = {target: np.concatenate([line[target] for line in told]) for target in ("population", "table")}
        seen = np.concatenate([line["determined"] for line in told]).astype(bool)
        worst = (
            min(
                (min(np.mean(hit, axis=0)), len(hit), name[3:])
                for name, hit in coefficients.items()
                if name[:3] == key and len(hit) >= 20
            )
            if any(name[:3] == key and len(hit) >= 20 for name, hit in coefficients.items())
            else (float("nan"), 0, "")
        )
        amounts = []
        for name in ("deviation", "share"):
            both = [line[f"{name} {target}"] for line in told for target in ("population", "table")]
            known = [hit for hit in both if hit is not None]
            amounts += [f"{np.mean(known):.3f}" if known else "", f"{len(known) / len(both):.2f}"]
        given = f"{hits['population'][seen].mean():.3f}" if seen.any() else ""
        row = [*map(str, key), str(len(told)), f"{hits['population'].mean():.3f}", f"{hits['table'].mean():.3f}"]
        row += [f"{worst[0]:.2f} ({worst[1]}: {' '.join(worst[2])})", f"{seen.mean():.2f}", given, *amounts]
        print("| " + " | ".join(row) + " |")
    everything = np.concatenate([np.array(line["population"])[np.array(line["determined"], bool)] for line in lines])
    print(f"\nGiven determined, all cells together: {everything.mean():.4f} of {everything.size:,} coefficients.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--rows", type=int, nargs="+", default=[250, 500, 1000, 3000, 10**7])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.35, 0.65, 1, 2])
    parser.add_argument("--delta", type=float, nargs="+", default=[0, 1e-6])
    parser.add_argument("--releases", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--out", default="estimates_coverage.jsonl")
    parser.add_argument("--show")
    options = parser.parse_args()
    if options.show:
        show([json.loads(line) for line in Path(options.show).read_text(encoding="utf-8").splitlines()])
    else:
        measure(options)


if __name__ == "__main__":
    main()
