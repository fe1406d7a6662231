"""Private. The second look at a wide table: votes of larger blocks on the columns that lead, beside sets of them.

A block takes the ranks of each column and of the response among its own rows, about their mean and doubled, fits the response and
a column on the columns of a set, and votes on what is left of their covariance, as edge votes do (`edges`). Ranks do not
mind long tails; the votes are softened where ties lie on one side of both, by the sums of cubes.

What the proof needs (`assume.lemmas.sensitivity.second_look_range`): a vote beside a set of terms is a function of the set of the
block's own rows, whichever columns are looked at together. Ranks are whole numbers, and so are the sums of their products and
cubes, far below 2^53: exact in any order. After that each block is a lane of its own, and a column's vote beside a set is made of
the numbers of that column, the set and the response alone, in the same order whatever else is there. Of a block that is longer
than `LONGEST` rows the first so many count, in the order of the rows' digests.

Tested: tests/minimize/votes/test_second_look.py, tests/claims/test_second_look_range.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.wide_rule import PAIR_ROWS, SecondLook, WideRule
from dpselect.errors import DataError
from dpselect.gather.wide_rows import WideRows
from dpselect.minimize.votes import edges
from dpselect.minimize.votes.edges import Prepared, block_leads, prepare
from dpselect.minimize.votes.lanes import EXACT_SQUARES
from dpselect.minimize.votes.wide import blocks_by_size, count_wide

Whole = NDArray[np.int64]
LONGEST = 128
"""Rows of a block that are looked at."""
SWEPT_TOGETHER = 256
"""Blocks that are swept together: about what a cache has room for."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LookedVotes:
    """Private. The leads of all columns by the first look, and the rows from which those beside any set of them follow.

    A lead beside a set is computed when the score asks for it (`penalize.second_look`); the score is a function of all of them.
    """

    leads: Whole
    rows: WideRows
    rule: WideRule

    def __repr__(self) -> str:
        return f"LookedVotes(columns={len(self.leads)}, values=<private>)"

    def beside(self, terms: Sequence[Sequence[int]], sweeps: int) -> Beside:
        """The votes on some terms, given as columns of the study, beside sets of at most `sweeps` columns of them."""
        assert self.rule.second is not None
        return Beside(self.rows, self.rule, terms, sweeps)


def look_again(rows: WideRows, rule: WideRule) -> LookedVotes:
    """The leads of the first look, with what the second one needs."""
    second = rule.second
    if second is None or len(rows.again) != second.partitions:
        raise DataError("The rows were split by another rule than is stated.")
    return LookedVotes(count_wide(rows, rule).leads, rows, rule)


class Beside:
    """Private. The blocks of the second look, with nothing but the columns of some terms, prepared once for all sets."""

    def __init__(self, rows: WideRows, rule: WideRule, terms: Sequence[Sequence[int]], sweeps: int) -> None:
        assert rule.second is not None
        offset = len(rows.columns) - rows.cells.shape[1]  # an intercept has no cells
        columns = [column - offset for term in terms for column in term]
        starts = np.cumsum([0, *map(len, terms)]).tolist()
        self._terms = [list(range(start, start + len(term))) for start, term in zip(starts, terms, strict=False)]
        self._columns, self._sweeps = len(columns), min(sweeps, len(columns))
        # What is longest of a vote is the same in both looks.
        self._scale = rule.partitions // rule.second.partitions
        self._blocks = prepared(rows.cells[:, columns], rows.response, rows.again, rule.second, self._sweeps)

    def __repr__(self) -> str:
        return "Beside(values=<private>)"

    def leads(self, swept: Sequence[int], last: Sequence[int]) -> Whole:
        """The leads of all columns beside the terms `swept` and each of `last` in turn, by their places: (last, columns).

        In 64ths of a vote, over as many dealings as the first look has. A column of the set itself leads by 0.
        """
        found = np.zeros((len(last), self._columns), np.int64)
        forced = [column for term in swept for column in self._terms[term]]
        for blocks in self._blocks:
            more = [self._terms[term] for term in last]
            found += block_leads(blocks, more, forced, 1, self._sweeps, edges.is_compiled())
        return found * self._scale


def prepared(
    cells: NDArray[np.float32],
    response: NDArray[np.float64],
    dealings: NDArray[np.uint32],
    second: SecondLook,
    sweeps: int,
) -> list[Prepared]:
    """The blocks of all dealings, ready to be swept; some at a time, those of one size together."""
    found = []
    values = np.concatenate([cells.astype(np.float64), response[:, None]], axis=1)
    width = values.shape[1] + 1
    with np.errstate(all="ignore"):  # whatever the program has set: no exception or warning may depend on a cell
        for dealt in dealings:
            for places in blocks_by_size(dealt):
                for start in range(0, len(places), SWEPT_TOGETHER):
                    some = values[places[start : start + SWEPT_TOGETHER, :LONGEST]]
                    sums = rank_sums(some)
                    none = np.zeros_like(sums)
                    found.append(prepare(sums, none, width, EXACT_SQUARES, 0.0, (0, sweeps)))
    return found


def rank_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of (1, x, y), ranks in place of x and y, of blocks (blocks, rows, numbers) as votes take them: (sums, blocks).

    The upper triangle of the products, then the cubes. All are whole numbers far below 2^53.
    """
    blocks, size, width = values.shape
    assert size >= PAIR_ROWS
    ranks = np.zeros(values.shape)
    for row in range(size):
        other = values[:, row : row + 1]
        ranks += (values > other).astype(np.int8) - (values < other).astype(np.int8)
    whole = np.concatenate([np.ones((blocks, size, 1)), ranks], axis=2)
    products = np.matmul(whole.transpose(0, 2, 1), whole)
    first, second = np.triu_indices(width + 1)
    cubes = (ranks * ranks * ranks).sum(axis=1)
    return np.ascontiguousarray(np.concatenate([products[:, first, second], cubes], axis=1).T)
