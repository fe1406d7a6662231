"""Figure 4 of the paper: house sales in the San Francisco Bay Area, 13 columns, 8,191 models.

The file is the user's to give, as CSV (or .csv.gz) in one of two forms:

- raw: `price` (dollars), `year` (2003 to 2006), `lat`, `long`, `county`, `size` (square feet); the names `sale_year` and `bsqft`
  are understood too. Rows outside the paper's filters (price from 105 to 905 thousand, size up to 3,000) are left out.
- design: `intercept`, `year`, `lat`, `long`, `size` and eight columns `county_...`, each in [-1, 1], and `y_minmax`, the price
  scaled to [-1, 1].

Without a file there is a synthetic stand-in of the same shape, which says nothing about real houses.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dpselect.errors import DataError
from dpselect.rehearse.paper.experiments import Row
from dpselect.rehearse.paper.one_table import PaperTable, one_table_curves, paper_table

Floats = NDArray[np.float64]

COUNTIES = (
    "Contra Costa",
    "Marin",
    "Napa",
    "San Francisco",
    "San Mateo",
    "Santa Clara",
    "Solano",
    "Sonoma",
)
"""The ninth, Alameda, is the reference."""
COLUMNS = ("intercept", "year", "lat", "long", "size", *(f"county_{name.replace(' ', '_')}" for name in COUNTIES))
BOUNDS = {
    "year": (2003, 2006),
    "lat": (36.8, 38.9),
    "long": (-123.6, -121.2),
    "size": (0, 3000),
    "price": (105e3, 905e3),
}
OTHER_NAMES = {"sale_year": "year", "bsqft": "size"}
SYNTHETIC_ROWS = 235_760
RADII = (1.0, 2.0, 3.1, 10.0)
PENALTIES = 61


def housing_table(path: str | Path | None = None, seed: int = 1) -> PaperTable:
    """The table of a file, or the synthetic stand-in."""
    if path is None:
        return _stand_in(np.random.default_rng(seed))
    with _open(Path(path)) as file:
        reader = csv.reader(file)
        names = [OTHER_NAMES.get(name.strip(), name.strip()) for name in next(reader, [])]
        rows = list(reader)
    columns = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    try:
        X, y = _design(columns) if "y_minmax" in names else _raw(columns)
    except (KeyError, ValueError):
        raise DataError(
            f"{Path(path).name} must have the numeric columns price, year, lat, long and size and the column county, or the "
            "columns of the design: see `dpselect.rehearse.paper.housing`."
        ) from None
    return paper_table("housing", COLUMNS, X, y)


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", newline="", encoding="utf-8")
    return path.open(newline="", encoding="utf-8")


def _design(columns: dict[str, list[str]]) -> tuple[Floats, Floats]:
    X = np.column_stack([np.array(columns[name], np.float64) for name in COLUMNS])
    return np.clip(X, -1, 1), np.clip(np.array(columns["y_minmax"], np.float64), -1, 1)


def _raw(columns: dict[str, list[str]]) -> tuple[Floats, Floats]:
    numbers = {name: np.array(columns[name], np.float64) for name in BOUNDS}
    county = np.array(columns["county"])
    kept = (numbers["price"] >= 105e3) & (numbers["price"] <= 905e3) & (numbers["size"] <= 3000)
    scaled = {name: _scaled(values[kept], *BOUNDS[name]) for name, values in numbers.items()}
    dummies = [(county[kept] == name).astype(np.float64) for name in COUNTIES]
    X = np.column_stack([np.ones(int(kept.sum())), *(scaled[name] for name in COLUMNS[1:5]), *dummies])
    return X, scaled["price"]


def _scaled(values: Floats, lower: float, upper: float) -> Floats:
    return np.clip((2 * values - lower - upper) / (upper - lower), -1, 1)


def _stand_in(generator: np.random.Generator) -> PaperTable:
    """As many rows and columns as the paper's, with effects of the size that house prices have."""
    n = SYNTHETIC_ROWS
    county = generator.choice(9, n, p=[0.20, 0.18, 0.04, 0.02, 0.07, 0.09, 0.27, 0.07, 0.06])
    place = generator.uniform(-0.6, 0.6, (9, 2))
    spot = np.clip(place[county] + 0.15 * generator.standard_normal((n, 2)), -1, 1)
    year = generator.integers(0, 4, n) * 2 / 3 - 1
    size = np.clip(0.05 + 0.35 * generator.standard_normal(n), -1, 1)
    dummies = np.eye(9)[county][:, 1:]
    X = np.column_stack([np.ones(n), year, spot, size, dummies])
    effects = np.array([0.05, 0.2, -0.35, -0.3, 0.7, 0.0, 0.25, 0.15, 0.3, 0.2, 0.0, -0.1, 0.0])
    y = np.clip(X @ effects + 0.25 * generator.standard_normal(n), -1, 1)
    return paper_table("housing, synthetic stand-in", COLUMNS, X, y, synthetic=True)


def housing_figure(table: PaperTable, progress: Callable[[float], None] | None = None) -> list[Row]:
    """The points of figure 4: the exact chance that the private choice is the non-private one with the same penalty."""
    rows: list[Row] = []
    for done, radius in enumerate(RADII, 1):
        rows += one_table_curves(table, [radius], np.linspace(0, table.rows / 36, PENALTIES), None)
        if progress is not None:
            progress(done / len(RADII))
    return rows
