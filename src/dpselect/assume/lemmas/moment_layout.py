"""Public. Which products of a model's columns and response are unknown numbers, and which are known or the same twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import INTERCEPT, Column
from dpselect.assume.study.neighbors import Neighbors
from dpselect.errors import AssumptionError

ColumnKind = Literal["constant", "number", "sign", "level"]
Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MomentLayout:
    """Public. The distinct unknown sums of products of a model, its response last.

    A row of the model is z = (columns, response). The kind of each says what else is known of it in every row:

    - "constant": the intercept, 1 (or 0 in a row that was made zero because a cell was missing);
    - "number": anything in [-1, 1]; the response is one;
    - "sign": the only dummy d of a category in a model with an intercept, as 2d - intercept: +1 or -1;
    - "level": one of several dummies of a category, 0 or 1, at most one of them 1 in a row; `category` tells which.

    An entry is a set of cells (i, j), i <= j, of sum zz' that are equal in every table: with an intercept, the square of
    a sign is the intercept's and the square of a level is the level. Left out are the cells that are known: products of two
    levels of one category are 0, and the intercept's square is the number of rows, where that is public. The empty entry
    is the number of rows, where it is private and the model has no intercept.
    """

    columns: tuple[int, ...]
    kinds: tuple[ColumnKind, ...]
    categories: tuple[int, ...]
    neighbors: Neighbors
    constant_is_known: bool

    @property
    def width(self) -> int:
        """The columns of the model and its response."""
        return len(self.kinds)

    @property
    def constant(self) -> int | None:
        """The intercept's place in the model."""
        return self.kinds.index("constant") if "constant" in self.kinds else None

    @property
    def entries(self) -> tuple[tuple[Cell, ...], ...]:
        """The sets of equal cells, in order of their first cell."""
        sets: dict[Cell, list[Cell]] = {}
        for i in range(self.width):
            for j in range(i, self.width):
                if not self._is_zero(i, j):
                    sets.setdefault(self._first(i, j), []).append((i, j))
        if self.constant is not None and self.constant_is_known:
            del sets[self.constant, self.constant]
        listed = tuple(tuple(cells) for cells in sets.values())
        return listed if self.constant is not None or self.neighbors == "replace-one" else (*listed, ())

    def _is_zero(self, i: int, j: int) -> bool:
        return i != j and self.kinds[i] == self.kinds[j] == "level" and self.categories[i] == self.categories[j]

    def _first(self, i: int, j: int) -> Cell:
        """The cell that stands for (i, j)."""
        constant = self.constant
        if i != j or constant is None:
            return i, j
        if self.kinds[i] == "sign":
            return constant, constant
        return (constant, i) if self.kinds[i] == "level" else (i, i)


def moment_layout(assumptions: Assumptions, columns: Sequence[int]) -> MomentLayout:
    """The layout of a model with these columns of the design."""
    design = assumptions.columns
    places = tuple(sorted(set(columns)))
    if not all(0 <= place < len(design) for place in places):
        raise AssumptionError(f"A model names a column that the study does not have; it has {len(design)}.")
    chosen = [design[place] for place in places]
    has_constant = any(column.name == INTERCEPT and not column.factors for column in chosen)
    dummies = [_dummy_of(column) for column in chosen]
    kinds: list[ColumnKind] = []
    for column, dummy in zip(chosen, dummies, strict=True):
        if not column.factors:
            kinds.append("constant")
        elif dummy is None:
            kinds.append("number")
        elif dummies.count(dummy) > 1:
            kinds.append("level")
        else:
            kinds.append("sign" if has_constant else "number")
    return MomentLayout(
        columns=places,
        kinds=(*kinds, "number"),
        categories=(*(column.term for column in chosen), -1),
        neighbors=assumptions.neighbors,
        # Rows made zero for a missing cell, and those that fill up a person, have no intercept, so its square is not n.
        constant_is_known=assumptions.neighbors == "replace-one"
        and assumptions.missing != "zero-row"
        and assumptions.person is None,
    )


def _dummy_of(column: Column) -> str | None:
    """The category that a column is a dummy of; None for numbers, the intercept and products."""
    if len(column.factors) == 1 and column.factors[0].level is not None:
        return column.factors[0].variable
    return None


def entry_patterns(layout: MomentLayout) -> NDArray[np.float64]:
    """One symmetric matrix an entry, by which sum zz' over the design's own columns is (known part) + sum of entry * pattern.

    A sign counts as what it was made of: the dummy is (intercept + sign)/2.
    """
    width, entries = layout.width, layout.entries
    patterns = np.zeros((len(entries), width, width))
    for pattern, cells in zip(patterns, entries, strict=True):
        for i, j in cells:
            pattern[i, j] = pattern[j, i] = 1.0
    return _to_design(patterns, layout)


def known_part(layout: MomentLayout, rows: int | None) -> NDArray[np.float64]:
    """The part of sum zz' over the design's own columns that is known: the number of rows, where the intercept adds to it."""
    known = np.zeros((1, layout.width, layout.width))
    if layout.constant is not None and layout.constant_is_known:
        assert rows is not None
        for place, kind in enumerate(layout.kinds):
            if kind in ("constant", "sign"):
                known[0, place, place] = rows
    whole: NDArray[np.float64] = _to_design(known, layout)[0]
    return whole


def _to_design(matrices: NDArray[np.float64], layout: MomentLayout) -> NDArray[np.float64]:
    """From the model's rows z to the design's own columns: each sign e becomes the dummy (intercept + e)/2."""
    change: NDArray[np.float64] = np.eye(layout.width)
    for place, kind in enumerate(layout.kinds):
        if kind == "sign":
            change[place, place] = 0.5
            change[place, layout.constant] = 0.5
    changed: NDArray[np.float64] = change @ matrices @ change.T
    return changed
