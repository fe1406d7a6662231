"""Made-up studies of every kind with hostile tables, and what must be true of a whole run on each of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import dpselect
from dpselect.errors import DpselectError
from dpselect.report.page import report_page
from dpselect.report.verify import check_report

LEVELS = ["none", "some", "much", "all of it"]


@dataclass(frozen=True)
class Run:
    """A study, a table and what is asked."""

    study: dpselect.Study
    table: pd.DataFrame
    asked: dict[str, Any] = field(default_factory=dict)


def made(seed: int) -> Run:
    """The run of this seed."""
    rng = np.random.default_rng([2026, seed])
    rows = int(
        rng.choice([1, 2, 3, 8, 30, 100, 300, 1000, 3000], p=[0.02, 0.03, 0.05, 0.1, 0.15, 0.25, 0.2, 0.15, 0.05])
    )
    odds = bool(rng.random() < 0.15)
    predictors, cells = _predictors(rng, rows)
    response, cells["y"] = _response(rng, rows, cells, binary=odds or rng.random() < 0.15)
    more: dict[str, Any] = {"neighbors": str(rng.choice(["replace-one", "add-remove-one"]))}
    more["missing"] = str(rng.choice(["error", "midpoint", "zero-row"], p=[0.4, 0.4, 0.2]))
    more["intercept"] = str(rng.choice(["always", "candidate", "none"], p=[0.7, 0.15, 0.15]))
    if rng.random() < 0.2:
        cells["who"] = rng.integers(0, max(rows // 2, 1), rows)
        more |= {"person": "who", "max_rows_per_person": int(rng.integers(1, 4))}
    private = more["neighbors"] == "add-remove-one" or "person" in more
    if rng.random() < (0.95 if private else 0.3):
        more["rows"] = max(int(rows * rng.choice([0.5, 1.0, 1.3])), 1)
    asked: dict[str, Any] = {
        "epsilon": str(rng.choice(["0.05", "0.35", "1", "3", "20"])),
        "family": "binomial" if odds else "gaussian",
    }
    asked["delta"] = "1e-6" if odds or rng.random() < 0.5 else "0"
    asked["method"] = str(rng.choice(["votes", "pcls", "pcpl"], p=[0.6, 0.3, 0.1]))
    asked["level"] = float(rng.choice([0.8, 0.95]))
    return Run(dpselect.Study(response, predictors, **more), pd.DataFrame(cells), asked)


def _predictors(rng: np.random.Generator, rows: int) -> tuple[list[Any], dict[str, Any]]:
    found, cells = [], {}
    common = rng.standard_normal(rows)
    for place in range(int(rng.integers(1, 6))):
        name, kind = f"x{place}", rng.choice(["number", "categories", "two"], p=[0.6, 0.2, 0.2])
        if kind == "number":
            values = rng.choice([0.0, 0.5, 0.95, 1.0]) * common + rng.choice([0.0, 1e-9, 1.0]) * rng.standard_normal(
                rows
            )
            values = values * rng.choice([1.0, 1e-6, 1e6]) + rng.choice([0.0, 0.0, 1e3])
            if rng.random() < 0.1:
                values[rng.integers(rows)] = rng.choice([np.nan, np.inf, -np.inf, 1e308])
            middle, half = float(rng.choice([0.0, 1e3])), float(rng.choice([0.1, 3.0, 1e4, 1e7]))
            found.append(dpselect.Numeric(name, middle - half, middle + half))
            cells[name] = values
        elif kind == "categories":
            found.append(dpselect.Categorical(name, LEVELS[: int(rng.integers(2, 5))]))
            cells[name] = rng.choice(LEVELS[: int(rng.integers(1, 5))], rows)
        else:
            found.append(dpselect.Binary(name, ["no", "yes"]))
            cells[name] = np.where(common > rng.normal(), "yes", "no")
    return found, cells


def _response(rng: np.random.Generator, rows: int, cells: dict[str, Any], *, binary: bool) -> tuple[Any, Any]:
    signal = np.zeros(rows)
    for values in cells.values():
        numbers = pd.Series(pd.factorize(values)[0] if values.dtype.kind in "OU" else values).fillna(0.0)
        numbers = np.clip(numbers.to_numpy(float), -1e9, 1e9)
        signal += rng.choice([0.0, 0.0, 1.0, -1.0]) * (numbers - numbers.mean()) / max(float(numbers.std()), 1e-12)
    values = signal + rng.choice([0.0, 0.3, 1.0, 5.0]) * rng.standard_normal(rows)
    if binary:
        return dpselect.Binary("y", ["no", "yes"]), np.where(values > rng.normal(), "yes", "no")
    low, half = float(rng.choice([0.0, -5.0])), float(rng.choice([0.5, 5.0, 1e3]))
    return dpselect.Numeric("y", low, low + 2 * half), values


def verdict(run: Run) -> str:
    """ "verified", or the name of the error in one sentence; anything else is an assertion that fails."""
    try:
        analysis = dpselect.analyze(run.table, run.study, **run.asked)
    except DpselectError as refused:
        said = str(refused)
        assert said and "\n" not in said and "Traceback" not in said, said
        return type(refused).__name__
    text = analysis.to_json()
    json.loads(text, parse_constant=_never)
    assert dpselect.Analysis.from_json(analysis.to_json()).to_json() == analysis.to_json()
    for form in (text, report_page(analysis)):
        wrong = [(check.what, check.found) for check in check_report(form) if check.holds is False]
        assert wrong == [], wrong
    estimate = analysis.coefficients
    for term in () if estimate is None else estimate.terms:
        ends = [end for end in (term.lower, term.value, term.upper) if end is not None]
        assert ends == sorted(ends) and np.isfinite(ends).all(), term
        outer = [end for end in (term.adjusted_lower, *ends, term.adjusted_upper) if end is not None]
        assert outer == sorted(outer) and np.isfinite(outer).all(), term
        open_ends = term.lower is None or term.upper is None
        assert term.visible is None if open_ends else 0 <= term.visible < np.inf, term
    str(analysis)
    return "verified"


def _never(word: str) -> float:
    raise AssertionError(f"{word} in JSON")
