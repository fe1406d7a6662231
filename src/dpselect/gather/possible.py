"""Private. Whether sums are those of a table: asked wherever sums enter that this program did not make from rows itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS
from dpselect.assume.study import Study
from dpselect.assume.terms import Column
from dpselect.assume.variables import GRID

SQUARE_OF_ONE = GRID**2
"""The square of 1 on the grid."""


def is_positive_semidefinite(matrix: Sequence[Sequence[int]]) -> bool:
    """Whether b'Sb >= 0 for every b, exactly; S is a symmetric matrix of whole numbers.

    Losses are minima of b'Sb over bounded b. If S is a sum of zz' over rows, adding or removing one of those rows moves b'Sb by
    a square between 0 and (r+R)^2, and so the minima; this remains true when S is the sum of one site's rows and *any* positive
    semidefinite matrix that another site claims, for it does not depend on that part at all and b'Sb stays convex with a
    least value. Without it the minimum is none, the solver's answer is anything, and one row can decide every draw.

    Why it is exact: Bareiss's elimination without fractions. After step k the entry (i, j) is the minor of S on rows
    1..k, i and columns 1..k, j, a whole number (Sylvester), so each division leaves no rest. While all pivots are above 0
    it is the Schur complement times the last pivot, and S is semidefinite exactly if that complement is. A pivot below 0
    is a vector b with b'Sb < 0. A pivot of 0 must have a row of zeros beside it, else two entries make a minor below 0; that row
    and column then say nothing about the rest and are left out.

    Source: Bareiss, Sylvester's identity and multistep integer-preserving Gaussian elimination, Math. Comp. 22 (1968).
    Tested: tests/claims/test_possible_sums.py
    """
    rows = [list(map(int, row)) for row in matrix]
    before = 1
    for k, row in enumerate(rows):
        pivot = row[k]
        if pivot < 0 or (pivot == 0 and any(row[k + 1 :])):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, len(rows)):
            factor, lower = row[i], rows[i]
            for j in range(i, len(rows)):
                lower[j] = (pivot * lower[j] - factor * row[j]) // before
        before = pivot
    return True


def are_possible(n: int, products: Any, study: Study | None = None) -> bool:
    """Whether a table of n rows on the grid may have these products, the response last.

    Bounds first, which also keep the numbers of the exact test small; then what the assumptions say about columns of zeros
    and ones; then that no combination of columns has a sum of squares below zero.
    """
    table = products.tolist()
    if not 0 <= n <= MAXIMUM_ROWS or any(len(row) != len(table) for row in table):
        return False
    if not all(0 <= table[i][i] <= n * SQUARE_OF_ONE for i in range(len(table))):
        return False
    for i, row in enumerate(table):
        for j in range(i):
            if row[j] != table[j][i] or row[j] ** 2 > row[i] * table[j][j]:
                return False
    if study is not None and not all(_facts(n, table, study)):
        return False
    return is_positive_semidefinite(table)


def _facts(n: int, table: list[list[int]], study: Study) -> Iterator[bool]:
    """What holds in every table under these assumptions, beyond the bounds."""
    columns = study.columns
    yield len(table) == len(columns) + 1
    yield n % study.rows_per_person == 0
    for i, column in enumerate(columns):
        if _is_indicator(column):
            # Each of its rows adds 1 to its own square and at most 1 to any product, all in units of the grid.
            yield table[i][i] % SQUARE_OF_ONE == 0
            yield all(value % GRID == 0 and abs(value) <= table[i][i] for value in table[i])
        for j, other in enumerate(columns[:i]):
            if _exclude_each_other(column, other):
                yield table[i][j] == 0
            elif _is_indicator(column) and _is_indicator(other):
                yield table[i][j] % SQUARE_OF_ONE == 0 and table[i][j] >= 0
    if columns and not columns[0].factors:
        # Rows without an intercept are rows of zeros: those that miss a cell, and those that fill up a person.
        everywhere = study.missing != "zero-row" and study.person is None
        yield table[0][0] == n * SQUARE_OF_ONE if everywhere else table[0][0] <= n * SQUARE_OF_ONE
        yield all(table[i][i] <= table[0][0] for i in range(len(table)))
        yield all(table[0][i] == table[i][i] for i, column in enumerate(columns) if _is_indicator(column))


def _is_indicator(column: Column) -> bool:
    """Whether a column is 0 or 1 in every row: the intercept, a dummy, a product of dummies."""
    return all(factor.level is not None for factor in column.factors)


def _exclude_each_other(column: Column, other: Column) -> bool:
    """Whether one of two columns is zero in every row: they name different levels of one category."""
    levels = {factor.variable: factor.level for factor in column.factors if factor.level is not None}
    return any(levels.get(each.variable, each.level) != each.level for each in other.factors)
