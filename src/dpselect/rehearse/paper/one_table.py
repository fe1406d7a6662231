"""Figures 3 and 4 of the paper are about one table: the exact chance of a model over the penalty. Custodian's eyes only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.minimize.lattice import lattice_losses
from dpselect.rehearse.chances.one import chance_of
from dpselect.rehearse.paper.experiments import AS_PRINTED, EPSILONS, NO_PRIVACY, NOISES, OURS, Row
from dpselect.rehearse.simulate.tables import sizes_of

Floats = NDArray[np.float64]
SUMMED = 2.0**-40
"""A relative error that sums of products of doubles stay within."""


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
        return lattice_losses(self.products, radius, error=SUMMED)[0][1:]

    def norm(self) -> float:
        """The l1 norm of the full model's least squares, which the paper takes as R."""
        width = len(self.columns)
        return float(np.abs(np.linalg.solve(self.products[:width, :width], self.products[:width, width])).sum())

    def names(self, mask: int) -> tuple[str, ...]:
        """The columns of a mask."""
        return tuple(name for j, name in enumerate(self.columns) if mask >> j & 1)


def paper_table(name: str, columns: Sequence[str], X: Floats, y: Floats, *, synthetic: bool = False) -> PaperTable:
    """The sums of products of arrays."""
    table = np.column_stack([X, y])
    return PaperTable(name, tuple(columns), len(y), table.T @ table, float(np.abs(y).max()), synthetic)


def criterion_choice(table: PaperTable, per_column: float) -> int:
    """The mask that minimizes n log(loss/n) + per_column |M| without a radius: the non-private choice, BIC with log n."""
    losses = table.losses(1e9 * max(1.0, table.norm()))
    return int(np.argmin(table.rows * np.log(losses / table.rows) + per_column * sizes_of(len(table.columns))[1:])) + 1


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
