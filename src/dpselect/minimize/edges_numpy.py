"""Private. The votes of one family of blocks beside every set of k terms, in NumPy: one lane a block, so that none can see another.

A block's sums are centred by its own means and scaled to one as for whole-model votes (`votes_numpy`): G for columns and response.
For a set S the columns of its terms (and those that every model has) are swept out of G, one after another:

    A <- A - a a' / (a_c + own)     a the column of A that is swept out, a_c its entry on the diagonal; not where a_c <= 1e-9
    own = stated ridge (1 - q)^16,  q the mean of the squared correlations of the live columns with the response

What is left of a column j outside S and of the response y gives, with s columns of S that are not constant in a block of r rows,

    z_j = A_jy / sqrt(A_jj A_yy / (r - 1 - s)),     kappa_j = gamma_j gamma_y (1 - s/r)^1.5 r sqrt(r - 1)/(r - 2)
    c_j = 1.5 min(1, |kappa_j|),   vote_j = (clip(z_j/c_j, -1, 1) - mu_j) / (1 + |mu_j|), the sign of A_jy where c_j < .02

in whole 64ths, mu_j the mean of clip(z/c_j) for an idle column, all as in `votes_numpy`; 0 where nothing is left of j
or y. No vote is more than 1 in size, for |clip - mu| <= 1 + |mu|. Without an intercept nothing is centred, and r stands for r - 1.

c, mu and what divides them depend on a block, a column and s alone: they are tables, made once for all sets, of the s that occur. The sweeps go depth
first through the sets in order, so that a set costs one sweep. The compiled twin, _edges.c, does the same double operations in the
same order from the same tables: the votes are the same to the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.minimize.votes_numpy import (
    HARDEST,
    LEAST_FREEDOM,
    MOST_ROWS,
    SOFTEST,
    _about,
    _at_least,
    _between,
    _diagonal,
    _mean_of_idle,
    _total,
)

Floats = NDArray[np.float64]

LEAST_COLUMN_SHARE = 1e-9
"""Share of a column's square below which nothing is left of it."""
STEEPEST = 1e300
"""Makes a sign of any number."""


@dataclass(frozen=True, slots=True, repr=False)
class Prepared:
    """Private. Blocks ready to be swept, one a lane: G, own ridges, and tables (swept columns, columns, lanes) for their votes.

    The first line of a table is for `fewest` columns that are swept out.
    """

    gram: Floats
    ridges: Floats
    fewest: int
    steep: Floats
    mean: Floats
    weight: Floats

    def __repr__(self) -> str:
        return "Prepared(values=<private>)"


def prepare(
    high: Floats, low: Floats, width: int, least: float, ridge: float, sweeps: tuple[int, int]
) -> Prepared:
    """Blocks from their sums (sums, lanes) as `votes_numpy.lane_votes` takes them; `least` is 0 where nothing is to be centred.

    Sets have from `sweeps[0]` to `sweeps[1]` columns, and as many are swept out, less those that are constant in the block.
    """
    centred = least > 0
    with np.errstate(all="ignore"):  # whatever the program has set: no exception may depend on a row
        rows = high[0]
        fits = (rows >= (2.0 if centred else 1.0)) & (rows <= MOST_ROWS)
        rows = np.where(fits, rows, 2.0)
        high, low = np.where(fits, high, 0.0), np.where(fits, low, 0.0)
        _, products, thirds = _about(high, low, width, rows, centred=centred)
        squares = np.einsum("jjl->jl", products)
        live = squares > least * high[_diagonal(width)]
        live &= live[-1] & fits
        roots = np.where(live, 1.0 / np.sqrt(np.where(live, squares, 1.0)), 0.0)
        gram = products * roots[:, None] * roots[None, :]
        skew = _between(thirds * roots * roots * roots, 1.0)
        constant = np.count_nonzero(~live[:, live[-1]], axis=0).max(initial=0)  # of blocks that have a vote
        fewest = max(sweeps[0] - int(constant), 0)
        swept = np.arange(fewest, sweeps[1] + 1.0)[:, None]
        tables = _tables(rows, skew, swept, 1.0 if centred else 0.0)
        return Prepared(gram, _ridges(gram, live, ridge), fewest, *tables)


def _ridges(gram: Floats, live: NDArray[np.bool_], stated: float) -> Floats:
    """The ridge of every lane: the stated one, the less of it the more the columns go along with the response.

    What a ridge leaves of a strong column's effect goes to the columns that follow it, in every block alike. So a block in which
    much is explained has next to none; at the eighth power idle columns beside strong ones were still selected (`benchmarks.null`).
    """
    cross = gram[:-1, -1]
    count = _total(np.where(live[:-1], 1.0, 0.0))
    left = _at_least(1.0 - _total(cross * cross) / _at_least(count, 1.0), 0.0)
    fourth = left * left * (left * left)
    eighth = fourth * fourth
    ridges: Floats = stated * (eighth * eighth)
    return ridges


def _tables(rows: Floats, skew: Floats, swept: Floats, means: float) -> tuple[Floats, Floats, Floats]:
    """How steep a vote is in z, its mean for an idle column, and what it is multiplied by; for `swept` columns swept out."""
    base = rows - means
    left, several = _at_least(1.0 - swept / rows, 0.0), base - 1.0
    product = left * np.sqrt(left) * rows * np.sqrt(base) / np.where(several > 0, several, 1.0)
    kappa = skew[:-1] * (np.where(several > 0, product, 0.0) * skew[-1])[:, None, :]
    c = SOFTEST * np.where(np.abs(kappa) <= 1.0, np.abs(kappa), 1.0)
    soft = c >= HARDEST
    freedom = np.sqrt(_at_least(base - swept, LEAST_FREEDOM))[:, None, :]
    steep = np.where(soft, freedom / np.where(soft, c, 1.0), STEEPEST)
    mean = np.where(soft, _mean_of_idle(kappa, np.where(soft, c, 1.0)), 0.0)
    return steep, mean, WHOLE_VOTE / (1.0 + np.abs(mean))


def set_votes(
    blocks: Prepared, terms: Sequence[Sequence[int]], forced: Sequence[int], size: int
) -> Iterator[NDArray[np.int64]]:
    """The votes (columns, lanes) in 64ths beside every set of `size` terms, in the order of the sets; 0 for its own columns."""
    with np.errstate(all="ignore"):
        live = np.einsum("jjl->jl", blocks.gram) > 0
        gram, swept = blocks.gram, np.zeros(blocks.gram.shape[2], dtype=np.int64)
        for column in forced:
            gram, swept = _swept(gram, column, blocks.ridges), swept + live[column]
        yield from _visit(blocks, gram, swept, live, terms, 0, size)


def _visit(
    blocks: Prepared,
    gram: Floats,
    swept: NDArray[np.int64],
    live: NDArray[np.bool_],
    terms: Sequence[Sequence[int]],
    first: int,
    missing: int,
) -> Iterator[NDArray[np.int64]]:
    if missing == 0:
        yield _votes(blocks, gram, swept)
        return
    for term in range(first, len(terms) - missing + 1):
        here, count = gram, swept
        for column in terms[term]:
            here, count = _swept(here, column, blocks.ridges), count + live[column]
        yield from _visit(blocks, here, count, live, terms, term + 1, missing - 1)


def _swept(gram: Floats, column: int, ridges: Floats) -> Floats:
    """One column swept out; of the result only the upper triangle counts."""
    row = np.concatenate([gram[:column, column], gram[column, column:]])
    some = row[column] > LEAST_COLUMN_SHARE
    inverse = np.where(some, 1.0 / np.where(some, row[column] + ridges, 1.0), 0.0)
    left: Floats = gram - (row * inverse)[:, None] * row[None, :]
    left[column, :] = left[:, column] = 0.0
    return left


def _votes(blocks: Prepared, gram: Floats, swept: NDArray[np.int64]) -> NDArray[np.int64]:
    own, left, rest = np.einsum("jjl->jl", gram)[:-1], gram[:-1, -1], gram[-1, -1]
    counts = (own > LEAST_COLUMN_SHARE) & (rest > LEAST_COLUMN_SHARE)
    lines, lanes = np.maximum(swept - blocks.fewest, 0), np.arange(len(swept))
    steep, mean, weight = (table[lines, :, lanes].T for table in (blocks.steep, blocks.mean, blocks.weight))
    z = left / np.sqrt(np.where(counts, own * rest, 1.0)) * steep
    votes = np.rint((_between(z, 1.0) - mean) * weight)
    # Whatever the arithmetic did: no vote is more than a whole one, and what is no number is none.
    sound = counts & (np.abs(votes) <= WHOLE_VOTE)
    return np.where(sound, votes, 0.0).astype(np.int64)
