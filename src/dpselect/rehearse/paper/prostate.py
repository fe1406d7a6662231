"""Figure 3 of the paper: the prostate data, 97 men, an intercept and five columns."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpselect.errors import DataError
from dpselect.rehearse.paper.experiments import Row
from dpselect.rehearse.paper.one_table import PaperTable, criterion_choice, one_table_curves, paper_table

COLUMNS = ("lcavol", "lweight", "age", "lbph", "lcp")
RESPONSE = "lpsa"
RADIUS = 5.68
"""The paper's R; `PaperTable.norm` gives 5.6837."""
PENALTIES = 98


def prostate_table(path: str | Path | None = None) -> PaperTable:
    """The table as the paper must have scaled it, because its R = 5.68 comes out: columns centred, over their largest size.

    Without a path the rows come from the package `faraway` (extra `paper`), with the published correction of the weight of
    subject 32 from 449 to 45 grams. The scaling is read from the data, as in the paper, not private.
    """
    columns = _from_package() if path is None else _from_file(Path(path))
    matrix = np.column_stack([columns[name] for name in COLUMNS])
    matrix = matrix - matrix.mean(axis=0)
    matrix = matrix / np.abs(matrix).max(axis=0)
    X = np.column_stack([np.ones(len(matrix)), matrix])
    return paper_table("prostate", ("intercept", *COLUMNS), X, columns[RESPONSE])


def _from_package() -> Mapping[str, NDArray[np.float64]]:
    try:
        from faraway.datasets import prostate
    except ImportError:
        raise DataError(
            "The prostate data come with the package 'faraway': pip install 'dpselect[paper]', or give a file with --data."
        ) from None
    frame = prostate.load()
    columns = {name: np.array(frame[name], np.float64) for name in (*COLUMNS, RESPONSE)}
    columns["lweight"][31] = 3.804438
    return columns


def _from_file(path: Path) -> Mapping[str, NDArray[np.float64]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    try:
        return {name: np.array([float(row[name]) for row in rows]) for name in (*COLUMNS, RESPONSE)}
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path.name} must have the numeric columns {', '.join((*COLUMNS, RESPONSE))}.") from None


def bic_choice(table: PaperTable) -> tuple[str, ...]:
    """The non-private choice."""
    return table.names(criterion_choice(table, math.log(table.rows)))


def prostate_figure(table: PaperTable, progress: Callable[[float], None] | None = None) -> list[Row]:
    """The points of figure 3: the exact chance of BIC's model, where the paper has 5,000 replications."""
    target = criterion_choice(table, math.log(table.rows))
    rows: list[Row] = []
    radii = (RADIUS / 2, RADIUS, 2 * RADIUS)
    for done, radius in enumerate(radii, 1):
        rows += one_table_curves(table, [radius], np.linspace(0, table.rows / 2, PENALTIES), target)
        if progress is not None:
            progress(done / len(radii))
    return rows
