"""Figures 3 and 4 of the paper, each about one real table: the exact chance of a model over the penalty. Custodian's eyes only.

Figure 3 is the prostate data, 97 men, an intercept and five columns. Figure 4 is house sales in the San Francisco Bay Area,
13 columns, 8,191 models. The houses are the user's to give, as CSV (or .csv.gz) in one of two forms:

- raw: `price` (dollars), `year` (2003 to 2006), `lat`, `long`, `county`, `size` (square feet); the names `sale_year` and `bsqft`
  are understood too. Rows outside the paper's filters (price from 105 to 905 thousand, size up to 3,000) are left out.
- design: `intercept`, `year`, `lat`, `long`, `size` and eight columns `county_...`, each in [-1, 1], and `y_minmax`, the price
  scaled to [-1, 1].

Without a file there is a synthetic stand-in of the same shape, which says nothing about real houses.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dpselect.errors import DataError
from dpselect.minimize.losses.lattice import lattice_losses
from dpselect.rehearse.chances.scores import chance_of
from dpselect.rehearse.planning.supposed import bic_choice
from dpselect.rehearse.simulate import SUMMED_ERROR, sizes_of
from paper.simulations import AS_PRINTED, EPSILONS, NO_PRIVACY, NOISES, OURS, Row

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PaperTable:
    """Private. Sums of products of one table of the paper, the response last, and its largest |y|: as in the paper, not private.

    `synthetic` says that the rows are a stand-in and not the real ones.
    """

    name: str
    columns: tuple[str, ...]
    rows: int
    products: Floats
    largest: float
    synthetic: bool = False

    def __repr__(self) -> str:
        return f"PaperTable(name={self.name!r}, columns={len(self.columns)}, values=<private>)"

    def losses(self, radius: float) -> Floats:
        """The losses of all non-empty sets of columns."""
        return lattice_losses(self.products, radius, error=SUMMED_ERROR)[0][1:]

    def norm(self) -> float:
        """The l1 norm of the full model's least squares, which the paper takes as R."""
        width = len(self.columns)
        return float(np.abs(np.linalg.solve(self.products[:width, :width], self.products[:width, width])).sum())

    def best(self) -> int:
        """The mask of BIC's choice: the non-private one."""
        return bic_choice(self.products, self.rows)

    def names(self, mask: int) -> tuple[str, ...]:
        """The columns of a mask."""
        return tuple(name for j, name in enumerate(self.columns) if mask >> j & 1)


def paper_table(name: str, columns: Sequence[str], X: Floats, y: Floats, *, synthetic: bool = False) -> PaperTable:
    """The sums of products of arrays."""
    table = np.column_stack([X, y])
    return PaperTable(name, tuple(columns), len(y), table.T @ table, float(np.abs(y).max()), synthetic)


def one_table_curves(table: PaperTable, radii: Sequence[float], penalties: Floats, target: int | None) -> list[Row]:
    """The chance of `target` (a mask; None: of the non-private choice with the same penalty and radius) over the penalties."""
    sizes = sizes_of(len(table.columns))[1:]
    rows: list[Row] = []
    for radius in radii:
        losses = table.losses(radius)
        for penalty in penalties:
            values = losses + penalty * sizes
            best = int(np.argmin(values))
            index = best if target is None else target - 1
            place: Row = {
                "setting": table.name,
                "n": table.rows,
                "R": radius,
                "penalty": float(penalty),
                "size": int(sizes[index]),
            }
            for epsilon in EPSILONS:
                rows.append({**place, "epsilon": epsilon, "noise": NO_PRIVACY, "chance": float(best == index)})
                for noise in NOISES:
                    if noise.name in (AS_PRINTED, OURS):
                        width = noise.range(np.array([table.largest]), radius)
                        chance = float(chance_of(index, values[np.newaxis], width, epsilon, noise.mechanism)[0])
                        rows.append({**place, "epsilon": epsilon, "noise": noise.name, "chance": chance})
    return rows


PROSTATE_COLUMNS = ("lcavol", "lweight", "age", "lbph", "lcp")
PROSTATE_RESPONSE = "lpsa"
PROSTATE_RADIUS = 5.68
"""The paper's R; `PaperTable.norm` gives 5.6837."""
PROSTATE_PENALTIES = 98


def prostate_table(path: str | Path | None = None) -> PaperTable:
    """The table as the paper must have scaled it, because its R = 5.68 comes out: columns centred, over their largest size.

    Without a path the rows come from the package `faraway` (extra `paper`), with the published correction of the weight of
    subject 32 from 449 to 45 grams. The scaling is read from the data, as in the paper, not private.
    """
    columns = _prostate_from_package() if path is None else _prostate_from_file(Path(path))
    matrix = np.column_stack([columns[name] for name in PROSTATE_COLUMNS])
    matrix = matrix - matrix.mean(axis=0)
    matrix = matrix / np.abs(matrix).max(axis=0)
    X = np.column_stack([np.ones(len(matrix)), matrix])
    return paper_table("prostate", ("intercept", *PROSTATE_COLUMNS), X, columns[PROSTATE_RESPONSE])


def _prostate_from_package() -> Mapping[str, NDArray[np.float64]]:
    try:
        from faraway.datasets import prostate
    except ImportError:
        raise DataError(
            "The prostate data come with the package 'faraway': pip install 'dpselect[paper]', or give a file with --data."
        ) from None
    frame = prostate.load()
    columns = {name: np.array(frame[name], np.float64) for name in (*PROSTATE_COLUMNS, PROSTATE_RESPONSE)}
    columns["lweight"][31] = 3.804438
    return columns


def _prostate_from_file(path: Path) -> Mapping[str, NDArray[np.float64]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    try:
        return {name: np.array([float(row[name]) for row in rows]) for name in (*PROSTATE_COLUMNS, PROSTATE_RESPONSE)}
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{path.name} must have the numeric columns {', '.join((*PROSTATE_COLUMNS, PROSTATE_RESPONSE))}."
        ) from None


def prostate_figure(table: PaperTable, progress: Callable[[float], None] | None = None) -> list[Row]:
    """The points of figure 3: the exact chance of BIC's model, where the paper has 5,000 replications."""
    target = table.best()
    rows: list[Row] = []
    radii = (PROSTATE_RADIUS / 2, PROSTATE_RADIUS, 2 * PROSTATE_RADIUS)
    for done, radius in enumerate(radii, 1):
        rows += one_table_curves(table, [radius], np.linspace(0, table.rows / 2, PROSTATE_PENALTIES), target)
        if progress is not None:
            progress(done / len(radii))
    return rows


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
HOUSING_COLUMNS = (
    "intercept",
    "year",
    "lat",
    "long",
    "size",
    *(f"county_{name.replace(' ', '_')}" for name in COUNTIES),
)
HOUSING_BOUNDS = {
    "year": (2003, 2006),
    "lat": (36.8, 38.9),
    "long": (-123.6, -121.2),
    "size": (0, 3000),
    "price": (105e3, 905e3),
}
HOUSING_OTHER_NAMES = {"sale_year": "year", "bsqft": "size"}
STAND_IN_ROWS = 235_760
HOUSING_RADII = (1.0, 2.0, 3.1, 10.0)
HOUSING_PENALTIES = 61


def housing_table(path: str | Path | None = None, seed: int = 1) -> PaperTable:
    """The table of a file, or the synthetic stand-in."""
    if path is None:
        return _housing_stand_in(np.random.default_rng(seed))
    with _open_text(Path(path)) as file:
        reader = csv.reader(file)
        names = [HOUSING_OTHER_NAMES.get(name.strip(), name.strip()) for name in next(reader, [])]
        rows = list(reader)
    columns = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    try:
        X, y = _housing_design(columns) if "y_minmax" in names else _housing_raw(columns)
    except (KeyError, ValueError):
        raise DataError(
            f"{Path(path).name} must have the numeric columns price, year, lat, long and size and the column county, or the "
            "columns of the design: see `paper/real_tables.py`."
        ) from None
    return paper_table("housing", HOUSING_COLUMNS, X, y)


def _open_text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", newline="", encoding="utf-8")
    return path.open(newline="", encoding="utf-8")


def _housing_design(columns: dict[str, list[str]]) -> tuple[Floats, Floats]:
    X = np.column_stack([np.array(columns[name], np.float64) for name in HOUSING_COLUMNS])
    return np.clip(X, -1, 1), np.clip(np.array(columns["y_minmax"], np.float64), -1, 1)


def _housing_raw(columns: dict[str, list[str]]) -> tuple[Floats, Floats]:
    numbers = {name: np.array(columns[name], np.float64) for name in HOUSING_BOUNDS}
    county = np.array(columns["county"])
    kept = (numbers["price"] >= 105e3) & (numbers["price"] <= 905e3) & (numbers["size"] <= 3000)
    scaled = {name: _scaled(values[kept], *HOUSING_BOUNDS[name]) for name, values in numbers.items()}
    dummies = [(county[kept] == name).astype(np.float64) for name in COUNTIES]
    X = np.column_stack([np.ones(int(kept.sum())), *(scaled[name] for name in HOUSING_COLUMNS[1:5]), *dummies])
    return X, scaled["price"]


def _scaled(values: Floats, lower: float, upper: float) -> Floats:
    return np.clip((2 * values - lower - upper) / (upper - lower), -1, 1)


def _housing_stand_in(generator: np.random.Generator) -> PaperTable:
    """As many rows and columns as the paper's, with effects of the size that house prices have."""
    n = STAND_IN_ROWS
    county = generator.choice(9, n, p=[0.20, 0.18, 0.04, 0.02, 0.07, 0.09, 0.27, 0.07, 0.06])
    place = generator.uniform(-0.6, 0.6, (9, 2))
    spot = np.clip(place[county] + 0.15 * generator.standard_normal((n, 2)), -1, 1)
    year = generator.integers(0, 4, n) * 2 / 3 - 1
    size = np.clip(0.05 + 0.35 * generator.standard_normal(n), -1, 1)
    dummies = np.eye(9)[county][:, 1:]
    X = np.column_stack([np.ones(n), year, spot, size, dummies])
    effects = np.array([0.05, 0.2, -0.35, -0.3, 0.7, 0.0, 0.25, 0.15, 0.3, 0.2, 0.0, -0.1, 0.0])
    y = np.clip(X @ effects + 0.25 * generator.standard_normal(n), -1, 1)
    return paper_table("housing, synthetic stand-in", HOUSING_COLUMNS, X, y, synthetic=True)


def housing_figure(table: PaperTable, progress: Callable[[float], None] | None = None) -> list[Row]:
    """The points of figure 4: the exact chance that the private choice is the non-private one with the same penalty."""
    rows: list[Row] = []
    for done, radius in enumerate(HOUSING_RADII, 1):
        rows += one_table_curves(table, [radius], np.linspace(0, table.rows / 36, HOUSING_PENALTIES), None)
        if progress is not None:
            progress(done / len(HOUSING_RADII))
    return rows
