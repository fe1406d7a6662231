"""Private. From cells to rows of the design on the integer grid: one formula, the same doubles in every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study import Study
from dpselect.assume.terms import Column, Factor
from dpselect.assume.variables import GRID, Categorical, Category, Variable, unusable_cells
from dpselect.errors import DataError


class CompiledFunction:
    """Private. A compiled function that can travel: on another machine it is looked for again, and may not be there."""

    def __init__(self, module: str, name: str, function: Callable[..., Any]) -> None:
        self._module, self._name, self._function = module, name, function

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""
        return self._function(*arguments)

    def __reduce__(self) -> tuple[Callable[[str, str], CompiledFunction | None], tuple[str, str]]:
        return compiled_function, (self._module, self._name)


def compiled_function(module: str, name: str) -> CompiledFunction | None:
    """The function, or None where its module was not built."""
    try:
        found = import_module(f"dpselect.gather.{module}")
    except ImportError:
        return None
    function = getattr(found, name, None)  # None in one that was built before the function was written
    return None if function is None else CompiledFunction(module, name, function)


put_rows = compiled_function("_grid", "put_rows")
"""Private. The compiled twin of the arithmetic below, where there was a compiler: one pass instead of six."""

Floats = NDArray[np.float64]
Cells = Mapping[str, NDArray[Any]]
"""Private. One array a variable: doubles, not finite where a cell is missing; or the places of a category's levels, -1 where
it is missing or no stated level; and persons, clusters and weights, where the study names them."""

MAX_CHUNK_ROWS = 8192
"""Rows that are put on the grid at a time: 2^13 products of up to 2^40 stay within 2^53, so BLAS is exact in any order."""
MAX_CHUNK_CELLS = 2**22
"""Cells of a chunk, where there are so many columns that fewer rows are put on the grid at a time."""


def rows_at_once(study: Study) -> int:
    """Rows of a chunk."""
    return max(64, min(MAX_CHUNK_ROWS, MAX_CHUNK_CELLS // (len(study.columns) + 1)))


OUTSIDE = ""
"""Among cells, where no column can have that name: which rows are outside the study's subgroup."""


def needed_names(study: Study) -> list[str]:
    """The columns to read, and no others."""
    model = [*(variable.name for variable in study.predictors), study.response.name, *beside_names(study)]
    return [*dict.fromkeys([*model, *(each.name for each in study.only or ())])]


def beside_names(study: Study) -> list[str]:
    """The columns that are no part of a model: persons, clusters and weights, where they are stated."""
    beside = dict.fromkeys((study.person, study.cluster, study.weights))
    return [name for name in beside if name is not None]


class Design:
    """Private. Turns chunks of cells into columns of the design, one row of `work` each, ready for BLAS.

    The numeric variables come first, so that four vector operations put all of them on the grid; the intercept, the dummies
    and the products follow. `order` finds the columns as stated, the response last.
    """

    def __init__(self, study: Study, chunk: int) -> None:
        self._variables: tuple[Variable, ...] = (*study.predictors, study.response)
        self._missing = study.missing
        self._numbers = [variable for variable in self._variables if not isinstance(variable, Categorical)]
        self._middles = np.array([variable.middle for variable in self._numbers], dtype=np.float64)
        self._scales = np.array([variable.scale for variable in self._numbers], dtype=np.float64)
        place = {variable.name: i for i, variable in enumerate(self._numbers)}
        self._levels = {v.name: v.categories for v in self._variables if isinstance(v, Categorical)}
        self._place = place
        self._others: list[Column] = []
        order = []
        for column in study.columns:
            if len(column.factors) == 1 and column.factors[0].level is None:
                order.append(place[column.factors[0].variable])
            else:
                order.append(len(self._numbers) + len(self._others))
                self._others.append(column)
        self.order = np.array([*order, place[study.response.name]])
        self._work = np.empty((len(self._numbers) + len(self._others), chunk))
        self.left_out: NDArray[np.bool_] | None = None
        """Which rows of the last chunk are zero because a cell is missing."""

    def __repr__(self) -> str:
        return "Design(values=<private>)"

    def chunk(self, cells: Cells, start: int, stop: int) -> Floats:
        """The rows from `start` to `stop` on the grid, valid until the next call; missing cells are handled row by row.

        `error` refuses, naming the variable alone. `midpoint` puts the middle of the bounds, and the reference level for a
        category. `zero-row` makes the whole row zero, its intercept included; the row still counts in n. Either way a row
        depends on its own cells only, so neighbouring tables stay neighbours.
        """
        work = self._work[:, : stop - start]
        numbers = work[: len(self._numbers)]
        codes = {name: cells[name][start:stop] for name in self._levels}
        finite = self._put_on_grid(cells, start, stop, numbers)
        gone = {}
        if not finite or any(each.size and each.min() < 0 for each in codes.values()):
            gone = self._gone(cells, start, stop)
        for name, rows in gone.items():
            if name in self._place:
                numbers[self._place[name]][rows] = 0
        for row, column in zip(work[len(self._numbers) :], self._others, strict=True):
            self._product(column, numbers, codes, row)
        self.left_out = None
        if gone and self._missing == "zero-row":
            self.left_out = np.logical_or.reduce(list(gone.values()))
            work[:, self.left_out] = 0
        return work

    def _put_on_grid(self, cells: Cells, start: int, stop: int, out: Floats) -> bool:
        """Whole numbers in [-GRID, GRID]: floor((v - middle) * scale + 0.5), clamped. Whether all cells were surely finite.

        The difference, the product and the sum are single double operations in this order, so SQL engines, NumPy and Arrow
        agree to the last bit. The formula is monotone and takes a bound to an end of the grid (`Numeric` refuses bounds for
        which it would not), so clamping the result is clipping the value.

        Tested: tests/gather/test_grid.py, tests/claims/test_same_integers.py
        """
        if put_rows is not None:
            columns = tuple([cells[variable.name] for variable in self._numbers])
            return bool(put_rows(columns, start, stop, self._middles, self._scales, GRID, out))
        with np.errstate(all="ignore"):  # whatever the program has set: no exception may depend on a cell
            for row, variable in zip(out, self._numbers, strict=True):
                np.subtract(cells[variable.name][start:stop], variable.middle, out=row)
            # One sum sees every cell that is not finite; a sum that overflows only costs a closer look.
            finite = bool(np.isfinite(np.add.reduce(out, axis=None)))
            np.multiply(out, self._scales[:, None], out=out)
            np.add(out, 0.5, out=out)
            np.floor(out, out=out)
            np.clip(out, -GRID, GRID, out=out)
        return finite

    def _gone(self, cells: Cells, start: int, stop: int) -> dict[str, NDArray[np.bool_]]:
        """Which rows miss which variable; refused if the policy is to refuse."""
        found = {}
        for variable in self._variables:
            values = cells[variable.name][start:stop]
            rows = values < 0 if variable.name in self._levels else ~np.isfinite(values)
            if not rows.any():
                continue
            if self._missing == "error":
                raise DataError(unusable_cells(variable))
            found[variable.name] = rows
        return found

    def _product(self, column: Column, numbers: Floats, codes: Cells, out: Floats) -> None:
        """A product of factors, rounded to the grid after each: a*b/GRID + 1/2 is exact in doubles, so floor is too."""
        out[:] = GRID
        for i, factor in enumerate(column.factors):
            values = self._factor(factor, numbers, codes)
            if i == 0:
                out[:] = values
            else:
                np.floor(out * values * (1 / GRID) + 0.5, out=out)

    def _factor(self, factor: Factor, numbers: Floats, codes: Cells) -> Floats:
        if factor.level is None:
            values: Floats = numbers[self._place[factor.variable]]
            return values
        # A missing category equals no place, so all its dummies are zero: the reference.
        place = self._levels[factor.variable].index(factor.level)
        return np.where(codes[factor.variable] == place, float(GRID), 0.0)


SMALLEST_CELL, LARGEST_CELL = 1e-75, 1e75


class OpenDesign:
    """Private. Turns chunks of cells into lines, one a column without the intercept, the response last."""

    def __init__(self, study: Study, chunk: int) -> None:
        self._variables = (*study.predictors, study.response)
        self._missing = study.missing
        self._response = study.response.name
        self._columns = [column for column in study.columns if column.factors]
        self._open = set(study.unbounded)
        self.order = np.arange(len(self._columns) + 1)
        self._work = np.empty((len(self.order), chunk))
        self.left_out: NDArray[np.bool_] | None = None
        """Which rows of the last chunk count in no block."""

    def __repr__(self) -> str:
        return "OpenDesign(values=<private>)"

    def chunk(self, cells: Cells, start: int, stop: int) -> Floats:
        """The rows from `start` to `stop`, valid until the next call.

        A missing cell is refused, naming the variable alone, if the policy is `error`. Else its row counts nowhere, unless the
        policy is `midpoint` and the variable has a middle (or a reference level), which is put there.
        """
        work = self._work[:, : stop - start]
        with np.errstate(all="ignore"):  # whatever the program has set: no exception may depend on a cell
            out = np.zeros(stop - start, dtype=bool)
            values = {}
            for variable in self._variables:
                own = cells[variable.name][start:stop]
                gone = own < 0 if isinstance(variable, Categorical) else ~np.isfinite(own)
                if gone.any():
                    if self._missing == "error":
                        raise DataError(unusable_cells(variable))
                    if self._missing == "zero-row" or variable.name in self._open:
                        out |= gone
                values[variable.name] = self._entries(variable, own, gone)
            for line, column in zip(work[:-1], self._columns, strict=True):
                line[:] = self._product(column, values)
            work[-1] = values[self._response]
            sizes = np.abs(work)
            work[sizes < SMALLEST_CELL] = 0
            out |= ~(sizes <= LARGEST_CELL).all(axis=0)
        self.left_out = out if out.any() else None
        return work

    def _entries(self, variable: Variable, own: NDArray[np.float64], gone: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The grid's whole numbers, the cells themselves, or the places of a category's levels."""
        if isinstance(variable, Categorical) or variable.name in self._open:
            return own
        grid = np.clip(np.floor((own - variable.middle) * variable.scale + 0.5), -GRID, GRID)
        return np.where(gone, 0.0, grid)

    def _product(self, column: Column, values: Cells) -> Floats:
        out: Floats | None = None
        on_grid = True
        for factor in column.factors:
            own = values[factor.variable]
            if factor.level is not None:
                own = np.where(own == self._place(factor.variable, factor.level), float(GRID), 0.0)
            open_factor = factor.variable in self._open
            if out is None:
                out = own
            elif on_grid and not open_factor:
                out = np.floor(out * own * (1 / GRID) + 0.5)
            else:
                out = out * own
            on_grid = on_grid and not open_factor
        assert out is not None
        return out

    def _place(self, name: str, level: Category) -> int:
        return next(
            list(v.categories).index(level) for v in self._variables if v.name == name and isinstance(v, Categorical)
        )


class Lines(Protocol):
    """Private. What makes lines of cells: a design, or rows that were kept."""

    order: NDArray[np.int64]
    left_out: NDArray[np.bool_] | None

    def chunk(self, cells: Cells, start: int, stop: int) -> Floats:
        """The rows from `start` to `stop` as lines, valid until the next call."""


class Chunk:
    """Private. At most MAX_CHUNK_ROWS rows of a table, as every summary gets them.

    `cells` are as they were read. `lines` are made of them when they are first asked for, once for all summaries of a pass, and
    are valid until the next chunk: doubles, a line for each column of the design and one for the response, which hold whole
    numbers of 2^-20 where every variable has bounds. `order` finds them: the columns as stated, the response last.
    """

    __slots__ = ("_left_out", "_lines", "_made", "cells", "count")

    def __init__(self, cells: Cells, count: int, lines: Lines) -> None:
        self.cells, self.count, self._lines = cells, count, lines
        self._made: Floats | None = None
        self._left_out: NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        return "Chunk(values=<private>)"

    @property
    def lines(self) -> Floats:
        """Columns and response, one line each; a missing cell is handled as the study says, or refused."""
        if self._made is None:
            self._made = self._lines.chunk(self.cells, 0, self.count)
            self._left_out = self._lines.left_out
            outside = self.cells.get(OUTSIDE)
            if outside is not None and outside.any():
                self._made[:, outside] = 0
                self._left_out = outside if self._left_out is None else self._left_out | outside
        return self._made

    @property
    def left_out(self) -> NDArray[np.bool_] | None:
        """Which rows count in no block: a cell is missing or too large, or the row outside the subgroup; None if all count."""
        _ = self.lines
        return self._left_out

    @property
    def order(self) -> NDArray[np.int64]:
        """The places of the columns among the lines, the response last."""
        return self._lines.order


class Chunks:
    """Private. Cuts batches of cells into chunks; one a thread, for its chunks share their memory."""

    def __init__(self, study: Study) -> None:
        kind = OpenDesign if study.unbounded else Design
        self._rows = rows_at_once(study)
        self._design: Lines = kind(study, self._rows)

    def __repr__(self) -> str:
        return "Chunks(values=<private>)"

    def of(self, cells: Cells) -> Iterator[Chunk]:
        """The rows of a batch of any length, some at a time."""
        rows = len(next(iter(cells.values())))
        for start in range(0, rows, self._rows):
            stop = min(start + self._rows, rows)
            yield Chunk({name: values[start:stop] for name, values in cells.items()}, stop - start, self._design)
