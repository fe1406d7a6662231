"""Whole analyses as `analyze` runs them: the model by votes, its coefficients by rounds, real noise.

`python -m benchmarks.rounds_votes [SUITE] --releases 40 [--rows 3000] [--share 25] [--epsilon 1] [--only NAME]`,
SUITE one of studies (the ten), made, odds, counts (made anew for each release, `benchmarks.rounds_tables`); SHARE is the percentage
of epsilon for the choice, by default what public facts say. Lengths, what is told and coverage are against the chosen model without
privacy on the same rows, population that of the same model on the table they are cut from, or of the coefficients that made the
rows where the model has all that are not idle. *Kept* is the share of the terms of BIC's model that are chosen.
Numbers are in docs/RESULTS_ROUNDS.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

import dpselect
from benchmarks.rounds import STUDIES, Score, Table, _facts, best_model, classical, show, table_of
from benchmarks.rounds_tables import COUNTS, MADE, ODDS, Maker
from dpselect.assume.queries import FamilyName
from dpselect.assume.study import Study
from dpselect.assume.variables import Count, Numeric


class Sample(NamedTuple):
    """What one release reads, and what it is compared with."""

    study: Study
    rows: pd.DataFrame
    whole: Table
    made: dict[str, float] | None = None
    """The coefficients that made the rows, if they are known."""
    idle: tuple[str, ...] = ()


Sampling = Callable[[np.random.Generator], Sample]


def terms_of(study: Study, columns: tuple[int, ...]) -> set[int]:
    """The terms that a model has, without the constant."""
    return {study.columns[place].term for place in columns if study.columns[place].factors}


def without_privacy(table: Table, names: tuple[str, ...]) -> tuple[dict[str, float], dict[str, float]]:
    """Coefficients and robust errors of the model with these columns, by name."""
    places = [place for place, each in enumerate(table.study.columns) if not each.factors or each.name in names]
    model = Table(table.name, table.study, table.lines, table.response, table.family, tuple(places))
    values, errors = classical(model)
    known = _facts(model).names
    return dict(zip(known, values, strict=True)), dict(zip(known, errors, strict=True))


def cut_studies(asked: argparse.Namespace) -> Iterator[tuple[str, Sampling]]:
    """The ten studies, or as many of their rows as are asked for."""
    for file in sorted(STUDIES.glob("*.toml")):
        study, frame = Study.read(file), pd.read_csv(file.with_suffix(".csv.gz"))
        for variable in (study.response, *study.predictors):
            if isinstance(variable, Numeric):
                frame[variable.name] = frame[variable.name].clip(*variable.bounds)
        yield file.stem, partial(_cut, study, table_of(file.stem, study, frame), frame, asked.rows)


def _cut(study: Study, whole: Table, frame: pd.DataFrame, rows: int, rng: np.random.Generator) -> Sample:
    take = rng.choice(len(frame), min(rows or len(frame), len(frame)), replace=False)
    return Sample(study, frame.iloc[take].reset_index(drop=True), whole)


def made_up(asked: argparse.Namespace) -> Iterator[tuple[str, Sampling]]:
    """Tables of which each release has its own."""
    makers, family = MADE_UP[asked.suite]
    for name, maker in makers.items():
        yield name, partial(_make, name, maker, family)


def _make(name: str, maker: Maker, family: FamilyName, rng: np.random.Generator) -> Sample:
    study, frame, truth, idle = maker(rng)
    if family == "poisson":
        study = Study(Count(study.response.name), study.predictors)
    return Sample(study, frame, table_of(name, study, frame, family), truth, idle)


def score(name: str, sampling: Sampling, asked: argparse.Namespace, rng: np.random.Generator) -> tuple[Score, float]:
    """Releases of one table, and the share of BIC's terms that they choose."""
    split = (asked.share, 100 - asked.share) if asked.share else None
    score = Score(name, float("nan"), [], [], np.empty(0), np.empty(0), 0.0, [])
    hits, population, kept, shown = [], [], [], []
    for _ in range(asked.releases):
        sample = sampling(rng)
        study, rows, whole = sample.study, sample.rows, sample.whole
        analysis = dpselect.analyze(rows, study, epsilon=asked.epsilon, delta=1e-6, split=split, family=whole.family)
        found = {each.name: each for each in analysis.coefficients.terms}
        places = tuple(place for place, each in enumerate(study.columns) if each.factors and each.name in found)
        best = terms_of(study, best_model(whole))
        kept.append(len(best & terms_of(study, places)) / max(len(best), 1))
        values, errors = without_privacy(table_of(name, study, rows, whole.family), tuple(found))
        truth = _population(sample, tuple(found))
        hit, held = {}, {}
        for term, value in values.items():
            one, real = found[term], abs(value) > 1.96 * errors[term] and term != "intercept"
            shown.append(one.value is not None)
            told = float(one.value is not None and not one.lower <= 0 <= one.upper)
            if real:
                score.told.append(told)
            if term in sample.idle:
                score.idle.append(told)
            if one.value is not None:
                hit[term], held[term] = (
                    float(one.lower <= each <= one.upper) if np.isfinite(each) else np.nan
                    for each in (value, truth.get(term, np.nan))
                )
                score.lengths.append((one.upper - one.lower) / (2 * 1.96 * errors[term]))
        hits.append(hit)
        population.append(held)
    score.covered, score.population = (pd.DataFrame(each).to_numpy(float) for each in (hits, population))
    score.hidden = 1 - float(np.mean(shown))
    return score, float(np.mean(kept))


def _population(sample: Sample, names: tuple[str, ...]) -> dict[str, float]:
    """What holds outside of these rows; nothing where a made-up table's model lacks a column that explains something."""
    if sample.made is not None:
        return sample.made if all(each in names or each in sample.idle for each in sample.made) else {}
    return without_privacy(sample.whole, names)[0] if len(sample.rows) < len(sample.whole.response) else {}


MADE_UP: dict[str, tuple[dict[str, Maker], FamilyName]] = {
    "made": (MADE, "gaussian"),
    "odds": (ODDS, "binomial"),
    "counts": (COUNTS, "poisson"),
}


def main() -> None:
    """Run a suite."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", nargs="?", default="studies", choices=["studies", *MADE_UP])
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--share", type=int, default=0)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    begun, scores, kept = time.process_time(), [], []
    for name, sampling in (made_up if asked.suite in MADE_UP else cut_studies)(asked):
        if asked.only in name:
            one, share = score(name, sampling, asked, np.random.default_rng(1))
            scores.append(one)
            kept.append(share)
            print(one.line(), f"kept {share:.2f}", flush=True)
    if not scores:
        sys.exit(f"No table of the suite {asked.suite!r} has {asked.only!r} in its name.")
    if any(one.lengths for one in scores):
        show(scores)
    print(f"kept {np.mean(kept):.3f}; {time.process_time() - begun:.0f} s of processor time", file=sys.stderr)


if __name__ == "__main__":
    main()
