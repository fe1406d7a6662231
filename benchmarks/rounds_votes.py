"""Whole analyses of the ten studies, as `analyze` runs them: the model by votes, its coefficients by rounds, real noise.

`python -m benchmarks.rounds_votes --releases 40 [--rows 3000] [--share 25] [--epsilon 1] [--only NAME]`; SHARE is the percentage of
epsilon for the choice, by default what public facts say. Lengths, what is told and coverage are those of the chosen model by least
squares on the same rows, population that of the same model on the whole table, as in `benchmarks.rounds`. *Kept* is the share of
the terms of BIC's model, on the whole table, that are chosen. Numbers are in docs/RESULTS_ROUNDS.md.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import pandas as pd

import dpselect
from benchmarks.rounds import STUDIES, Score, Table, _facts, best_model, classical, show, table_of
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric


def terms_of(study: Study, columns: tuple[int, ...]) -> set[int]:
    """The terms that a model has, without the constant."""
    return {study.columns[place].term for place in columns if study.columns[place].factors}


def least_squares(table: Table, names: tuple[str, ...]) -> tuple[dict[str, float], dict[str, float]]:
    """Coefficients and robust errors of the model with these columns, by name."""
    places = [place for place, each in enumerate(table.study.columns) if not each.factors or each.name in names]
    model = Table(table.name, table.study, table.lines, table.response, columns=tuple(places))
    values, errors = classical(model)
    known = _facts(model).names
    return dict(zip(known, values, strict=True)), dict(zip(known, errors, strict=True))


def score(
    name: str, study: Study, frame: pd.DataFrame, asked: argparse.Namespace, rng: np.random.Generator
) -> tuple[Score, float]:
    """Releases of one study, and the share of BIC's terms that they choose."""
    whole = table_of(name, study, frame)
    best = terms_of(study, best_model(whole))
    split = (asked.share, 100 - asked.share) if asked.share else None
    lengths, told, hits, population, kept = [], [], [], [], []
    hidden, seen = 0, 0
    for _ in range(asked.releases):
        take = rng.choice(len(frame), min(asked.rows or len(frame), len(frame)), replace=False)
        rows = frame.iloc[take].reset_index(drop=True)
        analysis = dpselect.analyze(rows, study, epsilon=asked.epsilon, delta=1e-6, split=split)
        found = {each.name: each for each in analysis.coefficients.terms}
        places = tuple(place for place, each in enumerate(study.columns) if each.factors and each.name in found)
        kept.append(len(best & terms_of(study, places)) / max(len(best), 1))
        values, errors = least_squares(table_of(name, study, rows), tuple(found))
        truth = least_squares(whole, tuple(found))[0]
        hit, held = {}, {}
        for term, value in values.items():
            one, real = found[term], abs(value) > 1.96 * errors[term] and term != "intercept"
            shown = one.value is not None
            hidden, seen = hidden + (not shown), seen + 1
            if real:
                told.append(float(shown and not one.lower <= 0 <= one.upper))
            if shown:
                hit[term], held[term] = (
                    float(one.lower <= value <= one.upper),
                    float(one.lower <= truth[term] <= one.upper),
                )
                lengths.append((one.upper - one.lower) / (2 * 1.96 * errors[term]))
        hits.append(hit)
        population.append(held)
    covered = pd.DataFrame(hits).to_numpy(float)
    return (
        Score(
            name,
            float("nan"),
            lengths,
            told,
            covered,
            pd.DataFrame(population).to_numpy(float),
            hidden / max(seen, 1),
            [],
        ),
        float(np.mean(kept)),
    )


def main() -> None:
    """Run the ten studies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--share", type=int, default=0)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    begun, scores, kept = time.process_time(), [], []
    for file in sorted(STUDIES.glob("*.toml")):
        if asked.only not in file.stem:
            continue
        study, frame = Study.read(file), pd.read_csv(file.with_suffix(".csv.gz"))
        for variable in (study.response, *study.predictors):
            if isinstance(variable, Numeric):
                frame[variable.name] = frame[variable.name].clip(*variable.bounds)
        one, share = score(file.stem, study, frame, asked, np.random.default_rng(1))
        scores.append(one)
        kept.append(share)
        print(one.line(), f"kept {share:.2f}", flush=True)
    show(scores)
    print(f"kept {np.mean(kept):.3f}; {time.process_time() - begun:.0f} s of processor time", file=sys.stderr)


if __name__ == "__main__":
    main()
