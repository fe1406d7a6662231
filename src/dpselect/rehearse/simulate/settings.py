"""Public. Artificial studies: the paper's two, and twelve held out to judge what was tuned on others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpselect.errors import AssumptionError

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
            raise AssumptionError(f"The number of rows is {self.rows}; it must be at least 2.")
        if not 1 <= len(self.effects) <= 16:
            raise AssumptionError(f"There are {len(self.effects)} effects; simulations take 1 to 16 columns.")
        if not (self.deviation >= 0 and 0 <= self.shared < 1):
            raise AssumptionError("The noise's deviation must be at least 0, and the shared part from 0 to below 1.")
        if not (self.empty or any(self.effects)):
            raise AssumptionError("No effect differs from 0: let the empty model compete (empty=True).")

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


def draw(setting: Setting, seed: np.random.SeedSequence) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


FIRST = Setting("first beta", 1000, (1, 1, 1, 0, 0, 0))
SECOND = Setting("second beta", 1000, (1.5, 1, 0.5, 0, 0, 0))

# Written down before anything was tuned, and never used for tuning: see docs/RESULTS.md.
HELD_OUT: tuple[tuple[Setting, float], ...] = (
    (Setting("correlated", 1000, (1, 1, 1, 0, 0, 0), shared=0.5), 1.0),
    (Setting("strongly correlated", 3000, (1, 1, 0, 0, 0, 0), shared=0.7), 1.0),
    (Setting("heavy tails", 1000, (1, 1, 1, 0, 0, 0), noise="t3"), 1.0),
    (Setting("infinite variance", 3000, (1, 0.5, 0, 0, 0), noise="t2"), 1.0),
    (Setting("null model", 1000, (0, 0, 0, 0, 0, 0), empty=True), 1.0),
    (Setting("one strong effect", 1000, (2.5, 0, 0, 0, 0, 0, 0, 0)), 0.5),
    (Setting("strong and weak", 3000, (2, 0.4, 0, 0, 0, 0)), 1.0),
    (Setting("dense", 3000, (0.7,) * 8), 1.0),
    (Setting("few rows", 300, (1, 1, 0, 0)), 2.0),
    (Setting("many rows", 10_000, (1, 0.8, 0.6, 0.4, 0.3, 0, 0, 0, 0, 0)), 0.5),
    (Setting("binary columns", 1000, (0.6, 0.6, 0.6, 0, 0, 0, 0), columns="binary"), 1.0),
    (Setting("little noise", 500, (1, -1, 0.5, 0, 0), deviation=0.3), 1.0),
)
"""Twelve studies, each with the epsilon at which methods are compared."""
