"""Public. Artificial studies and their tables: no real row, and NumPy's generator, because simulations protect nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpselect.errors import StudyError

Floats = NDArray[np.float64]
SEED = 160704204
ColumnKind = Literal["uniform", "binary"]
ErrorKind = Literal["normal", "t2", "t3"]


@dataclass(frozen=True, slots=True)
class Setting:
    """Public. Where artificial rows come from: y = x.effects + deviation * noise, x in [-1, 1].

    `shared` mixes one common uniform into every column: x_j = (1 - shared) u_j + shared u_0, so two columns have the
    correlation shared^2 / (shared^2 + (1 - shared)^2). `empty` lets the model without columns compete.
    """

    name: str
    rows: int
    effects: tuple[float, ...]
    deviation: float = 1.0
    columns: ColumnKind = "uniform"
    shared: float = 0.0
    noise: ErrorKind = "normal"
    empty: bool = False

    def __post_init__(self) -> None:
        if not self.rows >= 2:
            raise StudyError(f"The number of rows is {self.rows}; it must be at least 2.")
        if not 1 <= len(self.effects) <= 16:
            raise StudyError(f"There are {len(self.effects)} effects; simulations take 1 to 16 columns.")
        if not (self.deviation >= 0 and 0 <= self.shared < 1):
            raise StudyError("The noise's deviation must be at least 0, and the shared part from 0 to below 1.")
        if not (self.empty or any(self.effects)):
            raise StudyError("No effect differs from 0: let the empty model be considered (empty=True).")

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.effects)

    @property
    def truth(self) -> int:
        """The mask of the columns with an effect."""
        return sum(1 << j for j, effect in enumerate(self.effects) if effect != 0)

    @property
    def norm(self) -> float:
        """The l1 norm of the effects, the paper's ideal radius."""
        return float(sum(abs(effect) for effect in self.effects))

    def with_rows(self, rows: int) -> Setting:
        """The same study with another number of rows."""
        return replace(self, rows=rows)


def draw(setting: Setting, seed: np.random.SeedSequence) -> tuple[Floats, Floats]:
    """One artificial table (X, y). A simulation: it protects nothing, so NumPy's generator will do."""
    generator = np.random.default_rng(seed)
    own = generator.uniform(-1, 1, (setting.rows, setting.width))
    common = generator.uniform(-1, 1, (setting.rows, 1))
    X = (1 - setting.shared) * own + setting.shared * common
    if setting.columns == "binary":
        X = np.where(X < 0, -1.0, 1.0)
    if setting.noise == "normal":
        noise = generator.standard_normal(setting.rows)
    else:
        noise = generator.standard_t(int(setting.noise[1:]), setting.rows)
    return X, X @ np.array(setting.effects) + setting.deviation * noise


SUMMED_ERROR = 2.0**-40
"""A relative error that sums of products of doubles stay within."""


def clipped_products(X: Floats, y: Floats, lower: float, upper: float) -> Floats:
    """Sums of products of the columns and the clipped response, centred at the middle of its bounds; the response last."""
    table = np.column_stack([X, np.clip(y, lower, upper) - (lower + upper) / 2])
    products: Floats = table.T @ table
    return products


def sizes_of(width: int) -> Floats:
    """The number of columns of masks 0 .. 2^width - 1."""
    masks = np.arange(1 << width)
    return np.array([int(mask).bit_count() for mask in masks], np.float64)
